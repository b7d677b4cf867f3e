// Turns comparisons of arms into sentences.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "experiment/comparison.hpp"
#include "study/study.hpp"

namespace jitterscope::study {

/// Appends a sentence; an empty one says nothing.
void add(Sentences& sentences, std::string sentence);
void add(Sentences& sentences, Sentences more);

/// One arm against the first, over everything compared: a network's total, or one operation.
struct ArmOutcome {
  std::size_t alternative = 0;
  std::string name;
  RatioEstimate time;
  statistics::EffectVerdict verdict = statistics::EffectVerdict::undecided;
  std::optional<double> error;  ///< the largest relative error of its results; nullopt: not verified
  bool is_wrong = false;        ///< an error exceeds what rounding explains
  bool is_compared = true;      ///< false if it runs another operation whose result was not compared
  std::vector<double> process_ratios = {};  ///< one for each process; empty for a network's total
};

/// True if both sides were timed, and the second one computed what it should.
bool has_time(const Comparison& comparison);

/// Returns the outcomes in the first conditions compared. Operations that are no network have one outcome for
/// each arm and operation. Arms without a time are left out.
std::vector<ArmOutcome> arm_outcomes(const ComparisonRecord& record);

/// Returns "faster than nchw: -12.3 % (-12.6 to -12.0 %)" or "slower than nchw: 2.13 times as long (2.10
/// to 2.16)".
std::string speed_against(const RatioEstimate& time, const std::string& first);

/// Returns "**Not decided: whether a larger batch pays**; more processes would tell (--processes)."
std::string not_decided(const std::string& what);

/// True if any outcome is undecided; wrong arms do not count.
bool any_undecided(const std::vector<ArmOutcome>& outcomes);

// What is shown of an outcome or a comparison.
// NOLINTBEGIN(readability-identifier-naming): they are read as the predicates that they are
inline constexpr auto is_faster = [](const auto& each) {
  return each.verdict == statistics::EffectVerdict::faster;
};
inline constexpr auto is_slower = [](const auto& each) {
  return each.verdict == statistics::EffectVerdict::slower;
};
inline constexpr auto is_undecided = [](const auto& each) {
  return each.verdict == statistics::EffectVerdict::undecided;
};
// NOLINTEND(readability-identifier-naming)

/// Returns the value that an alternative's arm sets; null if it sets none of this type.
template <class Value>
const Value* value_of(const StudyResult& result, std::size_t alternative) {
  return std::get_if<Value>(&result.arms[alternative].value);
}

/// Returns the outcome or comparison that takes the least time against the first arm, of those that count;
/// null if none does.
template <class Outcome, class Counts>
const Outcome* fastest_of(const std::vector<Outcome>& all, const Counts& counts) {
  const Outcome* fastest = nullptr;
  for (const Outcome& each : all) {
    if (counts(each) && (fastest == nullptr || each.time.ratio < fastest->time.ratio)) fastest = &each;
  }
  return fastest;
}
/// Returns the one that takes the most time.
template <class Outcome, class Counts>
const Outcome* slowest_of(const std::vector<Outcome>& all, const Counts& counts) {
  const Outcome* slowest = nullptr;
  for (const Outcome& each : all) {
    if (counts(each) && (slowest == nullptr || each.time.ratio > slowest->time.ratio)) slowest = &each;
  }
  return slowest;
}

/// Returns the arms that are as fast as this one: the two are not told apart in the same processes, or by
/// less than the margin. Empty for several operations.
std::vector<const ArmOutcome*> as_fast_as(const StudyResult& result, const std::vector<ArmOutcome>& outcomes,
                                          const ArmOutcome& one);
/// Returns what to recommend: the fastest arm; of those that are as fast the one with the smallest error,
/// then the one with the shortest remedy. Null if none is shown to be faster than the first.
const ArmOutcome* recommended_of(const StudyResult& result, const std::vector<ArmOutcome>& outcomes);

/// Returns the outcomes without bounds, and without arms that computed something else: their times say
/// nothing.
std::vector<ArmOutcome> right_outcomes(const StudyResult& result);

/// Returns "In PyTorch:", the lines, each indented by four spaces, and the price.
std::string remedy_sentence(const Remedy& remedy);
/// Returns that sentence for an arm and the work that was compared.
std::string remedy_sentence(const StudyResult& result, const Arm& arm);

/// True for kernels of the user's own, alone or as all steps of a chain.
bool runs_own_kernels(const Operation&);

/// Says which arm is fastest and how to get it, or that none is faster; and which arms computed something
/// else.
Sentences answer_by_fastest(const StudyResult& result);

/// Returns what ran in each arm, as "block=64: 32 registers, 75 % occupancy; …"; empty if that is unknown, or
/// for several operations.
Sentences what_ran(const ComparisonRecord& record);

/// For a kernel on a simulated GPU, which knows only its buffers: says that nothing can differ there. Else
/// empty.
std::string simulation_note(const DeviceDescription& device);

/// For kernels that name no reference: what their results were compared with, and how to name one. Else
/// empty.
std::string reference_hint(const ComparisonRecord& record);

/// Says which arms computed something else than they should; mostly empty.
Sentences wrong_results(const StudyResult& result);

/// Half-width of a 95 % interval, relative, that is precise enough to decide on a remedy.
inline constexpr double kExactEnough = 0.02;

/// Returns a sentence if a correct arm's ratio is known less precisely: how many are precise, the widest,
/// whether processes or rounds differ there, and how many processes would be enough. Else empty.
std::string exactness_sentence(const ComparisonRecord& record);

}  // namespace jitterscope::study
