// The process. Intervention: the operation in fresh processes. Signature: a level that is constant within a
// process; library handles, module placement, memory. It has no dose, only a spread.
#include "explain/processes.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>

#include "statistics/statistics.hpp"

namespace jitterscope::explain {

RandomFactor vary_process(const std::function<std::vector<TimeEstimate>(std::int64_t)>& measure_in_processes,
                          Nanoseconds time_limit) {
  RandomFactor factor;
  factor.id = "process";
  factor.cause = "the process";
  constexpr std::int64_t kFewest = 3, kMost = 8;
  const std::int64_t count =
      std::clamp<std::int64_t>(std::llround(time_limit / 3.0 / seconds(6)), kFewest, kMost);
  std::vector<double> medians;
  for (const TimeEstimate& time : measure_in_processes(count)) {
    if (time.median > Nanoseconds(0)) medians.push_back(std::log(time.median.value()));
  }
  factor.levels = std::ssize(medians);
  if (std::cmp_less(medians.size(), kFewest)) {
    factor.not_available = "too few fresh processes gave a time";
    return factor;
  }
  const double freedom = static_cast<double>(medians.size()) - 1.0;
  const boost::math::chi_squared distribution(freedom);
  factor.deviation = statistics::standard_deviation(medians);
  factor.low = factor.deviation * std::sqrt(freedom / boost::math::quantile(distribution, 0.975));
  factor.high = factor.deviation * std::sqrt(freedom / boost::math::quantile(distribution, 0.025));
  return factor;
}

}  // namespace jitterscope::explain
