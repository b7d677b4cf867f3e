#include <fmt/format.h>

#include <vector>

#include "base/quantity_text.hpp"
#include "output/doctor_sections.hpp"
#include "output/estimate_text.hpp"

namespace jitterscope {
namespace {

using Status = Check::Status;

constexpr double kUsualPrecision = 0.005;  // what `run` asks for

// A median over rounds is known better than rounds are; above this the rounds are not of one kind.
constexpr double kWideSpread = 0.05;

Check events_check(const Calibration& calibration) {
  const InstrumentConstant& events = calibration.events;
  const Nanoseconds shortest = events.uncertainty / kUsualPrecision;
  const std::string sentence = fmt::format(
      "a pair of marks adds {}, which is taken off; from {} on a time is known to ±0.5 %; the timer steps by "
      "{}",
      time_with_error_text(events.value, events.uncertainty), time_text(shortest, 0.05),
      time_text(events.grain, 0.05));
  if (shortest <= microseconds(10)) return {"events", Status::good, sentence, ""};
  const Nanoseconds slope_error = calibration.graph.uncertainty;
  if (slope_error > Nanoseconds(0) && slope_error < events.uncertainty / 2) {
    return {"events", Status::limits, sentence,
            "leave --instrument at auto, which reads short launches by slopes of graphs"};
  }
  return {"events", Status::limits, sentence, "take larger operations, or repeat when the machine is quiet"};
}

Check graph_check(const Calibration& calibration) {
  const InstrumentConstant& graph = calibration.graph;
  const std::string error = time_with_error_text(graph.value, graph.uncertainty);
  const bool is_reference = graph.value == Nanoseconds(0) && graph.uncertainty == Nanoseconds(0);
  const std::string sentence =
      is_reference ? "the slope between recordings is what marks are calibrated against"
                   : fmt::format("the slope between two recordings adds {}, which is taken off", error);
  return {"graph", Status::good, sentence, ""};
}

Check result_check(const Result& result) {
  const std::string operation = to_string(result.subject);
  if (!result.failure.empty()) return {operation, Status::limits, result.failure, ""};
  if (result.measurements.empty() || result.measurements.front().rounds.empty()) {
    return {operation, Status::limits, "was not measured: interrupted", "run doctor again"};
  }
  const Measurement& measurement = result.measurements.front();
  const RoundSpread spread = round_spread(measurement);
  const double width = (spread.p95 - spread.p5) / measurement.time.median;
  const std::string rounds =
      has_interval(measurement.time) ? fmt::format(" over {} rounds", measurement.time.rounds) : "";
  const std::string sentence =
      fmt::format("{}{} by {}; 9 of 10 rounds lie within {}, {} of the median",
                  estimate_text(measurement.time), rounds, to_string(measurement.instrument),
                  time_range_text(spread.p5, spread.p95, width / 10), percent_text(width));
  if (!has_interval(measurement.time) || measurement.time.precision() > kUsualPrecision) {
    return {operation, Status::limits, sentence,
            "mend what is marked 'limits' above, or give each operation more time (run --time-limit)"};
  }
  if (width > kWideSpread) {
    return {operation, Status::limits, sentence,
            "mend what is marked 'limits' above; until then compare medians and intervals, not single runs"};
  }
  return {operation, Status::good, sentence, ""};
}

Check cache_check(const CacheProof& proof) {
  const double precision = 0.01;
  const std::string sentence =
      fmt::format("a probe takes {} after one eviction, {} after four, and {} warm",
                  time_text(proof.evicted_read, precision), time_text(proof.untouched_read, precision),
                  time_text(proof.cached_read, precision));
  if (proof.proven) return {"cold cache", Status::good, sentence + ": one eviction evicts", ""};
  return {"cold cache", Status::limits, sentence + ": this does not prove that one eviction evicts",
          "repeat when the machine is quiet; until then read cold times as no more than a bound from below"};
}

}  // namespace

std::vector<Check> noise_floor_checks(const NoiseFloor& floor) {
  std::vector<Check> checks = {events_check(floor.calibration), graph_check(floor.calibration)};
  if (floor.launch_cost) {
    checks.push_back(
        {"launch cost", Status::good,
         fmt::format("a launch costs the host {}: operations shorter than that wait for it, unless "
                     "they are queued ahead or recorded as a graph",
                     time_text(*floor.launch_cost, 0.02)),
         ""});
  }
  for (const Result& result : floor.results) checks.push_back(result_check(result));
  if (floor.cache_proof) checks.push_back(cache_check(*floor.cache_proof));
  if (floor.interrupted) checks.push_back({"noise floor", Status::limits, "interrupted", "run doctor again"});
  return checks;
}

}  // namespace jitterscope
