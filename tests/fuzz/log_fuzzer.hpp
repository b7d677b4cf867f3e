#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "import/import.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

/// Whatever is read holds together.
template <class Import>
int fuzz_log(const Import& import, const std::uint8_t* data, std::size_t size) {
  try {
    const Model model = import(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.log");
    std::size_t count = 0;
    for (const Layer& layer : model.layers) count += layer.names.size();
    if (model.layers.empty() || count != model.calls.size()) std::abort();
    for (const Call& call : model.calls) {
      if (call.layer >= model.layers.size() || call.name.empty()) std::abort();
    }
    for (const UntimedOperator& untimed : model.untimed) {
      if (untimed.count < 1 || untimed.reason.empty()) std::abort();
    }
  } catch (const UsageError&) {
  }
  return 0;
}

}  // namespace jitterscope
