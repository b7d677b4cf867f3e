#include "device/cuda/host_buffer.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/memory_nodes.hpp"
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

HostBuffer::HostBuffer(Bytes size, HostMemory memory, std::optional<int> node) : size_(size) {
  const MemoryFromNode from(node);
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
  // The system takes a page from its node when it is touched first.
  if (node && pageable_) std::memset(pageable_.get(), 0, static_cast<std::size_t>(size.value()));
}

}  // namespace jitterscope::cuda
