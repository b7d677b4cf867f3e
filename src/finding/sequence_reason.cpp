#include "finding/sequence_reason.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {
namespace {

// CUPTI and the instruments of single operations agree within 0.1 us (docs/benchmarks.md), and two processes
// within 0.3 %: what is less is no difference.
constexpr Nanoseconds kInstruments = microseconds(0.1);
constexpr double kProcesses = 0.003;

// How much of a time follows the SM clock: by the fit over rounds where there is one, else all of what
// computes and nothing of what moves memory. 10 FLOP per byte part the two on every GPU made lately.
double clock_share(const Result& result, const Measurement& alone) {
  constexpr double kBalance = 10.0;
  if (alone.at_reference_clock) return std::clamp(alone.at_reference_clock->clock_share, 0.0, 1.0);
  return result.flops > kBalance * static_cast<double>(result.bytes.value()) ? 1.0 : 0.0;
}

/// The time alone as it would be at another clock.
Nanoseconds at_clock(const Result& result, const Measurement& alone, const std::optional<Hertz>& clock) {
  if (!clock || !alone.clock) return alone.time.median;
  const double share = clock_share(result, alone);
  return alone.time.median * (1.0 - share + share * (alone.clock->median / *clock));
}

bool is_nothing(Nanoseconds in_place, Nanoseconds alone) {
  const Nanoseconds difference(std::abs((in_place - alone).value()));
  return difference <= kInstruments + alone * kProcesses;
}

struct Nearest {
  const Measurement* alone = nullptr;
  Nanoseconds expected;
};

Nearest nearest_condition(const Result& result, Nanoseconds in_place, const std::optional<Hertz>& clock) {
  Nearest nearest;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.time.rounds == 0) continue;
    const Nanoseconds expected = at_clock(result, measurement, clock);
    const auto distance = [&](Nanoseconds time) { return std::abs((time - in_place).value()); };
    if (nearest.alone == nullptr || distance(expected) < distance(nearest.expected)) {
      nearest = {&measurement, expected};
    }
  }
  return nearest;
}

std::string clock_clause(const Nearest& nearest, const std::optional<Hertz>& clock) {
  const double change = nearest.expected / nearest.alone->time.median - 1.0;
  if (!clock || std::abs(change) < kProcesses) return {};
  return fmt::format("clock {} against {} alone: {}", clock_text(*clock),
                     clock_text(nearest.alone->clock->median), change_text(change));
}

std::string reason_for(const LayerInSequence& layer, const Nearest& nearest,
                       const std::optional<Hertz>& clock) {
  std::vector<std::string> clauses = {fmt::format("as {}", to_string(nearest.alone->conditions.cache)),
                                      clock_clause(nearest, clock)};
  if (!is_nothing(layer.median, nearest.expected)) {
    clauses.push_back(fmt::format("not explained: {}", change_text(layer.median / nearest.expected - 1.0)));
  }
  std::erase(clauses, std::string());
  return joined(clauses, "; ");
}

}  // namespace

std::vector<LayerInSequence> layers_in_sequence(const RunRecord& record) {
  std::vector<LayerInSequence> layers;
  if (!record.sequence) return layers;
  for (std::size_t index = 0; index < record.results.size(); ++index) {
    std::vector<double> times;
    for (const SequenceCall& call : record.sequence->calls) {
      if (call.layer == index && call.time.rounds > 0) times.push_back(call.time.median.value());
    }
    if (times.empty()) continue;
    const auto [fastest, slowest] = std::ranges::minmax(times);
    LayerInSequence layer{.result = index,
                          .calls = std::ssize(times),
                          .median = Nanoseconds(statistics::median(times)),
                          .fastest = Nanoseconds(fastest),
                          .slowest = Nanoseconds(slowest),
                          .nearest = {},
                          .reason = ""};
    const Nearest nearest = nearest_condition(record.results[index], layer.median, record.sequence->clock);
    if (nearest.alone != nullptr) {
      layer.nearest = nearest.alone->conditions;
      layer.difference = layer.median / nearest.alone->time.median - 1.0;
      layer.reason = reason_for(layer, nearest, record.sequence->clock);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace jitterscope
