#include "finding/finding.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// In the order of display: the largest effects on time come first.
constexpr std::array<Detector, 23> kDetectors = {find_only_moved,
                                                 find_recurring,
                                                 find_tail,
                                                 find_iteration_count,
                                                 find_engine_ignored,
                                                 find_no_steady_state,
                                                 find_power_cap,
                                                 find_sustained_differs,
                                                 find_thermal,
                                                 find_drift,
                                                 find_idle_ramp,
                                                 find_core_taken,
                                                 find_device_taken,
                                                 find_bimodal,
                                                 find_imprecise,
                                                 find_zeros,
                                                 find_timer_grain,
                                                 find_instrument,
                                                 find_launch_bound,
                                                 find_pageable,
                                                 find_waits_for_gpu,
                                                 find_lost_rounds,
                                                 find_clock_below_maximum};
constexpr std::array<MachineDetector, 3> kMachineDetectors = {find_other_process, find_other_cudnn,
                                                              find_cold_not_proven};

void append(std::vector<Finding>& all, std::vector<Finding> found) {
  for (Finding& finding : found) all.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> find_all(const Result& result, const FindingContext& context) {
  std::vector<Finding> all;
  for (const Detector detector : kDetectors) append(all, detector(result, context));
  return all;
}

std::vector<Finding> machine_findings(const FindingContext& context) {
  std::vector<Finding> all;
  for (const MachineDetector detector : kMachineDetectors) append(all, detector(context));
  return all;
}

namespace {

// CUPTI and the instruments of single operations agree within 0.1 us (docs/evidence/benchmarks.md), and two
// processes within 0.3 %; smaller differences are ignored.
constexpr Nanoseconds kInstruments = microseconds(0.1);
constexpr double kProcesses = 0.003;

// Share of the time that follows the SM clock: from the fit over rounds if there is one; else 1 for
// compute-bound and 0 for memory-bound operations. 10 FLOP per byte separates the two on all recent GPUs.
double clock_share(const Result& result, const Measurement& alone) {
  constexpr double kBalance = 10.0;
  if (alone.at_reference_clock) return alone.at_reference_clock->clock_share;
  return result.flops > kBalance * static_cast<double>(result.bytes.value()) ? 1.0 : 0.0;
}

/// Scales the time of the single layer to another clock.
Nanoseconds at_clock(const Result& result, const Measurement& alone, const std::optional<Hertz>& clock) {
  if (!clock || !alone.clock) return alone.time.median;
  const double share = clock_share(result, alone);
  return alone.time.median * (1.0 - share + share * (alone.clock->median / *clock));
}

Nanoseconds distance(Nanoseconds a, Nanoseconds b) { return Nanoseconds(std::abs((a - b).value())); }

// Infinite if there is no interval: then no distance is a difference.
Nanoseconds half_width(const TimeEstimate& time) { return time.median * time.precision(); }

bool is_nothing(const TimeEstimate& in_place, const TimeEstimate& alone, Nanoseconds expected) {
  const Nanoseconds known_within = half_width(in_place) + half_width(alone);
  return distance(in_place.median, expected) <= kInstruments + expected * kProcesses + known_within;
}

struct Nearest {
  const Measurement* alone = nullptr;
  Nanoseconds expected;
};

// The clock is that of the whole pass, and a layer may have run at another. So it is only used if there is a
// difference to explain and it makes that smaller.
Nanoseconds expected_time(const Result& result, const Measurement& alone, const TimeEstimate& in_place,
                          const std::optional<Hertz>& clock) {
  const Nanoseconds unchanged = alone.time.median;
  if (is_nothing(in_place, alone.time, unchanged)) return unchanged;
  const Nanoseconds scaled = at_clock(result, alone, clock);
  return distance(scaled, in_place.median) < distance(unchanged, in_place.median) ? scaled : unchanged;
}

Nearest nearest_condition(const Result& result, const TimeEstimate& in_place,
                          const std::optional<Hertz>& clock) {
  Nearest nearest;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.time.rounds == 0) continue;
    const Nanoseconds expected = expected_time(result, measurement, in_place, clock);
    if (nearest.alone == nullptr ||
        distance(expected, in_place.median) < distance(nearest.expected, in_place.median)) {
      nearest = {&measurement, expected};
    }
  }
  return nearest;
}

std::string clock_clause(const Nearest& nearest, const std::optional<Hertz>& clock) {
  const double change = nearest.expected / nearest.alone->time.median - 1.0;
  if (!clock || std::abs(change) < kProcesses) return {};
  return fmt::format("the network's clock {} against {} alone: {}", clock_text(*clock),
                     clock_text(nearest.alone->clock->median), change_text(change));
}

std::string reason_for(const LayerInSequence& layer, const Nearest& nearest,
                       const std::optional<Hertz>& clock) {
  std::vector<std::string> clauses = {fmt::format("as {}", to_string(nearest.alone->conditions.cache)),
                                      clock_clause(nearest, clock)};
  if (!is_nothing(layer.in_place, nearest.alone->time, nearest.expected)) {
    const double rest = layer.in_place.median / nearest.expected - 1.0;
    clauses.push_back(fmt::format("not explained: {}", change_text(rest)));
  }
  std::erase(clauses, std::string());
  return joined(clauses, "; ");
}

// Combines a layer's calls in the network, each of which has its own time.
TimeEstimate typical(const std::vector<TimeEstimate>& calls) {
  const auto median_of = [&](Nanoseconds TimeEstimate::*bound) {
    std::vector<double> values;
    for (const TimeEstimate& call : calls) values.push_back((call.*bound).value());
    return Nanoseconds(statistics::median(values));
  };
  const auto fewest = std::ranges::min_element(calls, {}, &TimeEstimate::rounds);
  return {median_of(&TimeEstimate::median), median_of(&TimeEstimate::low), median_of(&TimeEstimate::high),
          fewest->rounds};
}

}  // namespace

std::vector<LayerInSequence> layers_in_sequence(const RunRecord& record) {
  std::vector<LayerInSequence> layers;
  if (!record.sequence) return layers;
  for (std::size_t index = 0; index < record.entries.size(); ++index) {
    std::vector<TimeEstimate> calls;
    for (const SequenceCall& call : record.sequence->calls) {
      if (call.layer == index && call.time.rounds > 0) calls.push_back(call.time);
    }
    if (calls.empty()) continue;
    const auto [fastest, slowest] = std::ranges::minmax(calls, {}, &TimeEstimate::median);
    LayerInSequence layer{.result = index,
                          .calls = std::ssize(calls),
                          .in_place = typical(calls),
                          .fastest = fastest.median,
                          .slowest = slowest.median,
                          .nearest = {},
                          .reason = ""};
    const Nearest nearest =
        nearest_condition(record.entries[index].result, layer.in_place, record.sequence->clock);
    if (nearest.alone != nullptr) {
      layer.nearest = nearest.alone->conditions;
      layer.difference = layer.in_place.median / nearest.alone->time.median - 1.0;
      layer.reason = reason_for(layer, nearest, record.sequence->clock);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace jitterscope
