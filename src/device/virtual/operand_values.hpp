// What operands of a virtual GPU hold: inputs from a seed, outputs from the float64 reference, rounded to the
// type.
#pragma once

#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope::virtual_gpu {

double rounded_to(DataType dtype, double value);

/// Operand `index` of an operation; the same for the same kind and seed. Indices are random for any kind.
std::vector<double> input_values(const Operand& operand, std::size_t index, const InputData& data);

/// Of an output. Where computing all would take long, a check looks at some only
/// (Reference::for_each_sampled): the others are zero where those are asked for.
enum class Elements { looked_at, all };

/// The output, counted from 0, that follows from the inputs.
std::vector<double> output_values(const Operation& operation, std::size_t output,
                                  std::vector<std::vector<double>> inputs, Elements elements);

}  // namespace jitterscope::virtual_gpu
