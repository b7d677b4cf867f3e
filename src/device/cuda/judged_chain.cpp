#include "device/judged_chain.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "device/cuda/driver.hpp"
#include "device/cuda/judged_kernels.hpp"
#include "device/cuda/kernels.hpp"
#include "device/cuda/memory.hpp"
#include "jitterscope/error.hpp"

// The binary of judged_kernels.cu, embedded by kernels_binary.S.
// NOLINTNEXTLINE(readability-identifier-naming): as the assembler has it
extern "C" const std::byte jitterscope_judged_kernels_begin[];

namespace jitterscope {
namespace cuda {
namespace {

using judging::kGroupBytes, judging::kLeavesOfGroup, judging::kMailboxBytes, judging::kNodeBytes;

// A judge that has ended releases nothing: the kernel that waits for it must end, too.
constexpr Nanoseconds kLongestHold = seconds(60);
constexpr unsigned kFillThreads = 256, kMostFillBlocks = 2048, kEvictBlocks = 1056;
constexpr std::uint64_t kVector = 16;  // bytes that a thread reads at once

JudgedInput::Type type_of(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return JudgedInput::f64;
    case DataType::f32:
    case DataType::tf32: return JudgedInput::f32;
    case DataType::f16: return JudgedInput::f16;
    case DataType::bf16: return JudgedInput::bf16;
    case DataType::i64: return JudgedInput::i64;
    case DataType::i32: return JudgedInput::i32;
  }
  return JudgedInput::f32;
}

// Own memory of the process that the GPU may read and write.
class RegisteredPage {
 public:
  explicit RegisteredPage(judging::Mailbox* page) : page_(page) {
    check(driver().cuMemHostRegister(page, kMailboxBytes, CU_MEMHOSTREGISTER_DEVICEMAP),
          "letting the GPU use the judge's mailbox");
    check(driver().cuMemHostGetDevicePointer(&address_, page, 0), "finding the judge's mailbox");
  }
  ~RegisteredPage() { driver().cuMemHostUnregister(page_); }
  RegisteredPage(const RegisteredPage&) = delete;
  RegisteredPage& operator=(const RegisteredPage&) = delete;
  CUdeviceptr address() const { return address_; }

 private:
  judging::Mailbox* page_;
  CUdeviceptr address_ = 0;
};

class GpuChain : public JudgedChain {
 public:
  GpuChain(judging::Mailbox* mailbox, std::uint64_t most_bytes)
      : mailbox_(mailbox),
        state_(Bytes(static_cast<std::int64_t>(sizeof(JudgedState)))),
        nodes_(Bytes(static_cast<std::int64_t>((most_bytes / kGroupBytes + 1) * kNodeBytes))) {
    const CUmodule loaded = load_module(jitterscope_judged_kernels_begin);  // as long as the process lives
    release_ = find_function(loaded, "judged_release");
    fill_ = find_function(loaded, "judged_fill");
    keep_ = find_function(loaded, "judged_keep");
    evict_ = find_function(loaded, "judged_evict");
  }

  void add_input(const ChainInput& input) override {
    if (inputs_.count == kMostJudgedInputs)
      throw UsageError(fmt::format("more than {} inputs cannot be judged on a GPU", kMostJudgedInputs));
    inputs_.each[inputs_.count++] = {input.drawing, type_of(input.dtype), input.elements, nullptr};
    longest_ = std::max(longest_, input.elements);
  }
  void release(void* stream, std::uint32_t ticket) override {
    launch_kernel(release_, 1, 1, static_cast<CUstream>(stream), mailbox_.address(), state_.address(), ticket,
                  static_cast<std::uint64_t>(kLongestHold.value()));
  }
  void fill(void* stream, void* const* memories) override {
    if (inputs_.count == 0) return;
    for (int i = 0; i < inputs_.count; ++i) inputs_.each[i].memory = memories[i];
    const std::uint64_t pairs = (longest_ + 1) / 2;
    const std::uint64_t blocks =
        std::clamp<std::uint64_t>((pairs + kFillThreads - 1) / kFillThreads, 1, kMostFillBlocks);
    launch_kernel(fill_, static_cast<unsigned>(blocks), kFillThreads, static_cast<CUstream>(stream), inputs_,
                  state_.address());
  }
  void evict(void* stream, std::uint64_t bytes) override {
    const Bytes wanted(static_cast<std::int64_t>(bytes / kVector * kVector));
    if (evicted_.size() != wanted) {
      evicted_ = DeviceMemory(wanted);
      check(driver().cuMemsetD8Async(evicted_.address(), 0, bytes / kVector * kVector,
                                     static_cast<CUstream>(stream)),
            "filling memory to evict with");
    }
    launch_kernel(evict_, kEvictBlocks, kFillThreads, static_cast<CUstream>(stream), evicted_.address(),
                  bytes / kVector, state_.address());
  }
  void keep(void* stream, std::span<const ChainOutput> outputs, void* kept, std::uint32_t ticket) override {
    if (outputs.size() > kMostJudgedOutputs)
      throw UsageError(fmt::format("more than {} outputs cannot be judged on a GPU", kMostJudgedOutputs));
    JudgedOutputs all{.count = static_cast<int>(outputs.size()), .kept = static_cast<unsigned char*>(kept)};
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      all.memories[i] = outputs[i].memory;
      all.sizes[i] = outputs[i].bytes;
      all.bytes += outputs[i].bytes;
    }
    const std::uint64_t groups = std::max<std::uint64_t>(1, (all.bytes + kGroupBytes - 1) / kGroupBytes);
    if (groups * kNodeBytes > static_cast<std::uint64_t>(nodes_.size().value()))
      throw UsageError("a call's outputs are longer than this chain was opened for");
    launch_kernel(keep_, static_cast<unsigned>(groups), kLeavesOfGroup, static_cast<CUstream>(stream), all,
                  nodes_.address(), state_.address(), mailbox_.address(), ticket);
  }

 private:
  RegisteredPage mailbox_;
  DeviceMemory state_, nodes_, evicted_;
  JudgedInputs inputs_ = {};
  std::uint64_t longest_ = 0;
  CUfunction release_ = nullptr, fill_ = nullptr, keep_ = nullptr, evict_ = nullptr;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<JudgedChain> open_judged_chain(judging::Mailbox* mailbox, std::uint64_t most_bytes) {
  return std::make_unique<cuda::GpuChain>(mailbox, most_bytes);
}

}  // namespace jitterscope
