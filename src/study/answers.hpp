// What a comparison of arms comes to, in sentences.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "study/study.hpp"

namespace jitterscope::study {

/// One arm against the first, over all that was compared: the total of a network, or one operation.
struct ArmOutcome {
  std::size_t alternative = 0;
  std::string name;
  RatioEstimate time;
  statistics::EffectVerdict verdict = statistics::EffectVerdict::undecided;
  std::optional<double> error;  ///< the largest relative error of its results; nothing: not verified
  bool is_wrong = false;        ///< a result is beyond what rounding explains
  bool is_compared = true;      ///< false where it runs another operation, whose result nobody compared
};

/// Whether both sides were timed, and the second computed what it should.
bool has_time(const Comparison& comparison);

/// Of the first conditions that were compared. Of several operations that are no network there is one for
/// each arm and operation. Arms without a time are left out.
std::vector<ArmOutcome> arm_outcomes(const ComparisonRecord& record);

/// "2.13 times as fast as nchw (2.10 to 2.16)", "12.3 % faster than nchw (12.0 to 12.6 %)".
std::string speed_against(const RatioEstimate& time, const std::string& first);

/// "**Not decided: whether a larger batch pays**; more processes would tell (--processes)."
std::string not_decided(const std::string& what);

/// Whether any of them is undecided; an arm that is wrong is none.
bool any_undecided(const std::vector<ArmOutcome>& outcomes);

/// Without those that computed something else, whose times say nothing.
std::vector<ArmOutcome> right_outcomes(const ComparisonRecord& record);

/// "In PyTorch:", the lines, each on a line of its own behind four spaces, and the price.
std::string remedy_sentence(const Remedy& remedy);

/// Kernels of a user's own, alone or as all steps of a chain.
bool runs_own_kernels(const Operation&);

/// How to get an arm: the second way where the record is of a user's own kernels.
using RemedyOfArm = Remedy (*)(const std::string& arm);
RemedyOfArm remedy_for(const ComparisonRecord&, RemedyOfArm in_pytorch, RemedyOfArm in_cuda);

/// Which arm is the fastest and how to get it, or that none is faster; and which computed something else.
std::vector<std::string> answer_by_fastest(const ComparisonRecord& record, RemedyOfArm remedy);

/// What ran in each arm, as "block=64: 32 registers, 75 % occupancy; …"; nothing where that is not known, or
/// where there are several operations.
std::vector<std::string> what_ran(const ComparisonRecord& record);

/// Of a kernel on a simulated GPU, which knows its buffers alone: that nothing can differ there. Else empty.
std::string simulation_note(const DeviceDescription& device);

/// Of kernels that name no reference: what their results were compared with, and how to name one. Else empty.
std::string reference_hint(const ComparisonRecord& record);

/// Which arms computed something else than they should; mostly none.
std::vector<std::string> wrong_results(const ComparisonRecord& record);

// How exactly a study's ratios are known, and what keeps them from being known better.

/// Half-widths of 95 % intervals, relative, that are good enough to take or leave a remedy by.
inline constexpr double kExactEnough = 0.02;

/// A sentence where a ratio of an arm that is right is known less well than that: how many are, the widest
/// one, whether processes or rounds differ there, and how many processes would do. Else empty.
std::string exactness_sentence(const ComparisonRecord& record);

}  // namespace jitterscope::study
