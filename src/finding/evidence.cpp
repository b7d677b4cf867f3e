#include "finding/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace jitterscope {
namespace {

Property number(std::string_view key, std::string_view unit, double value) {
  return {fmt::format("{}_{}", key, unit), fmt::format("{:.9g}", value)};
}

}  // namespace

Property evidence(std::string_view key, Nanoseconds time) { return number(key, "s", to_seconds(time)); }
Property evidence(std::string_view key, Hertz clock) { return number(key, "hz", clock.value()); }
Property evidence(std::string_view key, Watts power) { return number(key, "w", power.value()); }
Property evidence(std::string_view key, Celsius temperature) {
  return number(key, "celsius", temperature.value());
}
Property evidence_ratio(std::string_view key, double ratio) { return number(key, "ratio", ratio); }
Property evidence_count(std::string_view key, std::int64_t count) {
  return {std::string(key), fmt::format("{}", count)};
}

std::string conditions_text(const Conditions& conditions) {
  std::string text = fmt::format("{}, {}", to_string(conditions.cache), to_string(conditions.load));
  if (conditions.queue != QueueMode::saturated) text += fmt::format(", {}", to_string(conditions.queue));
  if (conditions.fresh_data) text += ", fresh data";
  return text;
}

std::string_view clock_word(bool on_gpu) { return on_gpu ? "SM clock" : "clock"; }

std::vector<Finding> strongest(std::vector<Candidate> candidates) {
  if (candidates.empty()) return {};
  std::ranges::stable_sort(candidates, std::ranges::greater(), &Candidate::effect);
  Finding finding = std::move(candidates.front().finding);
  if (std::isfinite(candidates.front().effect)) finding.effect = candidates.front().effect;
  finding.evidence.push_back({"conditions", conditions_text(candidates.front().conditions)});
  std::string others;
  for (auto other = candidates.begin() + 1; other != candidates.end(); ++other) {
    others += (others.empty() ? "" : "; ") + conditions_text(other->conditions);
  }
  if (!others.empty()) finding.evidence.push_back({"also_in", others});
  return {std::move(finding)};
}

}  // namespace jitterscope
