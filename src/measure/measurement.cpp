#include "jitterscope/measurement.hpp"

#include <limits>

#include "statistics/statistics.hpp"

namespace jitterscope {

std::string_view to_string(Load load) { return load == Load::burst ? "burst" : "sustained"; }

std::string_view to_string(QueueMode mode) {
  switch (mode) {
    case QueueMode::saturated: return "saturated";
    case QueueMode::eager: return "eager";
    case QueueMode::graph: return "graph";
  }
  return "";
}

std::string_view to_string(Instrument instrument) {
  switch (instrument) {
    case Instrument::events: return "events";
    case Instrument::graph: return "graph";
    case Instrument::cupti: return "cupti";
    case Instrument::host: return "host";
  }
  return "";
}

std::string_view to_string(Steadiness::Verdict verdict) {
  switch (verdict) {
    case Steadiness::Verdict::steady: return "steady";
    case Steadiness::Verdict::warming_up: return "warming up";
    case Steadiness::Verdict::slowing_down: return "slowing down";
    case Steadiness::Verdict::never_steady: return "never steady";
  }
  return "";
}

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::precision: return "precision";
    case StopReason::time_limit: return "time limit";
    case StopReason::interrupted: return "interrupted";
  }
  return "";
}

Nanoseconds Round::time() const {
  std::vector<double> values;
  values.reserve(launches.size());
  for (const Nanoseconds launch : launches) values.push_back(launch.value());
  return Nanoseconds(statistics::median(values));
}

double TimeEstimate::precision() const {
  // No pair of order statistics of fewer than 6 rounds holds the median with 95 %.
  constexpr std::int64_t kLeastRounds = 6;
  if (rounds < kLeastRounds || !(low < high || low == high) || median.value() <= 0) {
    return std::numeric_limits<double>::infinity();
  }
  return (high - low) / median / 2.0;
}

}  // namespace jitterscope
