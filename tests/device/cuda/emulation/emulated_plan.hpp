// An operation's plan run on the CPU: operands in ordinary memory, read and written as double.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "device/cuda/kernel_plan.hpp"

namespace emulation {

class EmulatedPlan : public jitterscope::cuda::KernelPlan {
 public:
  /// Inputs hold random values, outputs the bits of NaN. `resident` blocks are said to run at once.
  EmulatedPlan(const jitterscope::Operation& operation, std::int64_t resident);

  jitterscope::cuda::DeviceAddress operand(std::size_t index) const override;
  jitterscope::cuda::DeviceAddress workspace(jitterscope::Bytes size) override;
  std::int64_t resident_blocks(const jitterscope::cuda::KernelName&, unsigned, jitterscope::Bytes) override {
    return resident_;
  }
  /// As an H200's.
  jitterscope::Bytes largest_shared_memory(const jitterscope::cuda::KernelName&) override {
    return jitterscope::Bytes(std::int64_t{227} << 10);
  }
  /// Blocks run one after the other, and none can wait for the next.
  std::int64_t cluster_blocks(const jitterscope::cuda::KernelName&) override { return 1; }
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

  std::int64_t resident_;
  std::vector<jitterscope::Operand> descriptions_;
  std::vector<std::shared_ptr<Memory>> operands_, workspaces_;
  std::vector<jitterscope::cuda::KernelStep> steps_;
  std::vector<jitterscope::cuda::ZeroStep> zeros_;  ///< all of them come before the first launch
};

}  // namespace emulation
