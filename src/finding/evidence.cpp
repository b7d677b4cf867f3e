#include "finding/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace jitterscope {
namespace {

Evidence number_in(std::string_view unit, std::string_view key, double value) {
  return {fmt::format("{}_{}", key, unit), value};
}

}  // namespace

Evidence evidence(std::string_view key, Nanoseconds time) { return number_in("s", key, time.value() / 1e9); }
Evidence evidence(std::string_view key, Hertz clock) { return number_in("hz", key, clock.value()); }
Evidence evidence(std::string_view key, Watts power) { return number_in("w", key, power.value()); }
Evidence evidence(std::string_view key, Celsius temperature) {
  return number_in("celsius", key, temperature.value());
}
Evidence evidence_ratio(std::string_view key, double ratio) { return number_in("ratio", key, ratio); }
Evidence evidence_count(std::string_view key, std::int64_t count) { return {std::string(key), count}; }

std::string conditions_text(const Conditions& conditions) {
  std::string text = fmt::format("{}, {}", to_string(conditions.cache), to_string(conditions.load));
  if (conditions.queue != QueueMode::saturated) text += fmt::format(", {}", to_string(conditions.queue));
  if (conditions.fresh_data) text += ", fresh data";
  return text;
}

std::string_view clock_word(bool on_gpu) { return on_gpu ? "SM clock" : "clock"; }

std::string reference_clock_text(const Measurement& measurement) {
  if (!measurement.clock) return {};
  return fmt::format(" To compare at one clock: --reference-clock {:.0f}.",
                     measurement.clock->median.value() * 1e-6);
}

std::vector<Finding> strongest(std::vector<Candidate> candidates) {
  if (candidates.empty()) return {};
  std::ranges::stable_sort(candidates, std::ranges::greater(), &Candidate::effect);
  Finding finding = std::move(candidates.front().finding);
  if (std::isfinite(candidates.front().effect)) finding.effect = candidates.front().effect;
  finding.evidence.push_back({"conditions", conditions_text(candidates.front().conditions)});
  std::string others;
  for (auto other = candidates.begin() + 1; other != candidates.end(); ++other) {
    others += (others.empty() ? "" : "; ") + conditions_text(other->conditions);
    const std::vector<FindingPlace>& places = other->finding.places;
    finding.places.insert(finding.places.end(), places.begin(), places.end());
  }
  if (!others.empty()) finding.evidence.push_back({"also_in", others});
  return {std::move(finding)};
}

}  // namespace jitterscope
