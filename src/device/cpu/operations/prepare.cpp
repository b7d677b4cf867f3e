#include "device/cpu/operations/prepare.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>
#include <malloc.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <oneapi/dnnl/dnnl.hpp>

#include "device/allocation/allocators.hpp"
#include "device/can_run.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cpu/operations/carried_loops.hpp"
#include "device/cpu/operations/onednn_primitives.hpp"
#include "device/torch/plugin.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/operation.hpp"

namespace jitterscope::cpu {
namespace {

std::unique_ptr<PreparedOperation> prepare_layer(const Operation& operation, const InputTable& inputs) {
  switch (operation.dtype()) {
    case DataType::f64: return prepare_double(operation, inputs);
    case DataType::f32:
    case DataType::bf16: return prepare_onednn(operation, inputs);
    case DataType::tf32:
    case DataType::i64:
    case DataType::i32:
    case DataType::f16: break;
  }
  throw std::logic_error("require_data_type let a type through that products are not computed in");
}

// Most scores of one head kept as a matrix: 1 GiB in f32. Our own loops keep one row.
constexpr std::int64_t kLargestScores = 1 << 28;

// Prepares oneDNN's primitive where there is one, else our own loops.
template <Prepare* loops>
std::unique_ptr<PreparedOperation> prepare_primitive_or(const Operation& operation,
                                                        const InputTable& inputs) {
  std::unique_ptr<PreparedOperation> primitive = prepare_onednn_layer(operation, inputs);
  return primitive ? std::move(primitive) : loops(operation, inputs);
}

std::unique_ptr<PreparedOperation> prepare_operator(const Operation& operation, const InputTable& inputs) {
  require_memory(operation.bytes(), operation.text());
  return torch::prepare_aten(operation, inputs.data(), {.device_type = "cpu"});
}

/// Returns the function that prepares a kind of operation.
struct PrepareOf {
  Prepare* operator()(const Conv2d&) const { return prepare_layer; }
  Prepare* operator()(const Matmul&) const { return prepare_layer; }
  Prepare* operator()(const Linear&) const { return prepare_layer; }
  Prepare* operator()(const Copy&) const { return prepare_copy; }
  Prepare* operator()(const Elementwise&) const { return prepare_primitive_or<prepare_elementwise>; }
  Prepare* operator()(const BatchNorm&) const { return prepare_primitive_or<prepare_batch_norm_loops>; }
  Prepare* operator()(const Pool2d&) const { return prepare_primitive_or<prepare_pool_loops>; }
  Prepare* operator()(const Softmax&) const { return prepare_primitive_or<prepare_softmax_loops>; }
  Prepare* operator()(const LayerNorm&) const { return prepare_primitive_or<prepare_layer_norm_loops>; }
  Prepare* operator()(const BiasAdd&) const { return prepare_bias_add; }
  Prepare* operator()(const Convert&) const { return prepare_convert; }
  Prepare* operator()(const Embedding&) const { return prepare_embedding; }
  Prepare* operator()(const OptimizerStep&) const { return prepare_optimizer_step; }
  Prepare* operator()(const Attention& shape) const {
    const bool fits = limited_product({shape.queries, shape.keys}) <= kLargestScores;
    const bool packed = shape.layout == HeadLayout::bhsd;
    return shape.dtype == DataType::f32 && packed && fits ? prepare_onednn_attention
                                                          : prepare_attention_loops;
  }
  Prepare* operator()(const Spin&) const { return prepare_spin; }
  Prepare* operator()(const Allocation&) const { return prepare_allocation; }
  Prepare* operator()(const Collective&) const {
    throw std::logic_error("refuse_collective let a collective through");
  }
  Prepare* operator()(const CudaKernel&) const { return prepare_carried_loops; }
  Prepare* operator()(const Chain& chain) const {
    if (!chain.fused) throw std::logic_error("a chain is prepared before its parameters are visited");
    return prepare_onednn_fused;
  }
  Prepare* operator()(const Aten&) const { return prepare_operator; }
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare(const Operation& operation, const InputTable& inputs) {
  refuse_kernel(operation, "cpu");
  refuse_collective(operation, "cpu", {.has_collectives = false}, false);
  require_data_type(operation, "cpu", product_types(), further_types());
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    for (const Operation& step : chain->steps) {
      require_data_type(step, "cpu", product_types(), further_types());
    }
  }
  require_memory(operand_memory(operation), operation.text());
  return std::visit(PrepareOf(), operation.parameters())(operation, inputs);
}

}  // namespace jitterscope::cpu

#ifdef _OPENMP
#include <omp.h>
#endif

namespace jitterscope::cpu {
namespace {

// Found by trying, since a CPU's requirements for bf16 differ between oneDNN versions.
bool multiplies_bf16() {
  try {
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    const dnnl::memory::desc matrix({16, 16}, dnnl::memory::data_type::bf16, dnnl::memory::dims{16, 1});
    matmul_primitive(engine, {matrix, matrix, matrix, {}});
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

}  // namespace

LibraryInfo onednn_library() {
  LibraryInfo library;
  library.name = "onednn";
  const dnnl_version_t* version = dnnl_version();
  library.version = fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
  Dl_info file{};
  // If oneDNN is linked statically, this is the program itself.
  if (dladdr(reinterpret_cast<const void*>(&dnnl_version), &file) != 0) library.path = file.dli_fname;
  return library;
}

std::string onednn_instruction_set() {
  constexpr std::string_view kPrefix = "cpu_isa_";
  std::string_view name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  return std::string(name);
}

std::vector<DataType> product_types() {
  static const bool kHasBf16 = multiplies_bf16();
  std::vector<DataType> types = {DataType::f64, DataType::f32};
  if (kHasBf16) types.push_back(DataType::bf16);
  return types;
}

std::vector<DataType> further_types() {
  std::vector<DataType> types = {DataType::f16};
  if (product_types().back() != DataType::bf16) types.push_back(DataType::bf16);
  return types;
}

int thread_count() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

namespace {

constexpr std::int64_t kPart = 1 << 20;  // bytes; a copy of one part uses one thread

class CopyOperation final : public CpuOperation {
 public:
  CopyOperation(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), bytes_(std::get<Copy>(operation.parameters()).bytes) {}

  std::string algorithm() const override { return "memcpy"; }

  // One core cannot fill the memory's bandwidth, so all copy a part each.
  void run(NativeQueue) override {
    const auto* source = data<const std::byte>(0);
    auto* destination = data<std::byte>(1);
#pragma omp parallel for schedule(static) if (bytes_ > kPart)
    for (std::int64_t first = 0; first < bytes_; first += kPart) {
      std::memcpy(destination + first, source + first,
                  static_cast<std::size_t>(std::min(kPart, bytes_ - first)));
    }
  }

 private:
  std::int64_t bytes_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_copy(const Operation& operation, const InputTable& inputs) {
  const Copy& copy = std::get<Copy>(operation.parameters());
  if (copy.kind != CopyKind::d2d) {
    throw UsageError(fmt::format(
        "the cpu has no device memory to copy {}: try kind=d2d, a copy within memory", to_string(copy.kind)));
  }
  return std::make_unique<CopyOperation>(operation, inputs);
}

// Allocators: malloc, a caching allocator over it, or one block allocated beforehand.

namespace {

void* pointer_of(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}  // NOLINT: as malloc gives it

class SystemMemory final : public MemoryAllocator {
 public:
  std::uintptr_t allocate(Bytes size) override {
    void* block = std::malloc(static_cast<std::size_t>(size.value()));
    if (block == nullptr) throw FailedError("the system refused memory: free some, or take smaller blocks");
    held_ += static_cast<std::int64_t>(malloc_usable_size(block));
    return reinterpret_cast<std::uintptr_t>(block);
  }
  void release(std::uintptr_t address) override {
    held_ -= static_cast<std::int64_t>(malloc_usable_size(pointer_of(address)));
    std::free(pointer_of(address));
  }
  Bytes held() const override { return Bytes(held_); }

 private:
  std::int64_t held_ = 0;
};

class SystemSegments final : public SegmentSource {
 public:
  std::uintptr_t take(Bytes size) override { return memory_.allocate(size); }
  void give_back(std::uintptr_t address, Bytes) override { memory_.release(address); }

 private:
  SystemMemory memory_;
};

class AllocationOperation final : public CpuOperation {
 public:
  AllocationOperation(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        allocation_(std::get<Allocation>(operation.parameters())),
        replay_(pattern_of(allocation_)),
        allocator_(make_allocator()),
        held_(replay_.run_watched(*allocator_)) {}

  std::string algorithm() const override {
    return allocation_.by == Allocator::malloc ? "malloc, free" : std::string(to_string(allocation_.by));
  }
  std::optional<HeldMemory> held_memory() const override { return held_; }
  void run(NativeQueue) override {
    replay_.run(*allocator_, [this](std::uintptr_t address, Bytes size) {
      if (allocation_.touch) std::memset(pointer_of(address), 1, static_cast<std::size_t>(size.value()));
    });
  }

 private:
  std::unique_ptr<MemoryAllocator> make_allocator() {
    switch (allocation_.by) {
      case Allocator::malloc: return std::make_unique<SystemMemory>();
      case Allocator::cache:
        return std::make_unique<CachingAllocator>(CachingAllocator::Growth::segments,
                                                  std::make_unique<SystemSegments>(),
                                                  std::make_unique<SystemSegments>());
      case Allocator::preallocated: {
        PlacedBlocks blocks = place_blocks(replay_.pattern());
        placed_ = AlignedMemory(blocks.size);
        return std::make_unique<Preallocated>(reinterpret_cast<std::uintptr_t>(placed_.data()),
                                              std::move(blocks));
      }
      case Allocator::pool:
      case Allocator::pool_kept:
      case Allocator::expandable: break;
    }
    throw std::logic_error("require_means let an allocator through that the CPU has not");
  }

  Allocation allocation_;
  PatternReplay replay_;
  AlignedMemory placed_;
  std::unique_ptr<MemoryAllocator> allocator_;
  HeldMemory held_;
};

}  // namespace

std::vector<Allocator> allocators() { return {Allocator::malloc, Allocator::cache, Allocator::preallocated}; }

std::unique_ptr<PreparedOperation> prepare_allocation(const Operation& operation, const InputTable& inputs) {
  const auto& allocation = std::get<Allocation>(operation.parameters());
  require_means(operation, "cpu", {.host_memories = {}, .allocators = allocators()});
  require_memory(most_at_once(pattern_of(allocation)), operation.text());
  return std::make_unique<AllocationOperation>(operation, inputs);
}

namespace {

void spend_time(std::int64_t nanoseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(nanoseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

class SpinOperation final : public CpuOperation {
 public:
  SpinOperation(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), spin_(std::get<Spin>(operation.parameters())) {}

  std::string algorithm() const override {
    return spin_.unit == Spin::Unit::cycles ? "chain of dependent adds" : "steady clock";
  }
  void run(NativeQueue) override {
    spin_.unit == Spin::Unit::cycles ? spend_cycles(spin_.amount) : spend_time(spin_.amount);
  }

 private:
  Spin spin_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_spin(const Operation& operation, const InputTable& inputs) {
  const std::int64_t blocks = std::get<Spin>(operation.parameters()).blocks;
  if (blocks != 1) {
    throw UsageError(fmt::format("the cpu spins on one core, not on {} blocks: try blocks=1", blocks));
  }
  return std::make_unique<SpinOperation>(operation, inputs);
}

}  // namespace jitterscope::cpu
