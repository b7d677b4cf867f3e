#include "device/cpu/known_cycles.hpp"

#include <algorithm>
#include <chrono>

namespace jitterscope::cpu {
namespace {

// A chain of adds, each of which needs the one before: one cycle each on every x86-64 and AArch64 core
// of the last 15 years. Both operands are registers: Golden Cove and later add small constants at
// renaming, in no time at all.
#if defined(__x86_64__)
inline void chain_of_64(std::uint64_t& sum, std::uint64_t addend) {
  asm volatile(".rept 64\n\tadd %1, %0\n\t.endr" : "+r"(sum) : "r"(addend) : "cc");
}
inline void chain_of_1(std::uint64_t& sum, std::uint64_t addend) {
  asm volatile("add %1, %0" : "+r"(sum) : "r"(addend) : "cc");
}
#elif defined(__aarch64__)
inline void chain_of_64(std::uint64_t& sum, std::uint64_t addend) {
  asm volatile(".rept 64\n\tadd %0, %0, %1\n\t.endr" : "+r"(sum) : "r"(addend));
}
inline void chain_of_1(std::uint64_t& sum, std::uint64_t addend) {
  asm volatile("add %0, %0, %1" : "+r"(sum) : "r"(addend));
}
#else
inline void chain_of_1(std::uint64_t& sum, std::uint64_t addend) {
  sum += addend;
  asm volatile("" : "+r"(sum));
}
inline void chain_of_64(std::uint64_t& sum, std::uint64_t addend) {
  for (int i = 0; i < 64; ++i) chain_of_1(sum, addend);
}
#endif

using Clock = std::chrono::steady_clock;

double nanoseconds_of(Clock::duration duration) {
  return std::chrono::duration<double, std::nano>(duration).count();
}

// What the two readings of the clock themselves take: some 20 ns of the 12 us that are timed.
double reading_time() {
  double shortest = 1e9;
  for (int i = 0; i < 64; ++i) {
    const Clock::time_point begin = Clock::now();
    shortest = std::min(shortest, nanoseconds_of(Clock::now() - begin));
  }
  return shortest;
}

}  // namespace

void spend_cycles(std::int64_t cycles) {
  std::uint64_t sum = 0;
  for (std::int64_t i = cycles / 64; i > 0; --i) chain_of_64(sum, 3);
  for (std::int64_t i = cycles % 64; i > 0; --i) chain_of_1(sum, 3);
}

Hertz time_known_cycles() {
  static const double kReading = reading_time();
  constexpr std::int64_t kCycles = 40'000;
  // The shortest of three: an interrupt lengthens one of them, and never shortens any.
  double shortest = 1e18;
  for (int i = 0; i < 3; ++i) {
    const Clock::time_point begin = Clock::now();
    spend_cycles(kCycles);
    shortest = std::min(shortest, nanoseconds_of(Clock::now() - begin));
  }
  return Hertz(static_cast<double>(kCycles) / (shortest - kReading) * 1e9);
}

}  // namespace jitterscope::cpu
