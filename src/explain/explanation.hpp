// The findings of a study of one subject, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/comparison.hpp"
#include "jitterscope/counters.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {

/// Launches 2^n to 2^(n+1)-1 of one plain loop.
struct LoopStretch {
  std::int64_t first_launch = 1;
  std::int64_t launches = 1;
  Nanoseconds median = {};          ///< between the events around a launch, no constant subtracted
  std::optional<Hertz> clock = {};  ///< mean over the stretch
};

/// One plain loop, as a first benchmark runs it.
struct ObservedLoop {
  Nanoseconds idle_before = {};  ///< random, 1 to 300 ms
  Nanoseconds median = {}, minimum = {}, maximum = {};
  std::vector<LoopStretch> stretches = {};
};

enum class Variation {
  position,  ///< place of the launch in its loop
  idle,      ///< idle before the loop
  clock,
  order,  ///< number of the loop, since the first
  loop,   ///< other differences between loops, such as placement
  rest,
};
std::string_view to_string(Variation);
/// Returns what the time then varies with: "the launch's place in its loop".
std::string_view words_for(Variation);

/// The share of one explanation in the variation of all loops' stretches.
struct VariationShare {
  Variation variation = Variation::rest;
  double share = 0.0, low = 0.0,
         high = 0.0;  ///< share in the variance of the logarithm; 95 %, bootstrap over loops
};

/// The host times, each apart, that a program spends before its usual launches.
struct FirstWork {
  Nanoseconds preparation = {};  ///< first one: libraries, handles, a plan, memory and its contents
  std::optional<Nanoseconds> preparation_again = {};  ///< a plan, memory and its contents
  std::optional<Nanoseconds> allocation = {};         ///< memory of the operands' size, from the driver
  Nanoseconds launch = {};                            ///< first one, to its end; includes loading kernels
  Nanoseconds later_launch = {};                      ///< device time, roughly
  std::vector<Nanoseconds> launch_in_processes = {};  ///< first launch of each fresh process
};

struct Observation {
  FirstWork first_work = {};
  std::vector<ObservedLoop> loops = {};
  Nanoseconds median = {}, p5 = {}, p95 = {};  ///< over all launches of all loops
  /// How much longer the last third of the loops takes than the first, 0.1 is 10 %, if their medians follow
  /// the loop's number beyond chance and by more than that.
  std::optional<double> drift = {};
  std::vector<Mode> modes = {};               ///< two or more, or none
  Nanoseconds mean = {};                      ///< over all launches of all loops
  std::optional<Recurrence> recurrence = {};  ///< recurring slow launches, if calls may differ
  double within_loops = 0.0;   ///< relative; a loop's middle half as a standard deviation, median over loops
  double between_loops = 0.0;  ///< the same of the loops' medians
  /// Relative standard deviation of the medians of all loops' stretches: of its square the shares are. One
  /// odd loop moves it, and not the two above. 0: not known.
  double between_stretches = 0.0;
  std::vector<VariationShare> shares = {};  ///< they add up to one
};

/// How far placements, processes or GPUs differ, beyond rounds: a relative standard deviation.
struct RandomFactor {
  std::string id = {};  ///< placement, process, gpu
  std::string cause = {};
  double deviation = 0.0, low = 0.0, high = 0.0;  ///< 95 %
  std::int64_t levels = 0;                        ///< number of placements, processes or GPUs seen
  std::string not_available = {};                 ///< why it could not be varied; empty if it could
};

struct DoseEffect {
  std::string dose = {};
  RatioEstimate time = {};                  ///< with the dose over without
  std::optional<RatioEstimate> clock = {};  ///< device clock over the loop, if known
  std::int64_t blocks = 0;
  double p_value = 1.0;
};

/// A hardware counter's value for one launch, plain and with a dose.
struct CountedChange {
  std::string name = {};
  CounterQuantity quantity = CounterQuantity::other;
  std::string unit = {};
  double plain = 0.0, treated = 0.0;
};

/// Shares of the host time during which the device reports that it held its clock down.
struct HeldClock {
  bool is_plain = false;  ///< seen in the plain loop, which has the lower clock; else under the dose
  double by_power = 0.0;  ///< by the power cap
  double by_heat = 0.0;
};

enum class FactorVerdict {
  cause,             ///< interval excludes a ratio of 1, beside all others; effect above 0.5 %
  cleared,           ///< interval lies within ± 0.5 %
  unresolved,        ///< neither is shown
  left_out,          ///< the time was too short for all factors
  not_identifiable,  ///< it cannot be switched here
};
std::string_view to_string(FactorVerdict);

/// Effect of the strongest dose if long rests between launches keep the power low.
struct RestedEffect {
  RatioEstimate time = {};
  std::optional<RatioEstimate> clock = {};
};

struct FactorResult {
  std::string id = {}, cause = {}, usual = {}, remedy = {};
  std::optional<RatioEstimate> screened = {};  ///< strongest dose over none, averaged over all others' levels
  std::vector<DoseEffect> doses = {};          ///< each in pairs with the plain loop
  FactorVerdict verdict = FactorVerdict::unresolved;
  std::size_t strongest = 0;                     ///< index into doses: the dose that the verdict is about
  std::vector<CountedChange> counters = {};      ///< with the strongest dose, for causes that counters show
  std::optional<HeldClock> held_clock = {};      ///< for causes that move the clock
  std::optional<RestedEffect> at_low_duty = {};  ///< for causes that may be power
  std::vector<std::string> not_told_from = {};
  std::optional<std::int64_t> blocks_to_decide = {};  ///< probable number, if unresolved
  std::string reason = {};  ///< why it is not identifiable, or what speaks against a cause
};

/// Effects that a factor which does nothing shows by chance.
struct DummyEffect {
  std::optional<RatioEstimate> screened = {}, paired = {};
};

/// A program that used the device, too.
struct OtherProcess {
  std::string name = {};   ///< as the device reports it: "4711 python"
  std::int64_t looks = 0;  ///< looks that saw it
};
struct OtherProcesses {
  std::int64_t looks = 0;  ///< looks at the device, at least a second apart; 0 if it cannot tell
  std::vector<OtherProcess> seen = {};
};

/// The plain loop with every cause at its fastest dose, all at once.
struct FastestLoop {
  struct Part {
    std::string factor = {}, dose = {};
  };
  std::vector<Part> parts = {};  ///< in the order of the factors
  RatioEstimate time = {};       ///< over the plain loop
  std::int64_t blocks = 0;
};

struct Explanation {
  std::string operation = {}, provider = {}, algorithm = {};
  Observation observation = {};
  std::vector<FactorResult> factors = {};  ///< causes first, largest effect first
  std::vector<DummyEffect> dummies = {};
  std::vector<RandomFactor> random_factors = {};
  OtherProcesses others = {};
  std::int64_t screening_rounds = 0, blocks = 0;
  std::optional<TimeEstimate> plain = {};   ///< plain loops beside the doses, mean over blocks
  std::optional<FastestLoop> fastest = {};  ///< nullopt if no cause makes it faster, or not together
  std::string without_counters =
      {};                     ///< why causes were not counted; empty if they were, or if there is none
  Nanoseconds duration = {};  ///< host time
  bool interrupted = false;   ///< by the user; the rest is what was known by then
  std::vector<std::string> notes =
      {};  ///< sentences: what a function does that changed how it was read; the record's notes have them
};

/// Effects within ± 0.5 % are of no interest.
inline constexpr double kMaterial = 0.005;

}  // namespace jitterscope::explain
