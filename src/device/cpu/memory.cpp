#include "device/cpu/memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>

#include "device/can_run.hpp"
#include "device/cpu/machine.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

constexpr std::int64_t kAlignment = 64;

double gibibytes(Bytes size) { return static_cast<double>(size.value()) / (1 << 30); }

}  // namespace

AlignedMemory::AlignedMemory(Bytes size) : size_((size.value() + kAlignment - 1) / kAlignment * kAlignment) {
  if (size_ == Bytes(0)) return;
  data_.reset(
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, static_cast<std::size_t>(size_.value()))));
  if (data_ == nullptr) {
    throw FailedError(fmt::format(
        "the system refused {:.3f} GiB of memory: free some, or take a smaller operation", gibibytes(size_)));
  }
}

AlignedMemory AlignedMemory::mapped(std::byte* data, Bytes size) {
  AlignedMemory memory;
  memory.data_ = std::unique_ptr<std::byte[], Free>(data, Free{size});
  memory.size_ = size;
  return memory;
}

void AlignedMemory::Free::operator()(std::byte* data) const {
  if (mapped == Bytes(0)) return std::free(data);
  ::munmap(data, static_cast<std::size_t>(mapped.value()));
}

void require_memory(Bytes size, std::string_view purpose) {
  jitterscope::require_memory(purpose, size, available_memory(), "cpu");
}

}  // namespace jitterscope::cpu
