// A judgement: a verdict for each candidate and case, its evidence, and the candidates' ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/comparison.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/measurement.hpp"
#include "jitterscope/units.hpp"
#include "measure/rates_and_totals.hpp"
#include "statistics/effect.hpp"

namespace jitterscope::judging {

/// The arguments of `make`; a value is a whole number, a number or a word.
using CaseValues = std::vector<Property>;

/// Which form a reference's file has, and a candidate's accordingly.
enum class Form {
  make,         ///< make() gives the function
  function,     ///< a function, and get_inputs()
  kernelbench,  ///< classes Model and ModelNew
  kernelbot     ///< ref_kernel() and custom_kernel(), and generate_input()
};
std::string_view to_string(Form);

/// The least work of one call.
struct Work {
  double flops = 0.0;              ///< 0: the reference does not tell
  double bytes = 0.0;              ///< to read and write
  bool is_bytes_told = false;      ///< else they are those of inputs and outputs
  DataType dtype = DataType::f32;  ///< of the first output
};
/// Returns the rate of a call that takes this time, and its share of the ceiling that allows the least.
/// nullopt if no ceiling is known.
std::optional<AchievedRate> achieved_rate(const Work& work, Nanoseconds time, const Ceilings& ceilings);

/// Exit code of a judgement that has a candidate which is invalid.
inline constexpr ExitCode kInvalid{6};

enum class Verdict {
  faster,
  slower,
  same,       ///< the interval lies within the margin
  undecided,  ///< none of these is shown
  wrong,      ///< an output is wrong, or there is none
  invalid,    ///< what it did breaks a rule of the protocol
  refused     ///< nothing can be judged by this case
};
std::string_view to_string(Verdict);

enum class InvalidReason {
  none,
  link_broken,    ///< the last digest is not that of the outputs
  input_changed,  ///< an input is not what it was before the call
  window_used,    ///< it takes less time where its inputs are in no cache: it works while they are evicted
  judge_touched   ///< it answered with what the protocol does not have
};
std::string_view to_string(InvalidReason);

/// Times of a call in one pair of processes; the chain's own cost is subtracted. The candidate's are divided
/// by `process_ratio`: its process runs the reference, beside the other process, before it loads the
/// candidate.
struct PairTimes {
  Nanoseconds reference, candidate, chain;
  double process_ratio = 1.0;      ///< the reference in the candidate's process over that in its own
  std::vector<double> log_ratios;  ///< of the blocks that gave one
  double reference_shift = 0.0;    ///< log of the reference's time beside the candidate over that alone
  std::int64_t reference_calls = 0, candidate_calls = 0;  ///< of the longer chain
  /// With --cache cold: the candidate's time with inputs that were just written. All other times are cold.
  std::optional<Nanoseconds> candidate_produced = {};
  std::optional<Hertz> reference_clock = {}, candidate_clock = {};  ///< of the GPU when their chains ended
};

/// A candidate's judgement in one case.
struct CaseJudgement {
  CaseValues values;
  Verdict verdict = Verdict::undecided;
  InvalidReason reason = InvalidReason::none;
  std::string evidence;  ///< one sentence: what is wrong, what was found, why it is undecided
  std::string key;       ///< of the round in which it was found, with its call, to repeat it
  std::int64_t call = -1, pair = -1;
  std::vector<std::string> inputs = {};  ///< "f32[64,64] normal"
  Work work = {};
  std::optional<RatioEstimate> ratio;  ///< of times, candidate over reference
  double p_value = 1.0;
  std::vector<PairTimes> pairs;
  std::optional<std::int64_t> pairs_to_decide;
  std::int64_t links_checked = 0, calls_timed = 0;
  std::vector<std::string> findings;
  std::vector<std::string> clock_reasons = {};  ///< what held the GPU's clock down in any chain
};

struct CandidateJudgement {
  std::string candidate;
  std::vector<CaseJudgement> cases;
  Verdict verdict = Verdict::undecided;     ///< over all cases
  std::optional<RatioEstimate> ratio = {};  ///< geometric mean over cases
  std::vector<double> values = {};          ///< of each pair: the log of that mean
  std::int64_t rank = 0;                    ///< 1 is the fastest, and ties share one; 0: no place
};

/// Sets the verdicts of all cases that were timed: faster and slower hold at 99 %, each beside those of all
/// other cases and candidates (Holm, 1979). Then the verdict over cases, which is the worst of wrong and
/// invalid if there is one, and the ranks.
void reach_verdicts(std::vector<CandidateJudgement>& candidates, double margin);

}  // namespace jitterscope::judging
