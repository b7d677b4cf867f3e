// An operation of the scripted device: its time is the script's, its output the float64 reference.
#pragma once

#include <limits>
#include <variant>

#include "jitterscope/error.hpp"
#include "operation/operation.hpp"
#include "support/reference_output.hpp"
#include "support/scripted_device.hpp"
#include "support/scripted_queue.hpp"

namespace jitterscope::scripted {

class ScriptedOperation final : public PreparedOperation {
 public:
  ScriptedOperation(const Operation& operation, State& state) : operation_(operation), state_(state) {
    kernel_.operation = &operation_;
    if (const Spin* spin = std::get_if<Spin>(&operation.parameters())) {
      const auto amount = static_cast<double>(spin->amount);
      kernel_.fixed_time = kSpinOverhead;
      if (spin->unit == Spin::Unit::cycles && state.script.clock) {
        kernel_.fixed_cycles = Cycles(amount);
      } else {
        *kernel_.fixed_time += Nanoseconds(amount);
      }
    }
  }

  const Operation& operation() const override { return operation_; }
  std::string provider() const override { return "builtin"; }
  /// The engine that it names, else the first that the device has.
  std::string algorithm() const override {
    const std::string engine = engine_of(operation_);
    if (!engine.empty() || state_.script.engines.empty()) return engine;
    return state_.script.engines.front().tag;
  }
  void run(NativeQueue queue) override {
    static_cast<Stream*>(queue)->queue->enqueue(kernel_);
    poisoned_ = false;
  }
  void poison_outputs() override { poisoned_ = true; }
  void check_launches() override {
    if (state_.script.writes_outside) throw FailedError("wrote outside");
  }

  std::vector<double> read_operand(std::size_t index) override {
    const std::vector<Operand> operands = operation_.operands();
    const auto count = static_cast<std::size_t>(operands[index].count);
    const auto* kernel = std::get_if<CudaKernel>(&operation_.parameters());
    if (kernel != nullptr && !poisoned_) return state_.script.kernel(*kernel, operands[index]);
    if (operands[index].role == OperandRole::input) return input(operands, index);
    std::vector<double> output(count, std::numeric_limits<double>::quiet_NaN());
    if (poisoned_) return output;
    std::vector<std::vector<double>> inputs;
    for (std::size_t i = 0; operands[i].role == OperandRole::input; ++i) inputs.push_back(input(operands, i));
    output = reference_output(operation_, inputs, index - inputs.size());
    // Of several outputs the last one is spoilt.
    if (index + 1 == operands.size()) state_.script.spoil(output);
    return output;
  }

 private:
  static std::vector<double> input(const std::vector<Operand>& operands, std::size_t index) {
    std::vector<double> values;
    for (std::size_t i = 0; i < static_cast<std::size_t>(operands[index].count); ++i) {
      values.push_back(static_cast<double>((i * 7 + index * 3) % 11) - 5.0);
    }
    return values;
  }

  Operation operation_;
  State& state_;
  Kernel kernel_;
  bool poisoned_ = true;
};

}  // namespace jitterscope::scripted
