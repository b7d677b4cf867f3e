// Opens the plug-in for PyTorch when the first operator is prepared.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/operands.hpp"
#include "jitterscope/device.hpp"
#include "torch_plugin/plugin_interface.h"

namespace jitterscope::torch {

/// Returns where libjitterscope_torch.so is looked for, first match first: only the file
/// $JITTERSCOPE_TORCH_PLUGIN if that is set, else beside the executable, then in ../lib/jitterscope.
std::vector<std::filesystem::path> plugin_files();

/// Opens the plug-in once and keeps it. Throws MissingError that says what is wrong or how to build it.
const JitterscopeTorchPlugin& plugin();

/// Returns what the file says of its build, without opening PyTorch, which takes a second and a gigabyte.
LibraryInfo torch_library();

// Reads from a plug-in's file with which PyTorch it was built.

struct BuiltWith {
  std::optional<std::string> torch;  ///< PyTorch's version; nullopt if the file is no plug-in
  std::string cuda;                  ///< CUDA's version; empty: without CUDA
  std::string abi;                   ///< _GLIBCXX_USE_CXX11_ABI
  unsigned interface_version = 0;
  std::string folder;  ///< folder of PyTorch's libraries
};
BuiltWith read_built_with(const std::filesystem::path& plugin);

/// Returns the version of the PyTorch whose libraries lie in `folder`: "of unknown version" if it does not
/// say, empty if there is none.
std::string found_torch(const std::filesystem::path& folder);

// Operators of PyTorch, prepared by the plug-in.

/// Device and queue for which the plug-in prepares an operator.
struct Place {
  std::string device_type;  ///< cpu or cuda
  int ordinal = 0;          ///< number of the GPU
  NativeQueue queue = nullptr;
};

/// Owns an operator within the plug-in.
class Handle {
 public:
  /// Throws MissingError without a plug-in or its part for the device, UsageError if PyTorch does not take
  /// the operator or its arguments, FailedError if it fails. Tensors that `data` shares lie in their owners'
  /// memory.
  Handle(const Operation& operation, const InputData& data, const Place& place);

  JitterscopeTorchOperation* get() const { return operation_.get(); }
  const JitterscopeTorchPlugin& plugin() const { return *plugin_; }
  /// True if run() waits for the queue, as for an operator whose output's size depends on the data.
  bool waits_for_queue() const { return plugin_->waits_for_stream(get()) != 0; }

 private:
  const JitterscopeTorchPlugin* plugin_;
  std::unique_ptr<JitterscopeTorchOperation, void (*)(JitterscopeTorchOperation*)> operation_;
};

/// An operator whose outputs are made anew by each run, as in PyTorch; memory() names those of the last run.
/// On a GPU they come from the operator's own pool, which gives the same requests the same memory and keeps
/// it: whoever shares an output reads what the last run wrote.
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
  /// Does nothing: outputs do not exist before the operator allocates them, so stale ones cannot be read.
  void poison_outputs() override {}
  /// Returns output `index` of the last run, row-major; the operation itself lists no operands.
  std::vector<double> read_operand(std::size_t index) override;

 private:
  Operation operation_;
  Handle handle_;
};

std::unique_ptr<PreparedOperation> prepare_aten(const Operation& operation, const InputData& data,
                                                const Place& place);

}  // namespace jitterscope::torch
