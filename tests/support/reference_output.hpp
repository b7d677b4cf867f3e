// All elements that the reference has of an output.
#pragma once

#include "device/cpu/reference.hpp"

namespace jitterscope {

/// `output` counts from 0, `inputs` follow operands().
inline std::vector<double> reference_output(const Operation& operation,
                                            const std::vector<std::vector<double>>& inputs,
                                            std::size_t output = 0) {
  Reference reference(operation, inputs);
  std::vector<double> values;
  for (std::int64_t i = 0; i < operation.operands().at(inputs.size() + output).count; ++i) {
    values.push_back(reference.element(output, i));
  }
  return values;
}

}  // namespace jitterscope
