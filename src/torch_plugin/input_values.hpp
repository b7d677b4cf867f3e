// What an input may hold: indices must point into another tensor, probabilities lie between 0 and 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "torch_plugin/binding.hpp"

namespace jitterscope::torch_plugin {

/// Of real numbers.
enum class RealValues {
  any,            ///< as the user asks: normal, zeros…
  probabilities,  ///< from 0 to 1
  positive,       ///< variances: from 0.5 to 1.5
};
/// Of integers: each from lowest to highest.
struct IntegerValues {
  std::int64_t lowest = 0, highest = 0;
};

RealValues real_values(const Binding& binding, const std::string& argument);
/// `position`: within a list of tensors. Zeros where nothing is known of the argument.
IntegerValues integer_values(const Binding& binding, const std::string& argument, std::size_t position);

}  // namespace jitterscope::torch_plugin
