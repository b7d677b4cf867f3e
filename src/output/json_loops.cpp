// Loops of launches and networks in sequence, as JSON.
#include <nlohmann/json.hpp>

#include "output/json.hpp"

namespace jitterscope {
Json estimate_json(const TimeEstimate& time) {
  Json object = Json::object();
  put(object, "median_seconds", time.median);
  put(object, "low_seconds", time.low);
  put(object, "high_seconds", time.high);
  object["rounds"] = time.rounds;
  return object;
}

Json sequence_json(const SequenceMeasurement& sequence) {
  Json object = {{"instrument", to_string(sequence.instrument)},
                 {"load", to_string(Load::burst)},
                 {"queue", to_string(sequence.queue)}};
  put(object, "clock_hertz", sequence.clock);
  object["precision_asked"] = sequence.precision_asked;
  object["timed_calls"] = calls_timed(sequence);
  if (sequence.iteration.rounds > 0) object["iteration"] = estimate_json(sequence.iteration);
  object["calls"] = Json::array();
  for (const SequenceCall& call : sequence.calls) {
    Json entry = {{"name", call.name}, {"result", call.layer}};
    if (call.time.rounds > 0) entry["time"] = estimate_json(call.time);
    if (!call.kernels.empty()) entry["kernels"] = kernels_json(call.kernels);
    put(entry, "failure", call.failure);
    if (call.unwritten > 0) entry["unwritten"] = call.unwritten;
    object["calls"].push_back(std::move(entry));
  }
  return object;
}

Json iterations_json(const std::vector<IterationRun>& runs) {
  Json array = Json::array();
  for (const IterationRun& run : runs) {
    Json object = {{"count", run.count}};
    put(object, "first_seconds", run.first);
    put(object, "minimum_seconds", run.minimum);
    put(object, "mean_seconds", run.mean);
    put(object, "median_seconds", run.median);
    put(object, "maximum_seconds", run.maximum);
    put(object, "first_launch_call_seconds", run.first_launch_call);
    put(object, "host_seconds_per_launch", run.host_time);
    put(object, "throttled_power_seconds", run.throttled_power);
    put(object, "throttled_thermal_seconds", run.throttled_thermal);
    object["clocks"] = Json::array();
    for (const IterationRun::ClockPoint& point : run.clocks) {
      Json entry = {{"launch", point.launch}};
      put(entry, "hertz", point.clock);
      object["clocks"].push_back(std::move(entry));
    }
    array.push_back(std::move(object));
  }
  return array;
}

}  // namespace jitterscope
