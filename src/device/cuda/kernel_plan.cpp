#include "device/cuda/kernel_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace jitterscope::cuda {
namespace {

std::string_view suffix(DataType dtype) {
  return to_string(dtype == DataType::tf32 ? DataType::f32 : dtype);  // it is stored and added up as f32
}

}  // namespace

KernelName::KernelName(KernelFile in, std::string_view base, DataType dtype)
    : file(in), name(fmt::format("{}_{}", base, suffix(dtype))) {}

std::int64_t KernelPlan::filling_blocks(const KernelName& kernel, std::int64_t items) {
  const std::int64_t needed = (items + kBlockThreads - 1) / kBlockThreads;
  return std::clamp<std::int64_t>(needed, 1, resident_blocks(kernel, kBlockThreads));
}

}  // namespace jitterscope::cuda
