// Copies of known bytes: time must grow with them, and no memory is faster than its bus.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/quantity_text.hpp"
#include "selftest/proof_context.hpp"
#include "selftest/proof_lines.hpp"
#include "selftest/proofs.hpp"

namespace jitterscope::selftest {
namespace {

// Each is far larger than any last-level cache, which therefore shifts all three times alike.
constexpr std::int64_t kUnit = std::int64_t{256} << 20;
constexpr std::array<std::int64_t, 3> kMultiples = {1, 2, 4};

std::optional<double> number_of(const DeviceDescription& device, std::string_view key) {
  for (const Property& property : device.properties) {
    if (property.key != key) continue;
    double value = 0.0;
    const char* end = property.value.data() + property.value.size();
    if (std::from_chars(property.value.data(), end, value).ec == std::errc()) return value;
  }
  return std::nullopt;
}

// Two transfers in each cycle of the memory's clock, on all lines of the bus.
std::optional<double> bus_bytes_per_second(const DeviceDescription& device) {
  const auto bits = number_of(device, "memory_bus_bits");
  const auto clock = number_of(device, "maximum_memory_clock_mhz");
  if (!bits || !clock) return std::nullopt;
  return 2.0 * *clock * 1e6 * *bits / 8.0;
}

ProofLine proportion_line(const std::array<Nanoseconds, 3>& times) {
  constexpr double kTolerance = 0.02;
  // Differences, so that what a launch costs and what the cache still held fall out.
  const Nanoseconds first = times[1] - times[0], second = (times[2] - times[1]) / 2.0;
  const double ratio = second / first;
  return judged_line(
      "time over bytes", fmt::format("1.00 ± {:.2f}", kTolerance), fmt::format("{:.4f}", ratio),
      {ValueKind::ratio, ratio, {}, {}, around(1.0, kTolerance)}, std::abs(ratio - 1.0) <= kTolerance,
      fmt::format("slope from 512 MiB to 1 GiB over that from 256 to 512 MiB; {}, {} and {}",
                  time_text(times[0], 1e-3), time_text(times[1], 1e-3), time_text(times[2], 1e-3)));
}

ProofLine bus_line(const DeviceDescription& device, const std::array<Nanoseconds, 3>& times) {
  double fastest = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double moved = 2.0 * static_cast<double>(kUnit * kMultiples[i]);  // read and written
    fastest = std::max(fastest, moved / to_seconds(times[i]));
  }
  const auto limit = bus_bytes_per_second(device);
  if (!limit) {
    return skipped_line("bandwidth", "at most the memory bus's",
                        fmt::format("the device does not say what its memory bus can do; {} were measured",
                                    rate_text(fastest, "B/s")));
  }
  return judged_line("bandwidth", "at most " + rate_text(*limit, "B/s"), rate_text(fastest, "B/s"),
                     {ValueKind::bytes_per_second, fastest, {}, {}, ProofTarget{0.0, *limit}},
                     fastest <= *limit,
                     fmt::format("{} of what the memory bus can do", percent_text(fastest / *limit)));
}

}  // namespace

std::vector<ProofLine> prove_copies(ProofContext& context) {
  std::array<Nanoseconds, 3> times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Operation operation(Copy{.bytes = kUnit * kMultiples[i]});
    context.begin_step(i, times.size(), operation.text());
    times[i] = measure_warm_burst(context, operation).time.median;
  }
  return {proportion_line(times), bus_line(context.description(), times)};
}

}  // namespace jitterscope::selftest
