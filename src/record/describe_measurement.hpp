// Describes a measurement, its device and its environment for files (see values.hpp).
#pragma once

#include <limits>

#include "measure/run_record.hpp"
#include "record/values.hpp"
#include "record/words.hpp"

namespace jitterscope {

template <class Fields>
void describe(Fields& fields, Described<Fields, LibraryInfo>& library) {
  fields("name", library.name);
  fields("version", library.version);
  fields("path", library.path);
  fields("problem", library.problem);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DeviceListing>& listing) {
  fields("id", listing.id);
  fields("name", listing.name);
  fields("problem", listing.problem);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Check>& check) {
  fields("subject", check.subject);
  fields("status", check.status);
  fields("sentence", check.sentence);
  fields("remedy", check.remedy);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DeviceCapabilities>& can) {
  fields("is_host", can.is_host);
  fields("is_simulated", can.is_simulated);
  fields("launches_return_early", can.launches_return_early);
  fields("launches_have_blocks", can.launches_have_blocks);
  fields("chains_have_streams", can.chains_have_streams);
  fields("marks_on_device", can.marks_on_device);
  fields("traces_kernels", can.traces_kernels);
  fields("owns_last_level_cache", can.owns_last_level_cache);
  fields("copies_depend_on_data", can.copies_depend_on_data);
  fields("operator_outputs_stay", can.operator_outputs_stay);
  fields("fast_layout", can.fast_layout);
  fields("pytorch_device", can.pytorch_device);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, LargeWork>& work) {
  fields("copy_bytes", work.copy);
  fields("product", work.product);
  fields("slow_type", work.slow_type);
  fields("product_in_slow_type", work.product_in_slow_type);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, DeviceDescription>& device) {
  fields("id", device.id);
  fields("name", device.name);
  fields("uuid", device.uuid);
  fields("processors", device.processors);
  fields("memory_total_bytes", device.memory_total);
  fields("memory_free_bytes", device.memory_free);
  fields("last_level_cache_bytes", device.last_level_cache);
  fields("maximum_clock_hertz", device.maximum_clock);
  fields("power_limit_watts", device.power_limit);
  fields("slowdown_celsius", device.slowdown_temperature);
  fields("data_types", device.data_types);
  fields("further_types", device.further_types);
  fields("capabilities", device.capabilities);
  fields("large_work", device.large_work);
  fields("libraries", device.libraries);
  fields("properties", device.properties);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, SensorReading>& sensors) {
  fields("sm_clock_hertz", sensors.sm_clock);
  fields("memory_clock_hertz", sensors.memory_clock);
  fields("power_watts", sensors.power);
  fields("temperature_celsius", sensors.temperature);
  fields("energy_joules", sensors.energy);
  fields("throttled_power_seconds", sensors.throttled_power);
  fields("throttled_thermal_seconds", sensors.throttled_thermal);
  fields("throttled_brake_seconds", sensors.throttled_brake);
  fields.where(!sensors.clock_reasons.empty(), "clock_reasons", sensors.clock_reasons);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Environment>& environment) {
  fields("tool_version", environment.tool_version);
  fields("command_line", environment.command_line);
  fields("time", environment.time);
  fields("host", environment.host);
}

// Below: a measurement with its conditions, rounds and estimates.

/// Writes "unknown" if the kind of data is not known, such as a callable's operands.
template <class Fields>
void describe_data(Fields& fields, Described<Fields, std::optional<DataKind>>& data) {
  std::string word(data ? to_string(*data) : kUnknownData);
  fields("data", word);
  if constexpr (!Fields::kWrites) {
    if (word == kUnknownData) {
      data.reset();
    } else {
      fields("data", data);
    }
  }
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Conditions>& conditions) {
  fields("cache", conditions.cache);
  fields("load", conditions.load);
  describe_data(fields, conditions.data);
  fields("queue", conditions.queue);
  fields("fresh_data", conditions.fresh_data);
  fields("locked_clock_hertz", conditions.locked_clock);
  fields("placement", conditions.placement);
  fields("seed", conditions.seed);
}

/// Leaves out the interval if there is none.
template <class Fields>
void describe(Fields& fields, Described<Fields, TimeEstimate>& time) {
  const bool is_known = has_interval(time);
  fields("median_seconds", time.median);
  fields.where(is_known, "low_seconds", time.low);
  fields.where(is_known, "high_seconds", time.high);
  fields.derived("relative_precision", time.precision());
  fields("rounds", time.rounds);
  if constexpr (!Fields::kWrites) {
    if (fields.has("low_seconds") && fields.has("high_seconds")) return;
    // Without an interval in the file, few rounds get the median as both ends, as the estimator does. Many
    // rounds get NaN: an interval of width 0 would claim that the median is exact.
    time.low = time.high = time.median;
    if (has_interval(time)) time.low = time.high = Nanoseconds(std::numeric_limits<double>::quiet_NaN());
  }
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Uncertainty>& uncertainty) {
  fields("rounds_seconds", uncertainty.rounds);
  fields("processes_seconds", uncertainty.processes);
  fields("instrument_seconds", uncertainty.instrument);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ProcessVariation>& variation) {
  fields("placed", variation.placed);
  fields("fixed", variation.fixed);
  fields("degrees_of_freedom", variation.degrees_of_freedom);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, InstrumentConstant>& constant) {
  fields("value_seconds", constant.value);
  fields("uncertainty_seconds", constant.uncertainty);
  fields("grain_seconds", constant.grain);
  fields("scatter_seconds", constant.scatter);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ClockEstimate>& clock) {
  fields("median_hertz", clock.median);
  fields("p5_hertz", clock.low);
  fields("p95_hertz", clock.high);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, TimeAtReferenceClock>& at) {
  fields("reference_hertz", at.reference);
  fields("time_seconds", at.time);
  fields("low_seconds", at.low);
  fields("high_seconds", at.high);
  fields("fixed_part_seconds", at.fixed_part);
  fields("clock_share", at.clock_share);
  fields("clock_share_error", at.clock_share_error);
  fields("extrapolated", at.extrapolated);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Distribution>& launches) {
  fields("values", launches.values);
  const bool any = launches.values != 0;
  fields.where(any, "minimum_seconds", launches.minimum);
  fields.where(any, "p5_seconds", launches.p5);
  fields.where(any, "p25_seconds", launches.p25);
  fields.where(any, "median_seconds", launches.median);
  fields.where(any, "p75_seconds", launches.p75);
  fields.where(any, "p95_seconds", launches.p95);
  fields.where(any, "maximum_seconds", launches.maximum);
  fields.where(any, "mean_seconds", launches.mean);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Mode>& mode) {
  fields("location_seconds", mode.location);
  fields("weight", mode.weight);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Recurrence>& recurrence) {
  fields("period", recurrence.period);
  fields("slow", recurrence.slow);
  fields("fast_seconds", recurrence.fast_time);
  fields("slow_seconds", recurrence.slow_time);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Steadiness>& steadiness) {
  fields("verdict", steadiness.verdict);
  fields("watched_seconds", steadiness.watched);
  fields("settled_after_seconds", steadiness.settled_after);
  fields("settled_round", steadiness.settled_round);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Round>& round) {
  constexpr std::int64_t kMostLaunches = 1'000'000'000;
  fields("started_seconds", round.started);
  fields("idle_before_seconds", round.idle_before);
  fields("launches_per_value", round.launches_per_value);
  fields.check(round.launches_per_value >= 1 && round.launches_per_value <= kMostLaunches,
               "launches_per_value", "a number of launches, at least 1,");
  fields("launch_seconds", round.launches);
  fields("grain_seconds", round.grain);
  fields("taken_by_others_seconds", round.taken_by_others);
  fields.where(!round.calls.empty(), "call_seconds", round.calls);
  fields.where(!round.calls.empty(), "first_call", round.first_call);
  fields.where(round.block != Round().block, "block", round.block);
  fields.where(round.placement != 0, "placement", round.placement);
  fields.where(round.process != 0, "process", round.process);
  fields("clock_hertz", round.clock);
  fields("sensors", round.sensors);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, SleepingClock>& clock) {
  fields("woken_for_seconds", clock.woken_for);
  fields("time_asleep_seconds", clock.time_asleep);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, ProcessTime>& process) {
  fields("median_seconds", process.median);
  fields("clock_hertz", process.clock);
  fields("cycles", process.cycles);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Measurement>& measurement) {
  fields("conditions", measurement.conditions);
  fields("instrument", measurement.instrument);
  fields("constant", measurement.constant);
  fields("time", measurement.time);
  // Older files have only `time`, whose interval is what is now called repeatability.
  if constexpr (!Fields::kWrites) measurement.repeatability = measurement.time;
  fields.where(!measurement.processes.empty(), "processes", measurement.processes);
  fields("repeatability", measurement.repeatability);
  fields("uncertainty", measurement.uncertainty);
  fields("process_variation", measurement.process_variation);
  fields("is_placed_anew", measurement.is_placed_anew);
  fields("sleeping_clock", measurement.sleeping_clock);
  fields("clock", measurement.clock);
  fields("at_reference_clock", measurement.at_reference_clock);
  fields("cycles", measurement.cycles);
  fields("launches", measurement.launches);
  fields("modes", measurement.modes);
  fields("recurrence", measurement.recurrence);
  fields.where(measurement.lost_rounds != 0, "lost_rounds", measurement.lost_rounds);
  fields("steadiness", measurement.steadiness);
  fields("stop_reason", measurement.stop_reason);
  fields("precision_asked", measurement.precision_asked);
  fields("reference_clock_asked_hertz", measurement.reference_clock_asked);
  fields("duration_seconds", measurement.duration);
  fields("rounds", measurement.rounds);
}

}  // namespace jitterscope
