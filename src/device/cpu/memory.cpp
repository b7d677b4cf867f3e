#include "device/cpu/memory.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/host.hpp"
#include "base/random.hpp"
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

namespace {

AlignedMemory mapped_without_huge_pages(std::int64_t size) {
  void* const data = ::mmap(nullptr, static_cast<std::size_t>(size), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    throw FailedError(std::string("the system refused memory in pieces: ") + std::strerror(errno));
  }
  ::madvise(data, static_cast<std::size_t>(size), MADV_NOHUGEPAGE);  // systems without huge pages refuse this
  return AlignedMemory::mapped(static_cast<std::byte*>(data), Bytes(size));
}

}  // namespace

AlignedMemory memory_in_pieces(Bytes size, std::int64_t pages_per_piece, std::uint64_t seed) {
  if (size == Bytes(0)) return {};
  const std::int64_t page = ::sysconf(_SC_PAGESIZE), piece = page * pages_per_piece;
  const std::int64_t whole = round_up(size.value(), page), pieces = round_up(whole, piece) / piece;
  require_memory(Bytes(2 * whole), "memory in pieces, and what lies between them,");
  AlignedMemory memory = mapped_without_huge_pages(whole);
  // Stands for another program's memory between the pieces, and is freed at the end. The system hands out
  // frames in much the order in which pages are touched.
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

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace jitterscope::cpu {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kMebibyte = 1 << 20;
// sysfs may name the cache of a whole host that many virtual machines share: 2 x 260 MiB on one. Beyond 1 GiB
// nothing is gained.
constexpr Bytes kLargestSweep(1024 * kMebibyte);
// The dirty state is set before each launch, which only meets its own cores' caches and their part of the
// shared one. 64 MiB take 2.4 ms (520 MiB would take 20 ms), are 2 x the last-level cache of most CPUs, and
// 16 x the private 2 MiB of two cores if that cache is far larger.
constexpr Bytes kLargestDirty(64 * kMebibyte);
constexpr Bytes kAssumedCache(32 * kMebibyte);

#if defined(__x86_64__)
bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 23 & 1u) != 0;
}
// clflush is ordered against itself and takes some 100 ns for each line; clflushopt is not ordered.
void flush_line(void* line, bool unordered) {
  if (unordered) {
    asm volatile("clflushopt (%0)" ::"r"(line) : "memory");
  } else {
    asm volatile("clflush (%0)" ::"r"(line) : "memory");
  }
}
void fence() { asm volatile("mfence" ::: "memory"); }
#elif defined(__aarch64__)
bool has_clflushopt() { return false; }
void flush_line(void* line, bool) { asm volatile("dc civac, %0" ::"r"(line) : "memory"); }
void fence() { asm volatile("dsb sy" ::: "memory"); }
#else
#error "jitterscope knows how to flush cache lines on x86-64 and AArch64 only"
#endif

void flush_part(std::byte* first, std::int64_t lines) {
  static const bool kUnordered = has_clflushopt();
  for (std::int64_t i = 0; i < lines; ++i) flush_line(first + i * kLine, kUnordered);
  fence();
}

// The asm statement uses the sum, so that the reads stay.
void read_all(std::span<const std::byte> memory) {
  const auto lines = static_cast<std::int64_t>(memory.size()) / kLine;
  std::uint64_t sum = 0;
#pragma omp parallel for reduction(+ : sum) schedule(static)
  for (std::int64_t i = 0; i < lines; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, memory.data() + i * kLine, sizeof word);
    sum += word;
  }
  asm volatile("" ::"r"(sum));
}

// Each thread writes its share, so that every core's private caches are filled too. One word makes a whole
// line modified.
void write_all(std::span<std::byte> memory) {
  const auto lines = static_cast<std::int64_t>(memory.size()) / kLine;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < lines; ++i) {
    *reinterpret_cast<volatile std::uint64_t*>(memory.data() + i * kLine) = static_cast<std::uint64_t>(i);
  }
}

}  // namespace

void flush_lines(const MemoryRegion& region) {
  const auto address = reinterpret_cast<std::uintptr_t>(region.address);
  const std::uintptr_t begin = address / kLine * kLine;
  auto* first = reinterpret_cast<std::byte*>(begin);
  const auto lines = static_cast<std::int64_t>((address - begin) + region.size.value() + kLine - 1) / kLine;
  constexpr std::int64_t kPart = 4096;  // lines: 256 KiB, so that a small operand needs one thread
#pragma omp parallel for schedule(static) if (lines > kPart)
  for (std::int64_t part = 0; part < lines; part += kPart) {
    flush_part(first + part * kLine, std::min(kPart, lines - part));
  }
}

CacheControl::CacheControl(Bytes last_level_cache)
    : last_level_cache_(last_level_cache > Bytes(0) ? last_level_cache : kAssumedCache) {}

void CacheControl::set(CacheState state, Workload& workload) {
  switch (state) {
    case CacheState::warm: return;
    case CacheState::cold: return evict(workload);
    case CacheState::dirty: return dirty(workload);
    case CacheState::produced:
      dirty(workload);
      if (!workload.produce_inputs(nullptr)) {
        throw UsageError(
            "the cache state 'produced' needs a workload that can write its own inputs: use cold or dirty");
      }
  }
}

void CacheControl::evict(Workload& workload) {
  const std::vector<MemoryRegion> regions = workload.memory();
  for (const MemoryRegion& region : regions) flush_lines(region);
  // A prepared operation names all that it touches (a spin touches nothing); other callables may touch
  // anything.
  if (!regions.empty() || dynamic_cast<PreparedOperation*>(&workload) != nullptr) return;
  read_all(buffer(std::min(kLargestSweep, last_level_cache_ * 2)));
}

void CacheControl::dirty(Workload& workload) {
  const std::vector<MemoryRegion> regions = workload.memory();
  for (const MemoryRegion& region : regions) flush_lines(region);
  const bool known = !regions.empty() || dynamic_cast<PreparedOperation*>(&workload) != nullptr;
  write_all(buffer(std::min(known ? kLargestDirty : kLargestSweep, last_level_cache_ * 2)));
}

std::span<std::byte> CacheControl::buffer(Bytes size) {
  if (buffer_.size() < size) {
    require_memory(size, "emptying the caches");
    buffer_ = AlignedMemory(size);
    // Pages never written are all the same page of zeros: reading them would evict nothing.
    write_all({buffer_.data(), static_cast<std::size_t>(size.value())});
  }
  return {buffer_.data(), static_cast<std::size_t>(size.value())};
}

}  // namespace jitterscope::cpu
