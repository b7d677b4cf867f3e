#include "device/cpu/memory_in_pieces.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "base/round_up.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

AlignedMemory mapped_without_huge_pages(std::int64_t size) {
  void* const data = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw FailedError(std::string("the system refused memory in pieces: ") + std::strerror(errno));
  }
  ::madvise(data, static_cast<std::size_t>(size), MADV_NOHUGEPAGE);  // a system without them refuses
  return AlignedMemory::mapped(static_cast<std::byte*>(data), Bytes(size));
}

}  // namespace

AlignedMemory memory_in_pieces(Bytes size, std::int64_t pages_per_piece, std::uint64_t seed) {
  if (size == Bytes(0)) return {};
  const std::int64_t page = ::sysconf(_SC_PAGESIZE), piece = page * pages_per_piece;
  const std::int64_t whole = round_up(size.value(), page), pieces = round_up(whole, piece) / piece;
  require_memory(Bytes(2 * whole), "memory in pieces, and what lies between them,");
  AlignedMemory memory = mapped_without_huge_pages(whole);
  // What another program holds between the pieces, given back at the end: the system hands out frames in much
  // the order in which pages are touched.
  const AlignedMemory between = mapped_without_huge_pages(whole);
  const auto touch = [&](const AlignedMemory& pages, std::int64_t number) {
    const std::int64_t end = std::min((number + 1) * piece, whole);
    for (std::int64_t at = number * piece; at < end; at += page) {
      *const_cast<volatile std::byte*>(pages.data() + at) = std::byte{0};
    }
  };
  constexpr std::int64_t kShares = 256;  // more than there are threads
#pragma omp parallel for schedule(static)
  for (std::int64_t share = 0; share < kShares; ++share) {
    const std::int64_t first = pieces * share / kShares, last = pieces * (share + 1) / kShares;
    std::vector<std::int64_t> order(static_cast<std::size_t>(last - first));
    std::iota(order.begin(), order.end(), first);
    Random random(seed + static_cast<std::uint64_t>(share));
    shuffle(order, random);
    for (const std::int64_t number : order) {
      touch(memory, number);
      touch(between, number);
    }
  }
  return memory;
}

}  // namespace jitterscope::cpu
