// What a study of one subject found out: plain data.
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
  Nanoseconds median = {};          ///< between the events around a launch, nothing taken off
  std::optional<Hertz> clock = {};  ///< mean over the stretch
};

/// One plain loop, as a first benchmark runs it.
struct ObservedLoop {
  Nanoseconds idle_before = {};  ///< drawn, 1 to 300 ms
  Nanoseconds median = {}, minimum = {}, maximum = {};
  std::vector<LoopStretch> stretches = {};
};

enum class Variation {
  position,  ///< of the launch in its loop
  idle,      ///< before the loop
  clock,
  loop,  ///< what else differs from loop to loop: placement
  rest,
};
std::string_view to_string(Variation);

/// A part of how the stretches of all loops vary.
struct VariationShare {
  Variation variation = Variation::rest;
  double share = 0.0, low = 0.0,
         high = 0.0;  ///< of the variance of the logarithm; 95 %, bootstrap over loops
};

/// What a program pays before its usual launches: host times, each apart.
struct FirstWork {
  Nanoseconds preparation = {};  ///< the first one: libraries, handles, a plan, memory and its contents
  std::optional<Nanoseconds> preparation_again = {};  ///< a plan, memory and its contents
  std::optional<Nanoseconds> allocation = {};         ///< memory of the operands' size, from the driver
  Nanoseconds launch = {};                            ///< the first one, to its end: kernels are loaded
  Nanoseconds later_launch = {};                      ///< on the device, roughly
  std::vector<Nanoseconds> launch_in_processes = {};  ///< the first one of each fresh process
};

struct Observation {
  FirstWork first_work = {};
  std::vector<ObservedLoop> loops = {};
  Nanoseconds median = {}, p5 = {}, p95 = {};         ///< over all launches of all loops
  statistics::Trend trend = statistics::Trend::flat;  ///< of the loops' medians, one after the other
  std::vector<Mode> modes = {};                       ///< two or more, or none
  Nanoseconds mean = {};                              ///< over all launches of all loops
  std::optional<Recurrence> recurrence = {};          ///< of slow launches, where calls may differ
  double within_loops =
      0.0;  ///< of a loop's launches, relative, of the middle half as a standard deviation; median over loops
  double between_loops = 0.0;               ///< of the loops' medians, relative
  std::vector<VariationShare> shares = {};  ///< they add up to one
};

/// How far fresh placements, processes or GPUs differ, beyond how rounds do: a relative standard deviation.
struct RandomFactor {
  std::string id = {};  ///< placement, process, gpu
  std::string cause = {};
  double deviation = 0.0, low = 0.0, high = 0.0;  ///< 95 %
  std::int64_t levels = 0;                        ///< placements, processes or GPUs that were seen
  std::string not_available = {};                 ///< empty, or why it could not be varied
};

struct DoseEffect {
  std::string dose = {};
  RatioEstimate time = {};                  ///< with the dose, over without
  std::optional<RatioEstimate> clock = {};  ///< of the device, over the loop; where it is known
  std::int64_t blocks = 0;
  double p_value = 1.0;
};

/// What a hardware counter says of one launch, plain and with a dose.
struct CountedChange {
  std::string name = {};
  CounterQuantity quantity = CounterQuantity::other;
  std::string unit = {};
  double plain = 0.0, treated = 0.0;
};

/// Shares of the host time in which the device says that it held its clock down.
struct HeldClock {
  bool is_plain = false;  ///< in the plain loop, where that has the lower clock; else under the dose
  double by_power = 0.0;  ///< by the power cap
  double by_heat = 0.0;
};

enum class FactorVerdict {
  cause,             ///< the interval excludes no effect, beside all others, and the effect is above 0.5 %
  cleared,           ///< the interval lies within ± 0.5 %
  unresolved,        ///< neither is shown
  left_out,          ///< the time was too short for all factors
  not_identifiable,  ///< it cannot be switched here
};
std::string_view to_string(FactorVerdict);

/// What the strongest dose does where long rests between launches keep the power low.
struct RestedEffect {
  RatioEstimate time = {};
  std::optional<RatioEstimate> clock = {};
};

struct FactorResult {
  std::string id = {}, cause = {}, usual = {}, remedy = {};
  std::optional<RatioEstimate> screened = {};  ///< strongest dose over none, the mean over all others' levels
  std::vector<DoseEffect> doses = {};          ///< each in pairs with the plain loop
  FactorVerdict verdict = FactorVerdict::unresolved;
  std::size_t strongest = 0;                     ///< of doses: the one that the verdict is about
  std::vector<CountedChange> counters = {};      ///< with the strongest dose; of causes that show there
  std::optional<HeldClock> held_clock = {};      ///< of causes that move the clock
  std::optional<RestedEffect> at_low_duty = {};  ///< of causes that may be power
  std::vector<std::string> not_told_from = {};
  std::optional<std::int64_t> blocks_to_decide = {};  ///< probably; where unresolved
  std::string reason = {};  ///< why it is not identifiable, or what speaks against a cause
};

/// An effect of nothing: what a factor that does nothing shows by chance.
struct DummyEffect {
  std::optional<RatioEstimate> screened = {}, paired = {};
};

/// A program that used the device as well.
struct OtherProcess {
  std::string name = {};   ///< as the device says it: "4711 python"
  std::int64_t looks = 0;  ///< that saw it
};
struct OtherProcesses {
  std::int64_t looks = 0;  ///< at the device, a second or more apart; none where it cannot tell
  std::vector<OtherProcess> seen = {};
};

/// The plain loop with every cause at the dose that makes it fastest, all at once.
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
  std::vector<FactorResult> factors = {};  ///< causes first, the largest effect before the others
  std::vector<DummyEffect> dummies = {};
  std::vector<RandomFactor> random_factors = {};
  OtherProcesses others = {};
  std::int64_t screening_rounds = 0, blocks = 0;
  std::optional<TimeEstimate> plain = {};   ///< of the plain loops beside the doses, mean over blocks
  std::optional<FastestLoop> fastest = {};  ///< nothing where no cause makes it faster, or not all at once
  std::string without_counters =
      {};                     ///< why causes were not counted; empty where they were, or there is none
  Nanoseconds duration = {};  ///< host time
  bool interrupted = false;   ///< by the user: then this is what was known
  std::vector<std::string> notes =
      {};  ///< sentences: what a function does that changed how it was read; the record's notes have them
};

/// Effects below it are of no interest: ± 0.5 %.
inline constexpr double kMaterial = 0.005;

}  // namespace jitterscope::explain
