// A chain of judged calls on a GPU, and kernels that are judged, in a process that has a context of its own
// on it, as PyTorch makes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "device/judged_arithmetic.hpp"
#include "jitterscope/operation.hpp"

namespace jitterscope {

/// An input that each call has anew.
struct ChainInput {
  judging::Drawing drawing = {};
  DataType dtype = DataType::f32;
  std::uint64_t elements = 0;
};
/// An output of a call: consecutive bytes in the GPU's memory.
struct ChainOutput {
  const void* memory = nullptr;
  std::uint64_t bytes = 0;
};

/// Each function puts one kernel on the caller's stream (a CUstream) and waits for nothing. All throw
/// FailedError.
class JudgedChain {
 public:
  JudgedChain() = default;
  JudgedChain(const JudgedChain&) = delete;
  JudgedChain& operator=(const JudgedChain&) = delete;
  virtual ~JudgedChain() = default;

  /// Throws UsageError for more than 32 inputs.
  virtual void add_input(const ChainInput& input) = 0;
  /// Holds the stream until the mailbox has this ticket, which is not 0, then begins a chain with its key.
  virtual void release(void* stream, std::uint32_t ticket) = 0;
  /// Fills all inputs for the next call, in the GPU's memory; there are as many memories as inputs.
  virtual void fill(void* stream, void* const* memories) = 0;
  /// Reads `bytes` of its own memory, so that the GPU's cache has nothing else. The first call allocates it.
  virtual void evict(void* stream, std::uint64_t bytes) = 0;
  /// Keeps a copy of all outputs of a call, one behind the other from `kept` on, whose address 64 divides,
  /// and derives their digest. With a ticket that is not 0 the chain ends: the mailbox gets digest and
  /// ticket. Throws UsageError for more than 32 outputs.
  virtual void keep(void* stream, std::span<const ChainOutput> outputs, void* kept, std::uint32_t ticket) = 0;
};

/// Opens a chain in the context that is current. `mailbox` is a page of this process, and stays until the
/// chain is gone; outputs of a call have at most `most_bytes`. Throws MissingError if this build has no CUDA
/// device, or there is no driver.
std::unique_ptr<JudgedChain> open_judged_chain(judging::Mailbox* mailbox, std::uint64_t most_bytes);

/// A kernel of a user's file that is judged.
class JudgedKernel {
 public:
  JudgedKernel() = default;
  JudgedKernel(const JudgedKernel&) = delete;
  JudgedKernel& operator=(const JudgedKernel&) = delete;
  virtual ~JudgedKernel() = default;

  /// Puts it on the caller's stream (a CUstream), with as many addresses as it has buffers, in their order.
  /// Throws FailedError.
  virtual void launch(void* stream, void* const* buffers) = 0;
};

/// Compiles it for the GPU of the context that is current. Throws UsageError if the file, its arguments or
/// the launch are wrong, MissingError if this build has no CUDA device, or there is no compiler.
std::unique_ptr<JudgedKernel> open_judged_kernel(const CudaKernel& kernel);

}  // namespace jitterscope
