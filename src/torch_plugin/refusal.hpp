// An exception with the reason why something cannot be done, for the C interface.
#pragma once

#include <stdexcept>
#include <string>

#include "torch_plugin/plugin_interface.h"

namespace jitterscope::torch_plugin {

class Refusal : public std::runtime_error {
 public:
  Refusal(JitterscopeTorchResult result, const std::string& sentence)
      : std::runtime_error(sentence), result_(result) {}
  JitterscopeTorchResult result() const { return result_; }

 private:
  JitterscopeTorchResult result_;
};

}  // namespace jitterscope::torch_plugin
