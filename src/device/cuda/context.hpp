// One GPU's primary context, shared with every library of the process (PyTorch among them).
#pragma once

#include <cuda.h>

#include <memory>

#include "device/cuda/placed_memory.hpp"
#include "device/cuda/workspace.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::cuda {

class Kernels;
class LayerKernels;

class Context {
 public:
  /// Throws MissingError where there is no such GPU.
  explicit Context(int ordinal);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  /// Makes it the calling thread's context; every entry point from outside calls this first.
  void make_current() const;
  int ordinal() const { return ordinal_; }
  CUdevice device() const { return device_; }
  CUcontext handle() const { return handle_; }
  int attribute(CUdevice_attribute attribute) const;
  Bytes free_memory() const;
  /// Throws UsageError where a caller's stream belongs to another GPU or context.
  void require_own(CUstream stream) const;
  /// The one stream of everything that jitterscope launches here: operands are filled and queues run on it.
  /// Kernels on two streams in turn put a process into a state that it does not leave again, in which each
  /// node of a recording takes 0.18 us more (H200, driver 580: 0.63 and 0.81 us for an empty kernel on 132
  /// blocks, where CUPTI reads 0.61 in both). The fourth turn did it, whatever the other stream ran.
  CUstream stream() const { return stream_; }
  /// jitterscope's own kernels, all of them loaded already.
  const Kernels& kernels() const { return *kernels_; }
  /// Those of layers, loaded when one is prepared.
  const LayerKernels& layer_kernels() const { return *layer_kernels_; }
  /// Of what runs on stream().
  WorkspacePool<PlacedMemory>& workspaces() const { return borrowed_ != nullptr ? *borrowed_ : *workspaces_; }
  /// What is prepared from now on takes its workspaces there, as it runs on another stream; null: from its
  /// own.
  void borrow_workspaces(WorkspacePool<PlacedMemory>* pool) const { borrowed_ = pool; }
  PhysicalPool& pages() const { return *pages_; }

 private:
  int ordinal_;
  CUdevice device_ = 0;
  CUcontext handle_ = nullptr;
  CUstream stream_ = nullptr;
  std::unique_ptr<const Kernels> kernels_;
  std::unique_ptr<const LayerKernels> layer_kernels_;
  std::unique_ptr<PhysicalPool> pages_;
  std::unique_ptr<WorkspacePool<PlacedMemory>> workspaces_ = std::make_unique<WorkspacePool<PlacedMemory>>();
  mutable WorkspacePool<PlacedMemory>* borrowed_ = nullptr;
};

}  // namespace jitterscope::cuda
