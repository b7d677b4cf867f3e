// Finds what makes work faster by trying. Each step compares the remaining remedies with the work as the last
// step left it and takes the best, until none shows a gain. Gains do not add up, so the result of all
// together is measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope::study {

/// The quantity to reduce.
enum class Goal {
  latency,     ///< the time of the work as it is
  throughput,  ///< the time for each sample: batches may grow
  memory,      ///< the operands' bytes, if that costs no time
};
std::string_view to_string(Goal);

enum class Trying {
  taken,    ///< part of the work from the next step on
  beaten,   ///< gains, but another remedy of its step gains more, or as much and is more exact
  no_gain,  ///< no gain above the margin is shown
  slower,
  too_inexact,   ///< its results' error exceeds the tolerance
  wrong,         ///< computes something else
  not_compared,  ///< gains, but its result could not be compared with that of the work as it is
  failed,        ///< has no time
  unfinished,    ///< gains so far, but its step ended before it was measured as asked
};
std::string_view to_string(Trying);

/// Returns "precision f16", or "graph" if study and arm have the same name.
std::string remedy_name(const std::string& study, const std::string& arm);

/// One arm of a study in one step.
struct TriedRemedy {
  std::string study, arm;
  Trying outcome = Trying::no_gain;
  RatioEstimate time = {};            ///< for the same work, relative to the work at the start of the step
  std::optional<double> error = {};   ///< the largest relative error of a result
  std::optional<double> memory = {};  ///< bytes of all operands relative to those before, for the same work
  std::string failure = {};
};

struct AdviceStep {
  std::vector<TriedRemedy> remedies;  ///< the greatest gain first
  ComparisonRecord comparison;        ///< the measurements; alternatives in the order tried
};

/// A layer before anything was tried.
struct AdvisedLayer {
  std::vector<std::string> layers;  ///< the network's names; empty for a typed operation
  std::int64_t count = 1;
  Subject subject;
  TimeEstimate time;      ///< one call
  double share = 0.0;     ///< share of the time of all layers
  bool is_tried = false;  ///< remedies are tried on it
  std::vector<Finding> findings;
  std::optional<LaunchCounters> counters = {};  ///< one launch's; only for the longest layer
};

/// A remedy that was taken, in words.
struct Recommendation {
  std::string study, arm;
  std::string place;  ///< where the lines belong, such as In PyTorch
  std::vector<std::string> lines;
  std::string price;
};

struct UntriedStudy {
  std::string study, reason;
};

struct AdviceRecord {
  Environment environment;
  DeviceDescription device;
  std::string title;
  Goal goal = Goal::latency;
  double margin = 0.01, tolerance = 0.01;
  std::vector<AdvisedLayer> layers;  ///< the longest first
  std::vector<AdviceStep> steps;
  std::vector<Recommendation> recommendations;  ///< in the order of display
  /// The original work beside the work with all taken remedies: all layers in bursts, and the longest without
  /// a pause. nullopt if nothing was taken.
  std::optional<ComparisonRecord> together, sustained;
  std::vector<UntriedStudy> untried;
  std::vector<std::string> conclusions;  ///< sentences, the most important first
  std::vector<std::string> notes;
  bool interrupted = false;
};

/// An arm to try in a step.
struct Candidate {
  std::string study, arm;
  std::optional<double> memory = {};  ///< like TriedRemedy::memory
};

struct AdviceLimits {
  Goal goal = Goal::latency;
  double margin = 0.01;     ///< gains not shown to be larger do not count
  double tolerance = 0.01;  ///< largest relative error of a result
};

/// Returns the outcome of each candidate, the greatest gain first; at most one is taken. Alternative i + 1 of
/// the comparison is candidate i; a candidate missing in `comparison` failed. Among gains equal within the
/// margin, the one with the smallest error is taken; none is
/// of an unfinished comparison.
std::vector<TriedRemedy> judge(const ComparisonRecord& comparison, const std::vector<Candidate>& candidates,
                               const AdviceLimits& limits);

/// True if the comparison has too little for a verdict: it was interrupted, or the budget ended it after the
/// first of several processes, where a gain may be chance.
bool is_unfinished(const ComparisonRecord& comparison);

/// Appends the candidates' outcomes as a step. Returns the remedy that was taken, in that step; null if none
/// was.
const TriedRemedy* add_step(AdviceRecord& record, ComparisonRecord comparison,
                            const std::vector<Candidate>& candidates);

/// Fills shares, sorts by them, and marks the layers on which remedies are tried: the longest that together
/// hold `share` of the time, at most `most`.
void choose_layers(std::vector<AdvisedLayer>& layers, double share, std::size_t most);

/// Returns the time of everything compared, in one alternative and for as much work as the first does;
/// nullopt if that has no time.
std::optional<Nanoseconds> time_together(const ComparisonRecord& comparison, std::size_t alternative);
/// Returns the second alternative's time over the first's.
std::optional<RatioEstimate> ratio_together(const ComparisonRecord& comparison);
/// Returns the alternative as which a step's comparison tried the remedy.
std::size_t alternative_of(const AdviceStep& step, const TriedRemedy& remedy);

/// The part of the work that a comparison has times of.
struct ComparedPart {
  std::int64_t operations = 0, of_operations = 0;
  std::int64_t calls = 0, of_calls = 0;
  bool are_longest = true;  ///< no longer operation is left out

  bool is_whole() const { return operations == of_operations; }
};
ComparedPart compared_part(const AdviceRecord& record, const ComparisonRecord& comparison);

/// Returns sentences for the user.
std::vector<std::string> conclusions_of(const AdviceRecord& record);

}  // namespace jitterscope::study
