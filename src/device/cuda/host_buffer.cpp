#include "device/cuda/host_buffer.hpp"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

// Whole pages of its own: locking them locks nothing of others.
constexpr std::int64_t kPage = 4096;

void* allocate_pages(Bytes size) {
  const std::int64_t whole = (size.value() + kPage - 1) / kPage * kPage;
  void* pages = std::aligned_alloc(kPage, static_cast<std::size_t>(whole));
  if (pages == nullptr) {
    throw FailedError(
        fmt::format("the system refused {} of host memory: free some, or copy less", bytes_text(size)));
  }
  return pages;
}

}  // namespace

HostBuffer::HostBuffer(Bytes size, HostMemory memory) : size_(size) {
  switch (memory) {
    case HostMemory::pinned:
    case HostMemory::mapped: pinned_ = PinnedMemory(size); break;
    case HostMemory::pageable:
    case HostMemory::registered_anew: pageable_.reset(allocate_pages(size)); break;
    case HostMemory::registered:
      pageable_.reset(allocate_pages(size));
      registration_ = std::make_unique<Registration>(pageable_.get(), size);
      break;
  }
}

std::optional<int> numa_node(void* pointer) {
  std::error_code ignored;
  if (!std::filesystem::exists("/sys/devices/system/node/node1", ignored)) return std::nullopt;
  int node = -1;
  const long asked = syscall(SYS_get_mempolicy, &node, nullptr, 0UL, pointer, MPOL_F_NODE | MPOL_F_ADDR);
  return asked == 0 && node >= 0 ? std::optional(node) : std::nullopt;
}

}  // namespace jitterscope::cuda
