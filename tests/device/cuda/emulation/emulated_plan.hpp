// An operation's plan run on the CPU: operands in ordinary memory, read and written as double.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/cuda/kernel_plan.hpp"

namespace emulation {

class EmulatedPlan : public jitterscope::cuda::KernelPlan {
 public:
  /// Inputs hold random values, outputs the bits of NaN.
  explicit EmulatedPlan(const jitterscope::Operation& operation);

  jitterscope::cuda::DeviceAddress operand(std::size_t index) const override;
  jitterscope::cuda::DeviceAddress workspace(jitterscope::Bytes size) override;
  void add_zero(const jitterscope::cuda::ZeroStep& step) override;

  /// Throws where an element past the end of an operand or workspace was written.
  void run();
  std::vector<double> read(std::size_t index) const;
  void write(std::size_t index, const std::vector<double>& values);
  /// The bits of NaN again, so that the next run has to write all of it.
  void forget_outputs();
  const std::vector<jitterscope::cuda::KernelStep>& steps() const { return steps_; }

 protected:
  void add_step(jitterscope::cuda::KernelStep step) override { steps_.push_back(std::move(step)); }

 private:
  class Memory;

  std::vector<jitterscope::Operand> descriptions_;
  std::vector<std::shared_ptr<Memory>> operands_, workspaces_;
  std::vector<jitterscope::cuda::KernelStep> steps_;
  std::vector<jitterscope::cuda::ZeroStep> zeros_;  ///< all of them come before the first launch
};

}  // namespace emulation
