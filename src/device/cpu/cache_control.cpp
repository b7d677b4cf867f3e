#include "device/cpu/cache_control.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

constexpr std::int64_t kLine = 64;
constexpr std::int64_t kMebibyte = 1 << 20;
// sysfs may name the cache of a whole host, shared by many virtual machines: 2 x 260 MiB on one. Beyond
// 1 GiB nothing is gained.
constexpr Bytes kLargestSweep(1024 * kMebibyte);
// The dirty state is set before each launch, and what a launch meets is what its own cores' caches and
// their part of the shared one hold. 64 MiB take 2.4 ms (520 MiB would take 20), are 2 x the last-level
// cache of most CPUs, and 16 x the private 2 MiB of two cores where that is far larger.
constexpr Bytes kLargestDirty(64 * kMebibyte);
constexpr Bytes kAssumedCache(32 * kMebibyte);

#if defined(__x86_64__)
bool has_clflushopt() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 23 & 1u) != 0;
}
// clflush is ordered against itself and takes some 100 ns for each line; clflushopt is not.
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

// The sum is handed to the compiler as used, so that the reads stay.
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

// Each thread writes its share, so that the private caches of every core are filled too. One word makes
// a whole line modified.
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
  // A prepared operation says all that it touches (a spin touches nothing); another callable may touch
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
