// The ratio of two times that were measured apart, in two records; of one operation, or of a sum over layers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/run_record.hpp"
#include "statistics/effect.hpp"

namespace jitterscope {

/// One value for each process. nullopt if a process lacks it or there is only one process.
using ProcessValues = std::optional<std::vector<double>>;
ProcessValues times_of(const Measurement& measurement);
ProcessValues cycles_of(const Measurement& measurement);

/// Returns the values for as much work as the other side does, which this side does `work` times.
ProcessValues per_work(ProcessValues values, double work);
/// Returns Welch's interval of the ratio, as a logarithm; nullopt if a side has no values or one not above
/// zero.
std::optional<statistics::Effect> effect_apart(const ProcessValues& first, const ProcessValues& second);

/// Says where the times of TimesApart::is_least_disturbed come from.
inline constexpr const char* kLeastDisturbedNote =
    "Both times are of the tenth of each process's rounds that other programs disturbed least, without the ends "
    "over processes: they lie below the medians that `run` and `history show` print of the same records.";

struct TimesApart {
  TimeEstimate first, second;
  statistics::Effect effect;           ///< logarithm of second over first
  std::vector<double> process_ratios;  ///< each of the second's processes over the mean of the first's
  bool is_least_disturbed = false;     ///< the times are of the rounds that other programs disturbed least
};

/// Returns true if both records are of a host's CPU, whose times other programs only add to.
bool are_on_hosts(const RunRecord& first, const RunRecord& second);

/// Compares the processes if both measurements have several, else the two intervals. `on_hosts`: of a host's
/// processes the tenth of the rounds that other programs disturbed least. The effect is for equal work, where
/// the second does `work` times that of the first. nullopt if a side has too few rounds for an interval.
std::optional<TimesApart> times_apart(const Measurement& first, const Measurement& second, bool on_hosts,
                                      double work);

/// Sums over processes, one value for each. nullopt if a layer lacks them, or has another number of
/// processes.
class ProcessSums {
 public:
  void add(const ProcessValues& values, std::int64_t count);
  const ProcessValues& values() const { return sums_; }

 private:
  ProcessValues sums_;
  bool is_first_ = true;
};

/// The sum over layers, each as often as the network runs it.
class SumsApart {
 public:
  void add(const TimeEstimate& first, const ProcessValues& first_processes, const TimeEstimate& second,
           const ProcessValues& second_processes, std::int64_t count);
  /// Compares the processes' sums if both sides have them, else the two sums' intervals; the effect is for
  /// equal work.
  std::optional<TimesApart> times(double work) const;
  bool have_processes() const;
  /// Returns the sums of the layers' times and intervals.
  const TimeEstimate& first() const { return first_; }
  const TimeEstimate& second() const { return second_; }

 private:
  TimeEstimate first_, second_;
  ProcessSums first_processes_, second_processes_;
};

}  // namespace jitterscope
