// Records as a device would give them, with known effects: what detectors are judged on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "finding/finding.hpp"

namespace jitterscope::simulated {

/// What an effect may change of one round.
struct RoundEffect {
  double time = 1.0, clock = 1.0, first_launch = 1.0;
  bool power_reason = false, thermal_reason = false;
  Nanoseconds throttled_power = {},
              throttled_thermal = {};  ///< growth of the counters since the round before
};
/// Round index, the share of the record gone by, and where the idle lay between shortest (0) and longest (1).
struct RoundPosition {
  std::int64_t index;
  double progress, idle;
};
using Effect = std::function<RoundEffect(const RoundPosition&)>;

struct Record {
  Conditions conditions = {};
  Nanoseconds time = milliseconds(1.368);
  Hertz clock = megahertz(1612);
  std::int64_t rounds = 25, launches = 20;
  double round_noise = 0.0010, launch_noise = 0.004;  ///< relative standard deviations
  double clock_noise = 0.0010, clock_share = 0.8;     ///< share of the time that follows the clock
  double spikes = 0.01, spike = 1.1;                  ///< share of launches that take so many times as long
  Nanoseconds grain = Nanoseconds(32);
  bool has_clock = true, has_sensors = true;
  Effect effect = {};
};
Measurement measure(const Record& record, std::uint64_t seed);

/// Warm and cold, burst and sustained, of one operation on a quiet H200; levels and noise drawn from the
/// seed.
Result quiet_result(std::uint64_t seed);
Result result_of(std::vector<Measurement> measurements);

/// An H200, nobody else on it.
const DeviceDescription& device();
FindingContext context(bool on_gpu = true);

std::vector<Finding> with_id(const std::vector<Finding>& findings, const std::string& id);
/// Value of a piece of evidence as a number; NaN where it is not there.
double evidence_number(const Finding& finding, const std::string& key);
std::string evidence_text(const Finding& finding, const std::string& key);
std::optional<Value> evidence_value(const Finding& finding, const std::string& key);

/// Share of the seeds 1…trials whose result has a finding of that id.
double detection_rate(const std::string& id, int trials, const std::function<Result(std::uint64_t)>& make);

}  // namespace jitterscope::simulated
