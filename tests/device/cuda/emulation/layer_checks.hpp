// Checks of the kernels of layers, run on the CPU, against the float64 reference.
#pragma once

#include <string>

#include "emulated_plan.hpp"

namespace emulation {

/// Plans an operation that has kernels of its own.
void plan_layer(jitterscope::cuda::KernelPlan& plan, const jitterscope::Operation& operation);
/// Output `number` against the reference, for the inputs that the plan has.
void expect_output(const jitterscope::Operation& operation, const EmulatedPlan& plan, std::size_t number);
/// All outputs, for random inputs.
void expect_right(const jitterscope::Operation& operation);
void expect_right_in_each_type(const std::string& text);
void expect_right_in_each_layout(const std::string& text);

}  // namespace emulation
