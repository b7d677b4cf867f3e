// The plug-in for PyTorch, opened when the first operator is prepared.
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

/// Where libjitterscope_torch.so is looked for, first match first: the file $JITTERSCOPE_TORCH_PLUGIN, and
/// nothing else where that is set; else beside the executable, then in ../lib/jitterscope.
std::vector<std::filesystem::path> plugin_files();

/// Opened once and kept. Throws MissingError that says what is wrong with it, or how to build it.
const JitterscopeTorchPlugin& plugin();

/// As the file says it was built, without opening PyTorch, which takes a second and a gigabyte.
LibraryInfo torch_library();

// What a plug-in for PyTorch was built with, read from its file.

struct BuiltWith {
  std::optional<std::string> torch;  ///< its version; nothing where the file is no plug-in
  std::string cuda;                  ///< empty: without CUDA
  std::string abi;                   ///< _GLIBCXX_USE_CXX11_ABI
  unsigned interface_version = 0;
  std::string folder;  ///< of PyTorch's libraries
};
BuiltWith read_built_with(const std::filesystem::path& plugin);

/// The version of the PyTorch whose libraries lie in a folder, "of unknown version" where it does not say;
/// empty where there is none.
std::string found_torch(const std::filesystem::path& folder);

// An operator of PyTorch, prepared by the plug-in.

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
