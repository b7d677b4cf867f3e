#include "record/records.hpp"

#include "statistics/statistics.hpp"

namespace jitterscope {

RoundSpread round_spread(const Measurement& measurement) {
  std::vector<double> times;
  for (const Round& round : measurement.rounds) times.push_back(round.time().value());
  const double probabilities[] = {0.05, 0.95};
  const std::vector<double> ends = statistics::quantiles(times, probabilities);
  return {Nanoseconds(ends[0]), Nanoseconds(ends[1])};
}

}  // namespace jitterscope
