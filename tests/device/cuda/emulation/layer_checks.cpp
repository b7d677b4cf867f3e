#include "layer_checks.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/reference.hpp"
#include "measure/verify.hpp"

namespace emulation {

using namespace jitterscope;

namespace {

struct Planner {
  cuda::KernelPlan& plan;
  void operator()(const Elementwise& shape) { cuda::plan_elementwise(plan, shape); }
  void operator()(const Pool2d& shape) { cuda::plan_pool(plan, shape); }
  void operator()(const Softmax& shape) { cuda::plan_softmax(plan, shape); }
  void operator()(const LayerNorm& shape) { cuda::plan_layer_norm(plan, shape); }
  void operator()(const BatchNorm& shape) { cuda::plan_batch_norm(plan, shape); }
  void operator()(const BiasAdd& shape) { cuda::plan_bias_add(plan, shape); }
  void operator()(const Convert& shape) { cuda::plan_convert(plan, shape); }
  void operator()(const Embedding& shape) { cuda::plan_embedding(plan, shape); }
  void operator()(const OptimizerStep& shape) { cuda::plan_optimizer(plan, shape); }
  template <class Shape>
  void operator()(const Shape&) {
    FAIL() << "no kernel of a layer";
  }
};

/// The indices of a forward pass, for the backward pass of a maximum.
void write_indices(EmulatedPlan& plan, Pool2d pool) {
  pool.pass = Pass::forward;
  EmulatedPlan forward{Operation(pool)};
  cuda::plan_pool(forward, pool);
  forward.run();
  plan.write(1, forward.read(2));
}

/// An odd step, so that every place in a vector has its turn; at most 2e6 terms of the reference in all.
std::size_t step_between_checks(const Operation& operation, std::size_t output, std::size_t size) {
  const auto terms = static_cast<std::size_t>(terms_per_element(operation, output));
  return (size * terms / 2000000) | 1;
}

}  // namespace

void plan_layer(cuda::KernelPlan& plan, const Operation& operation) {
  std::visit(Planner{plan}, operation.parameters());
}

void expect_output(const Operation& operation, const EmulatedPlan& plan, std::size_t number) {
  const std::vector<Operand> operands = operation.operands();
  std::vector<std::vector<double>> inputs;
  for (std::size_t i = 0; operands[i].role == OperandRole::input; ++i) inputs.push_back(plan.read(i));
  Reference reference(operation, inputs);
  const Operand& operand = operands[inputs.size() + number];
  const std::vector<double> output = plan.read(inputs.size() + number);
  const std::string which = fmt::format("{} by {}", operand.name, plan.steps().back().kernel);
  ASSERT_TRUE(std::none_of(output.begin(), output.end(), [](double value) { return std::isnan(value); }))
      << which;
  double difference = 0.0, size = 0.0;
  const std::size_t step = step_between_checks(operation, number, output.size());
  for (std::size_t j = 0; j < output.size(); j += step) {
    const double expected = reference.element(number, static_cast<std::int64_t>(j));
    difference += (output[j] - expected) * (output[j] - expected);
    size += expected * expected;
  }
  const double tolerance =
      operand.dtype == DataType::i64 ? 0.0 : std::max(verification_tolerance(operation.dtype()), 1e-12);
  EXPECT_LE(std::sqrt(difference / (size > 0.0 ? size : 1.0)), tolerance) << which;
}

void expect_right(const Operation& operation) {
  SCOPED_TRACE(operation.text());
  EmulatedPlan plan(operation);
  if (const auto* pool = std::get_if<Pool2d>(&operation.parameters())) {
    if (pool->kind == PoolKind::max && pool->pass == Pass::backward) write_indices(plan, *pool);
  }
  plan_layer(plan, operation);
  ASSERT_NO_THROW(plan.run());
  const std::vector<Operand> operands = operation.operands();
  const auto is_output = [](const Operand& operand) { return operand.role == OperandRole::output; };
  const auto outputs = std::count_if(operands.begin(), operands.end(), is_output);
  for (std::size_t i = 0; i < static_cast<std::size_t>(outputs); ++i) expect_output(operation, plan, i);
}

void expect_right_in_each_type(const std::string& text) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    expect_right(Operation::parse(text + ",dtype=" + dtype));
  }
}

void expect_right_in_each_layout(const std::string& text) {
  for (const char* layout : {"nchw", "nhwc"}) expect_right_in_each_type(text + ",layout=" + layout);
}

}  // namespace emulation
