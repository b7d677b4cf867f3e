#include <algorithm>
#include <nlohmann/json.hpp>

#include "output/estimate_text.hpp"
#include "output/json.hpp"

namespace jitterscope {
namespace {

Json conditions_json(const Conditions& conditions) {
  return {{"cache", to_string(conditions.cache)},
          {"load", to_string(conditions.load)},
          {"data", to_string(conditions.data)},
          {"queue", to_string(conditions.queue)},
          {"fresh_data", conditions.fresh_data}};
}

Json time_json(const TimeEstimate& time) {
  Json object = Json::object();
  put(object, "median_seconds", time.median);
  if (has_interval(time)) {
    put(object, "low_seconds", time.low);
    put(object, "high_seconds", time.high);
    put(object, "relative_precision", time.precision());
  }
  object["rounds"] = time.rounds;
  return object;
}

Json clock_json(const ClockEstimate& clock) {
  Json object = Json::object();
  put(object, "median_hertz", clock.median);
  put(object, "p5_hertz", clock.low);
  put(object, "p95_hertz", clock.high);
  return object;
}

Json reference_json(const TimeAtReferenceClock& at) {
  Json object = Json::object();
  put(object, "reference_hertz", at.reference);
  put(object, "time_seconds", at.time);
  put(object, "low_seconds", at.low);
  put(object, "high_seconds", at.high);
  put(object, "fixed_part_seconds", at.fixed_part);
  put(object, "clock_share", at.clock_share);
  return object;
}

Json distribution_json(const Distribution& launches) {
  Json object = {{"values", launches.values}};
  if (launches.values == 0) return object;
  put(object, "minimum_seconds", launches.minimum);
  put(object, "p5_seconds", launches.p5);
  put(object, "p25_seconds", launches.p25);
  put(object, "median_seconds", launches.median);
  put(object, "p75_seconds", launches.p75);
  put(object, "p95_seconds", launches.p95);
  put(object, "maximum_seconds", launches.maximum);
  return object;
}

Json steadiness_json(const Steadiness& steadiness) {
  Json object = {{"verdict", identifier(to_string(steadiness.verdict))}};
  put(object, "watched_seconds", steadiness.watched);
  put(object, "settled_after_seconds", steadiness.settled_after);
  object["settled_round"] = steadiness.settled_round;
  return object;
}

Json round_json(const Round& round) {
  Json object = Json::object();
  put(object, "started_seconds", round.started);
  put(object, "idle_before_seconds", round.idle_before);
  object["launches_per_value"] = round.launches_per_value;
  put_seconds(object, "launch_seconds", round.launches);
  put(object, "clock_hertz", round.clock);
  if (round.sensors) object["sensors"] = sensors_json(*round.sensors);
  return object;
}

}  // namespace

std::string identifier(std::string_view words) {
  std::string text(words);
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

Json instrument_constant_json(const InstrumentConstant& constant) {
  Json object = Json::object();
  put(object, "value_seconds", constant.value);
  put(object, "uncertainty_seconds", constant.uncertainty);
  put(object, "grain_seconds", constant.grain);
  return object;
}

Json sensors_json(const SensorReading& sensors) {
  Json object = Json::object();
  put(object, "sm_clock_hertz", sensors.sm_clock);
  put(object, "memory_clock_hertz", sensors.memory_clock);
  put(object, "power_watts", sensors.power);
  put(object, "temperature_celsius", sensors.temperature);
  put(object, "energy_joules", sensors.energy);
  put(object, "throttled_power_seconds", sensors.throttled_power);
  put(object, "throttled_thermal_seconds", sensors.throttled_thermal);
  put(object, "throttled_brake_seconds", sensors.throttled_brake);
  if (!sensors.clock_reasons.empty()) object["clock_reasons"] = sensors.clock_reasons;
  return object;
}

Json measurement_json(const Measurement& measurement) {
  Json object = Json::object();
  object["conditions"] = conditions_json(measurement.conditions);
  object["instrument"] = to_string(measurement.instrument);
  object["constant"] = instrument_constant_json(measurement.constant);
  object["time"] = time_json(measurement.time);
  if (measurement.clock) object["clock"] = clock_json(*measurement.clock);
  if (measurement.at_reference_clock)
    object["at_reference_clock"] = reference_json(*measurement.at_reference_clock);
  put(object, "cycles", measurement.cycles);
  object["launches"] = distribution_json(measurement.launches);
  object["modes"] = Json::array();
  for (const Mode& mode : measurement.modes) {
    Json entry = Json::object();
    put(entry, "location_seconds", mode.location);
    put(entry, "weight", mode.weight);
    object["modes"].push_back(std::move(entry));
  }
  if (measurement.steadiness) object["steadiness"] = steadiness_json(*measurement.steadiness);
  object["stop_reason"] = identifier(to_string(measurement.stop_reason));
  put(object, "precision_asked", measurement.precision_asked);
  put(object, "duration_seconds", measurement.duration);
  object["rounds"] = Json::array();
  for (const Round& round : measurement.rounds) object["rounds"].push_back(round_json(round));
  return object;
}

}  // namespace jitterscope
