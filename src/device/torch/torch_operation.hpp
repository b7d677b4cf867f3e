// An operator of PyTorch, prepared by the plug-in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/shared_operand.hpp"
#include "jitterscope/device.hpp"
#include "torch_plugin/plugin_interface.h"

namespace jitterscope::torch {

/// Where the plug-in makes an operator's tensors.
struct Place {
  std::string device_type;  ///< cpu or cuda
  int ordinal = 0;          ///< of the GPU
  NativeQueue queue = nullptr;
};

/// An operator within the plug-in, which frees it.
class Handle {
 public:
  /// Throws MissingError without a plug-in or its part for the device, UsageError for an operator or
  /// arguments that PyTorch does not take, FailedError where it fails.
  /// Tensors that `data` says are shared lie where their owners' do.
  Handle(const Operation& operation, const InputData& data, const Place& place);

  JitterscopeTorchOperation* get() const { return operation_.get(); }
  const JitterscopeTorchPlugin& plugin() const { return *plugin_; }
  /// It waits for the queue while it runs, as an operator does whose output's size depends on the data.
  bool waits_for_queue() const { return plugin_->waits_for_stream(get()) != 0; }

 private:
  const JitterscopeTorchPlugin* plugin_;
  std::unique_ptr<JitterscopeTorchOperation, void (*)(JitterscopeTorchOperation*)> operation_;
};

/// The outputs are made anew by each run, as in PyTorch; memory() names those of the last. On a GPU they come
/// from a pool of the operator's own, which gives the same requests the same memory and keeps it: who shares
/// an output reads what the last run wrote.
class TorchOperation : public PreparedOperation, public OperandMemory {
 public:
  TorchOperation(const Operation& operation, Handle handle)
      : operation_(operation), handle_(std::move(handle)) {}

  const Operation& operation() const override { return operation_; }
  std::string provider() const override { return "torch"; }
  std::string algorithm() const override { return handle_.plugin().schema_name(handle_.get()); }
  void run(NativeQueue queue) override;
  bool produce_inputs(NativeQueue queue) override;
  std::vector<MemoryRegion> memory() const override;
  std::vector<MemoryRegion> operand_memory() const override;
  std::size_t input_count() const override;
  /// Impossible, and not needed: memory that the operator has not allocated yet cannot be read as its output.
  void poison_outputs() override {}
  /// Of an operator without operands: output `index` of the last run, row-major.
  std::vector<double> read_operand(std::size_t index) override;

 private:
  Operation operation_;
  Handle handle_;
};

std::unique_ptr<PreparedOperation> prepare_aten(const Operation& operation, const InputData& data,
                                                const Place& place);

}  // namespace jitterscope::torch
