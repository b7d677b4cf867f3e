// The calls of a model by name, and what they run.
#pragma once

#include <stdexcept>
#include <string>

#include "operation/model.hpp"

namespace jitterscope::testing {

inline const Operation& operation(const Model& model, const Call& call) {
  return model.layers[call.layer].operation;
}

inline const Call& call_named(const Model& model, const std::string& name) {
  for (const Call& call : model.calls) {
    if (call.name == name) return call;
  }
  throw std::runtime_error("no call " + name);
}

}  // namespace jitterscope::testing
