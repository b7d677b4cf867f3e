#include "experiment/judgement.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "experiment/kept_rounds.hpp"
#include "experiment/processes.hpp"

namespace jitterscope {
namespace {

using statistics::Effect;

constexpr double kChanceOfGate = 0.02;  // of a slowdown or a speed-up where there is neither

// A gate's case is decided by an interval within the margin, or by one of 98 % that excludes none.
std::optional<std::int64_t> processes_to_decide(const Effect& effect, double margin, Judging judging) {
  const double distance = std::abs(effect.value), limit = std::log1p(margin);
  if (judging == Judging::comparison) return statistics::processes_to_decide(effect, margin);
  return distance < limit ? statistics::processes_within(effect, limit - distance)
                          : statistics::processes_within(effect, distance, 1.0 - kChanceOfGate);
}

// Of a comparison or a total.
template <class Compared>
void set_verdict(Compared& compared, const Effect& effect, double margin, double resolution, bool is_shown,
                 Judging judging) {
  using statistics::EffectVerdict;
  const bool is_beyond = std::abs(effect.value) >= std::log1p(margin) && effect.p_value <= kChanceOfGate;
  const bool counts = is_shown && (judging == Judging::comparison || is_beyond);
  compared.verdict = statistics::verdict_on(effect, margin, counts);
  compared.processes_to_decide.reset();
  if (compared.verdict == EffectVerdict::undecided && !is_below_resolution(margin, compared.time, resolution))
    compared.processes_to_decide = processes_to_decide(effect, margin, judging);
}

std::optional<LaunchCounters> counters_of(const Result& result, const Measurement& measurement) {
  const auto found = std::ranges::find(result.counters, measurement.conditions.cache, &LaunchCounters::cache);
  return found == result.counters.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

ComparedSide side_of(const Result& result, const Measurement& measurement) {
  const ProcessTime own = process_time(measurement);
  return {.subject = result.subject,
          .provider = result.provider,
          .algorithm = result.algorithm,
          .held_memory = result.held_memory,
          .conditions = measurement.conditions,
          .instrument = measurement.instrument,
          .time = measurement.time,
          .rounds = settled_times(measurement),
          .launches = settled_launches(measurement),
          .clock = own.clock,
          .cycles = own.cycles,
          .verification = result.verification,
          .amount = {},
          .counters = counters_of(result, measurement),
          .concurrency = result.concurrency,
          .without_kernels = result.without_kernels};
}

namespace {

// A step of the timer is one of a whole reading, which may hold several launches.
double step_of(const Measurement& measurement) {
  const std::int64_t launches =
      measurement.rounds.empty() ? 1 : measurement.rounds.front().launches_per_value;
  const Nanoseconds step =
      measurement.constant.grain / static_cast<double>(std::max<std::int64_t>(1, launches));
  return step / measurement.time.median;
}

}  // namespace

double resolution_of(const Measurement& first, const Measurement& second, Beside beside) {
  if (!(first.time.median > Nanoseconds(0.0)) || !(second.time.median > Nanoseconds(0.0))) return 0.0;
  const double a = instrument_error(first) / first.time.median,
               b = instrument_error(second) / second.time.median;
  const bool is_shared = beside == Beside::same_process && first.instrument == second.instrument;
  const double constant = is_shared ? std::abs(a - b) : std::hypot(a, b);
  return std::max({step_of(first), step_of(second), constant});
}

RatioEstimate ratio_of(const Effect& effect) {
  return {std::exp(effect.value), std::exp(effect.interval.low), std::exp(effect.interval.high)};
}

void add_times(TimeEstimate& sum, const TimeEstimate& time, std::int64_t count) {
  const auto times = static_cast<double>(count);
  const bool is_first = sum.rounds == 0;
  sum.median += time.median * times;
  sum.low += time.low * times;
  sum.high += time.high * times;
  sum.rounds = is_first ? time.rounds : std::min(sum.rounds, time.rounds);
}

void judge(std::span<Comparison> comparisons, std::span<const std::optional<Effect>> effects, double margin,
           Judging judging) {
  // The time of a wrong result is neither faster nor slower than that of a right one.
  const auto counts = [&](std::size_t i) { return effects[i].has_value() && !is_wrong(comparisons[i]); };
  std::vector<double> p_values;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (counts(i)) p_values.push_back(effects[i]->p_value);
  }
  const std::vector<bool> shown = statistics::holm_rejects(p_values);
  std::size_t next = 0;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    if (counts(i)) {
      set_verdict(comparisons[i], *effects[i], margin, comparisons[i].resolution, shown[next++], judging);
    }
  }
}

void judge(TotalComparison& total, const Effect& effect, const ComparisonRecord& record, Judging judging) {
  total.time = ratio_of(effect);
  total.processes = effect.processes;
  total.p_value = effect.p_value;
  if (left_out_of(record, 0) || left_out_of(record, total.alternative)) return;
  set_verdict(total, effect, record.margin, resolution_of(record, total), effect.excludes_zero(), judging);
}

}  // namespace jitterscope
