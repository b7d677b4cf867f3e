#include "finding/simulated.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "finding/evidence.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::simulated {
namespace {

Nanoseconds on_grain(double time, Nanoseconds grain, Random& random) {
  if (grain <= Nanoseconds(0)) return Nanoseconds(time);
  return Nanoseconds(std::floor(time / grain.value() + random.uniform()) * grain.value());
}

Round make_round(const Record& record, const RoundEffect& effect, Random& random) {
  Round round;
  const double clock = effect.clock * (1.0 + record.clock_noise * random.normal());
  // t = a + b/f: only a share of the time follows the clock.
  const double slowdown = 1.0 - record.clock_share + record.clock_share / clock;
  const double level =
      record.time.value() * effect.time * slowdown * (1.0 + record.round_noise * random.normal());
  for (std::int64_t i = 0; i < record.launches; ++i) {
    double time = level * (1.0 + record.launch_noise * random.normal());
    if (i == 0) time *= effect.first_launch;
    if (random.uniform() < record.spikes) time *= record.spike;
    round.launches.push_back(on_grain(time, record.grain, random));
  }
  if (record.has_clock) round.clock = record.clock * clock;
  return round;
}

void estimate(Measurement& measurement) {
  const std::vector<double> times = round_times(measurement.rounds);
  const auto interval = statistics::median_interval(times);
  const double infinity = std::numeric_limits<double>::infinity();
  measurement.time = measurement.repeatability = {
      Nanoseconds(statistics::median(times)), Nanoseconds(interval ? interval->low : -infinity),
      Nanoseconds(interval ? interval->high : infinity), static_cast<std::int64_t>(times.size())};
  if (const auto clocks = round_clocks(measurement.rounds)) {
    const auto q = statistics::quantiles(*clocks, std::vector<double>{0.5, 0.05, 0.95});
    measurement.clock = ClockEstimate{Hertz(q[0]), Hertz(q[1]), Hertz(q[2])};
  }
  std::vector<double> launches;
  for (const Round& round : measurement.rounds) {
    for (const Nanoseconds launch : round.launches) launches.push_back(launch.value());
  }
  const auto modes = statistics::find_modes(launches);
  if (modes.size() < 2) return;
  for (const auto& mode : modes) measurement.modes.push_back({Nanoseconds(mode.location), mode.weight});
}

}  // namespace

Measurement measure(const Record& record, std::uint64_t seed) {
  Random random(seed);
  Measurement measurement;
  measurement.conditions = record.conditions;
  measurement.constant.grain = record.grain;
  const bool burst = record.conditions.load == Load::burst;
  if (!burst) measurement.steadiness = Steadiness{};
  Nanoseconds now, power, thermal = milliseconds(3);
  for (std::int64_t index = 0; index < record.rounds; ++index) {
    const double idle = random.uniform();
    const double progress =
        static_cast<double>(index) / static_cast<double>(std::max<std::int64_t>(1, record.rounds - 1));
    const RoundEffect effect = record.effect ? record.effect({index, progress, idle}) : RoundEffect{};
    Round round = make_round(record, effect, random);
    round.idle_before = burst ? milliseconds(20 + 60 * idle) : Nanoseconds(0);
    now += round.idle_before;
    round.started = now;
    now += round.time() * static_cast<double>(record.launches);
    power += effect.throttled_power;
    thermal += effect.throttled_thermal;
    if (record.has_sensors) {
      round.sensors = SensorReading{};
      round.sensors->throttled_power = power;
      round.sensors->throttled_thermal = thermal;
      round.sensors->temperature = Celsius(52);
      if (effect.power_reason) round.sensors->clock_reasons.push_back("power_cap");
      if (effect.thermal_reason) round.sensors->clock_reasons.push_back("thermal");
    }
    measurement.rounds.push_back(std::move(round));
  }
  measurement.duration = now;
  estimate(measurement);
  if (measurement.time.precision() > measurement.precision_asked)
    measurement.stop_reason = StopReason::time_limit;
  return measurement;
}

Result quiet_result(std::uint64_t seed) {
  Random random(seed * 7919);
  Record record;
  record.time = microseconds(30.0 * std::pow(50.0, random.uniform()));
  record.clock = megahertz(random.uniform(1790, 1980));
  record.round_noise = random.uniform(0.0003, 0.0025);
  record.launch_noise = random.uniform(0.002, 0.01);
  record.clock_noise = random.uniform(0.0, 0.0015);
  record.clock_share = random.uniform();
  record.rounds = 10 + static_cast<std::int64_t>(random.below(31));
  std::vector<Measurement> measurements;
  for (const CacheState cache : {CacheState::warm, CacheState::cold}) {
    for (const Load load : {Load::burst, Load::sustained}) {
      record.conditions = {.cache = cache, .load = load};
      measurements.push_back(measure(record, random.next()));
    }
  }
  return result_of(std::move(measurements));
}

Result result_of(std::vector<Measurement> measurements) {
  Result result;
  result.subject = Operation::parse("matmul:m=8192,n=8192,k=8192,dtype=bf16");
  result.launch_cost = microseconds(3.1);
  result.measurements = std::move(measurements);
  return result;
}

const DeviceDescription& device() {
  static const DeviceDescription kDevice = [] {
    DeviceDescription description;
    description.id = "cuda:0";
    description.name = "NVIDIA H200";
    description.maximum_clock = megahertz(1980);
    description.power_limit = Watts(700);
    return description;
  }();
  return kDevice;
}

FindingContext context(bool on_gpu) {
  static const Calibration kCalibration;
  static const Ceilings kCeilings;
  return {device(), kCalibration, kCeilings, std::vector<std::string>{}, std::nullopt, on_gpu};
}

std::vector<Finding> with_id(const std::vector<Finding>& findings, const std::string& id) {
  std::vector<Finding> wanted;
  std::ranges::copy_if(findings, std::back_inserter(wanted), [&](const Finding& f) { return f.id == id; });
  return wanted;
}

std::optional<Value> evidence_value(const Finding& finding, const std::string& key) {
  const auto found = std::ranges::find(finding.evidence, key, &Evidence::key);
  return found == finding.evidence.end() ? std::nullopt : std::optional(found->value);
}

std::string evidence_text(const Finding& finding, const std::string& key) {
  return std::get<std::string>(evidence_value(finding, key).value_or(std::string()));
}

double evidence_number(const Finding& finding, const std::string& key) {
  const Value value = evidence_value(finding, key).value_or(std::numeric_limits<double>::quiet_NaN());
  const auto* count = std::get_if<std::int64_t>(&value);
  return count != nullptr ? static_cast<double>(*count) : std::get<double>(value);
}

double detection_rate(const std::string& id, int trials, const std::function<Result(std::uint64_t)>& make) {
  int found = 0;
  for (int seed = 1; seed <= trials; ++seed) {
    found += with_id(find_all(make(static_cast<std::uint64_t>(seed)), context()), id).empty() ? 0 : 1;
  }
  return static_cast<double>(found) / trials;
}

}  // namespace jitterscope::simulated
