#include "device/cuda/kernels.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "device/cuda/driver.hpp"
#include "device/operands.hpp"
#include "jitterscope/error.hpp"

extern "C" {
// NOLINTBEGIN(readability-identifier-naming): as the assembler has them
extern const std::byte jitterscope_kernels_begin[];
extern const std::byte jitterscope_kernels_end[];
// NOLINTEND(readability-identifier-naming)
}

namespace jitterscope::cuda {

std::span<const std::byte> kernels_binary() { return {jitterscope_kernels_begin, jitterscope_kernels_end}; }
namespace {

constexpr unsigned kThreads = 256;
constexpr std::int64_t kVectorBytes = 16;

std::size_t storage_index(DataType dtype) {
  switch (dtype) {
    case DataType::f64: return 0;
    case DataType::f32:
    case DataType::tf32: return 1;
    case DataType::f16: return 2;
    case DataType::bf16: return 3;
    case DataType::i32:
    case DataType::i64: break;
  }
  return 0;
}

std::size_t index_type(DataType dtype) { return dtype == DataType::i64 ? 0 : 1; }

CUdeviceptr address_of(const MemoryRegion& region) { return reinterpret_cast<CUdeviceptr>(region.address); }
std::size_t vectors_in(const MemoryRegion& region) {
  return static_cast<std::size_t>(region.size.value() / kVectorBytes);
}

}  // namespace

Kernels::Kernels(const Context& context)
    : processors_(context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)),
      blocks_per_processor_(context.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) /
                            static_cast<int>(kThreads)),
      module_(load_module(kernels_binary().data())) {
  try {
    gate_ = find("jitterscope_hold");
    stamp_clock_ = find("jitterscope_stamp_clock");
    empty_ = find("jitterscope_empty");
    spin_nanoseconds_ = find("spin_nanoseconds");
    spin_cycles_ = find("spin_cycles");
    evict_write_ = find("jitterscope_evict_write");
    evict_read_ = find("jitterscope_evict_read");
    touch_ = find("jitterscope_touch");
    load_ = find("jitterscope_load");
    await_load_ = find("jitterscope_await_load");
    copy_ = find("jitterscope_copy");
    fill_random_ = find_per_type("random");
    random_indices_ = {find("random_indices_i64"), find("random_indices_i32")};
    to_double_ = find_per_type("to_double");
    indices_to_double_ = {find("to_double_i64"), find("to_double_i32")};
  } catch (...) {
    driver().cuModuleUnload(module_);
    throw;
  }
}

Kernels::~Kernels() { driver().cuModuleUnload(module_); }

CUfunction Kernels::find(const char* name) const { return find_function(module_, name); }

Kernels::PerType Kernels::find_per_type(const char* name) const {
  PerType functions{};
  const std::array<const char*, kStorageTypes> suffixes = {"f64", "f32", "f16", "bf16"};
  std::transform(suffixes.begin(), suffixes.end(), functions.begin(),
                 [&](const char* suffix) { return find(fmt::format("{}_{}", name, suffix).c_str()); });
  return functions;
}

unsigned Kernels::blocks_for(std::int64_t work) const {
  const std::int64_t needed = (work + kThreads - 1) / kThreads;
  const std::int64_t filling = static_cast<std::int64_t>(processors_) * blocks_per_processor_;
  return static_cast<unsigned>(std::clamp<std::int64_t>(needed, 1, filling));
}

void Kernels::hold(CUstream stream, CUdeviceptr opened, CUdeviceptr timed_out, std::uint32_t ticket,
                   Nanoseconds limit) const {
  launch_kernel(gate_, 1, 1, stream, opened, timed_out, ticket, static_cast<std::uint64_t>(limit.value()));
}

// Two blocks per SM, so that at least one runs on SM 0: it did in each of many launches of 264 on 132 SMs.
void Kernels::stamp_clock(CUstream stream, CUdeviceptr sample, CUdeviceptr claim,
                          std::uint32_t ticket) const {
  launch_kernel(stamp_clock_, 2u * static_cast<unsigned>(processors_), 32, stream, sample, claim, ticket);
}

void Kernels::empty(CUstream stream) const { launch_kernel(empty_, 1, 32, stream); }

void Kernels::spin(CUstream stream, const Spin& spin) const {
  const bool in_time = spin.unit == Spin::Unit::nanoseconds;
  launch_kernel(in_time ? spin_nanoseconds_ : spin_cycles_, static_cast<unsigned>(spin.blocks),
                static_cast<unsigned>(spin.threads), stream, static_cast<std::uint64_t>(spin.amount));
}

