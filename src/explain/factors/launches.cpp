// Number of launches: "my kernel is faster after 100 iterations". Intervention: shorter loops behind the same
// idle. Signature: the first launches meet an empty queue, and a clock that still rises. A loop of few
// launches is read in few steps of the timer: where one step is much of it, the mean of such readings is
// biased.
#include <fmt/format.h>

#include <cmath>

#include "base/quantity_text.hpp"
#include "explain/factors/factors.hpp"

namespace jitterscope::explain::factors {

Factor launches(const FactorContext& context) {
  constexpr Nanoseconds kLongestLoop = seconds(1);
  constexpr double kCoarse = 0.02;  // in simulation 1 us of 3 us made 10 of 12 studies name a false cause
  const bool is_known = context.launch_time > Nanoseconds(0);  // by the time that the study begins
  const std::int64_t usual = usual_launches(context.launch_time);
  Factor factor{
      .id = "launches",
      .cause = "the number of launches in the loop",
      .usual = is_known ? fmt::format("{} launches", usual) : "as many as last 5 ms",
      .remedy = "Time as many launches in a row as the program makes, or leave the first ones out."};
  const double step = is_known ? context.timer_grain / context.launch_time : 0.0;
  bool is_coarse = false;
  for (const std::int64_t count : {200, 3, 1}) {
    if (context.launch_time * static_cast<double>(count) > kLongestLoop && count > 1) continue;
    if (is_known && count == usual) continue;
    if (is_known && count < usual && step > kCoarse * std::sqrt(static_cast<double>(count))) {
      is_coarse = true;
      continue;
    }
    factor.doses.push_back(
        {fmt::format("loop of {}", count), [count](Treatment& treatment) { treatment.launches = count; }});
  }
  if (is_coarse) {
    (factor.doses.empty() ? factor.not_available : factor.note) =
        fmt::format("the timer moves in steps of {}, {} of a launch, too coarse for shorter loops",
                    time_text(context.timer_grain), percent_text(step));
  }
  return factor;
}

}  // namespace jitterscope::explain::factors
