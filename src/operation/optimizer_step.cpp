#include "operation/kinds.hpp"
#include "operation/limits.hpp"

namespace jitterscope::kinds {
namespace {

template <OptimizerKind Which>
Operation::Parameters read_optimizer_step(const ParameterReader& reader) {
  OptimizerStep step;
  step.kind = Which;
  reader.require("count", step.count);
  reader.read("dtype", step.dtype);
  return step;
}

OperationHelp optimizer_step_help(const std::string& kind, const std::string& summary) {
  return {
      kind,
      summary,
      kind + ":count=25Mi,dtype=f32",
      {{"count",
        "parameters; as every number with k, M, G, T (powers of 1000) or Ki, Mi, Gi, Ti (of 1024) behind it",
        ""},
       {"dtype", "f64, f32, tf32 (as f32), f16 or bf16, of all tensors", "f32"}}};
}

bool is_adam(const OptimizerStep& step) {
  return step.kind == OptimizerKind::adam || step.kind == OptimizerKind::adamw;
}

}  // namespace

std::string_view name(const OptimizerStep& step) {
  switch (step.kind) {
    case OptimizerKind::sgd: return "sgd";
    case OptimizerKind::momentum: return "momentum";
    case OptimizerKind::adam: return "adam";
    case OptimizerKind::adamw: return "adamw";
  }
  return "?";
}

void check(const OptimizerStep& step) { check_range(name(step), "count", step.count, 1, kLargestCount); }

void write(const OptimizerStep& step, ParameterWriter& writer) {
  writer.write("count", step.count);
  writer.write("dtype", step.dtype);
}

// Per parameter; the corrections are made once. sgd: the step 2. momentum: its decay and sum 2 more. adam:
// mean 3, square 4, denominator 3, step 3. adamw: its decay 1 more.
double flops(const OptimizerStep& step) {
  const auto count = static_cast<double>(step.count);
  switch (step.kind) {
    case OptimizerKind::sgd: return 2.0 * count;
    case OptimizerKind::momentum: return 4.0 * count;
    case OptimizerKind::adam: return 13.0 * count;
    case OptimizerKind::adamw: return 14.0 * count;
  }
  return 0.0;
}

std::vector<Operand> operands(const OptimizerStep& step) {
  std::vector<const char*> state = {"parameter"};
  std::vector<Operand> result = {{"parameter", OperandRole::input, step.dtype, step.count},
                                 {"gradient", OperandRole::input, step.dtype, step.count}};
  const auto add_input = [&](const char* operand_name) {
    result.push_back({operand_name, OperandRole::input, step.dtype, step.count});
    state.push_back(operand_name);
  };
  if (step.kind == OptimizerKind::momentum) add_input("momentum");
  if (is_adam(step)) {
    add_input("mean");
    add_input("square");
    result.back().non_negative = true;
  }
  for (const char* changed : state) {
    result.push_back({std::string("new_") + changed, OperandRole::output, step.dtype, step.count});
  }
  return result;
}

std::vector<Kind> optimizer_steps() {
  return {
      {optimizer_step_help("sgd", "one step of gradient descent, as torch.optim.SGD"),
       read_optimizer_step<OptimizerKind::sgd>},
      {optimizer_step_help("momentum", "one step of torch.optim.SGD with momentum 0.9"),
       read_optimizer_step<OptimizerKind::momentum>},
      {optimizer_step_help("adam", "one step of torch.optim.Adam"), read_optimizer_step<OptimizerKind::adam>},
      {optimizer_step_help("adamw", "one step of torch.optim.AdamW"),
       read_optimizer_step<OptimizerKind::adamw>}};
}

}  // namespace jitterscope::kinds