// Blocks of 512 threads fill the 2048 threads of a processor of an H200, and the 1536 of others, so that no
// block of another kernel fits beside them. Each lasts 10 us, so a stream of higher priority waits that long.
void Kernels::load(CUstream stream, CUdeviceptr flags, Nanoseconds time) const {
  constexpr unsigned kLoadThreads = 512;
  constexpr Nanoseconds kBlock = microseconds(10);
  const unsigned at_once = static_cast<unsigned>(processors_) * static_cast<unsigned>(blocks_per_processor_) *
                           kThreads / kLoadThreads;
  const auto waves = static_cast<unsigned>(std::ceil(time / kBlock));
  launch_kernel(load_, at_once * std::max(1u, waves), kLoadThreads, stream, flags,
                static_cast<std::uint64_t>(kBlock.value()));
}

// The limit is for a load that cannot run beside this kernel and starts only after it.
void Kernels::await_load(CUstream stream, CUdeviceptr flags) const {
  constexpr Nanoseconds kLimit = milliseconds(1);
  launch_kernel(await_load_, 1, 1, stream, flags, static_cast<std::uint64_t>(kLimit.value()));
}

void Kernels::evict_write(CUstream stream, const MemoryRegion& buffer) const {
  const std::size_t vectors = vectors_in(buffer);
  launch_kernel(evict_write_, blocks_for(static_cast<std::int64_t>(vectors)), kThreads, stream,
                address_of(buffer), vectors);
}

void Kernels::evict_read(CUstream stream, const MemoryRegion& buffer) const {
  const std::size_t vectors = vectors_in(buffer);
  launch_kernel(evict_read_, blocks_for(static_cast<std::int64_t>(vectors)), kThreads, stream,
                address_of(buffer), vectors);
}

void Kernels::touch(CUstream stream, const MemoryRegion& region) const {
  if (region.size.value() == 0) return;
  launch_kernel(touch_, blocks_for(static_cast<std::int64_t>(vectors_in(region))), kThreads, stream,
                address_of(region), static_cast<std::size_t>(region.size.value()));
}

void Kernels::copy(CUstream stream, CUdeviceptr to, CUdeviceptr from, Bytes size) const {
  constexpr std::int64_t kVector = 16, kVectorsOfThread = 4;
  const std::int64_t threads = size.value() / (kVector * kVectorsOfThread);
  launch_kernel(copy_, blocks_for(threads), kThreads, stream, to, from,
                static_cast<std::size_t>(size.value()));
}

void Kernels::fill_random(CUstream stream, CUdeviceptr out, const Operand& operand,
                          const InputData& data) const {
  if (operand.count == 0) return;
  const auto count = static_cast<std::size_t>(operand.count);
  const unsigned blocks = blocks_for(operand.count);
  if (holds_indices(operand.dtype)) {
    launch_kernel(random_indices_[index_type(operand.dtype)], blocks, kThreads, stream, out, count,
                  static_cast<std::uint64_t>(operand.index_limit), data.seed);
  } else {
    launch_kernel(fill_random_[storage_index(operand.dtype)], blocks, kThreads, stream, out, count,
                  static_cast<int>(data.kind), data.seed, operand.non_negative, scale_of(operand, data));
  }
}

void Kernels::to_double(CUstream stream, CUdeviceptr out, CUdeviceptr in, DataType dtype,
                        std::int64_t count) const {
  if (count == 0) return;
  const CUfunction convert =
      holds_indices(dtype) ? indices_to_double_[index_type(dtype)] : to_double_[storage_index(dtype)];
  launch_kernel(convert, blocks_for(count), kThreads, stream, out, in, static_cast<std::size_t>(count));
}

CUmodule load_module(const void* binary) {
  CUmodule module = nullptr;
  const CUresult result = driver().cuModuleLoadData(&module, binary);
  switch (result) {
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION: break;
    default: check(result, "loading jitterscope's kernels"); return module;
  }
  CUdevice device = 0;  // its number is its ordinal
  check(driver().cuCtxGetDevice(&device), "finding the context's GPU");
  const auto attribute = [&](CUdevice_attribute which) {
    int value = 0;
    check(driver().cuDeviceGetAttribute(&value, which, device), "reading a GPU attribute");
    return value;
  };
  throw MissingError(
      fmt::format("cuda:{} cannot run jitterscope's kernels: they were built by CUDA {}.{} for compute "
                  "capability 7.5 and newer, the "
                  "GPU has {}.{} and its driver knows CUDA up to {}.{}; update the driver, or build with an "
                  "older toolkit",
                  device, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10,
                  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                  attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR), driver().version / 1000,
                  driver().version % 1000 / 10));
}

// cuFuncLoad came with driver 550 (CUDA 12.4); before it, cuModuleGetFunction alone loads the kernel.
CUfunction find_function(CUmodule module, const char* name) {
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module, name),
        fmt::format("finding jitterscope's kernel {}", name));
  if (driver().cuFuncLoad != nullptr) {
    check(driver().cuFuncLoad(function), fmt::format("loading jitterscope's kernel {}", name));
  }
  return function;
}

}  // namespace jitterscope::cuda
