// What makes work faster, found by trying: in each step the remedies that are left are compared with the work
// as the last step left it, and the best is taken, until none shows a gain. Gains do not add up, so what all
// of them come to is measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope::study {

/// What is to become less.
enum class Goal {
  latency,     ///< the time of the work as it is
  throughput,  ///< the time for each sample: batches may grow
  memory,      ///< the operands' bytes, where that costs no time
};
std::string_view to_string(Goal);

enum class Trying {
  taken,    ///< into the work that the next step begins with
  beaten,   ///< gains, but another one of its step gains more
  no_gain,  ///< none that is shown to lie above the margin
  slower,
  too_inexact,   ///< its results are further off than was allowed
  wrong,         ///< computes something else
  not_compared,  ///< gains, but its result could not be compared with that of the work as it is
  failed,        ///< has no time
};
std::string_view to_string(Trying);

/// "precision f16", "graph"
std::string remedy_name(const std::string& study, const std::string& arm);

/// One arm of a study, in one step.
struct TriedRemedy {
  std::string study, arm;
  Trying outcome = Trying::no_gain;
  RatioEstimate time = {};            ///< for the same work, over the work as the step began
  std::optional<double> error = {};   ///< the largest relative error of a result
  std::optional<double> memory = {};  ///< bytes of all operands, over those before; for the same work
  std::string failure = {};
};

struct AdviceStep {
  std::vector<TriedRemedy> remedies;  ///< the greatest gain first
  ComparisonRecord comparison;        ///< what was measured: alternatives in the order tried
};

/// A layer as it is, before anything was tried.
struct AdvisedLayer {
  std::vector<std::string> layers;  ///< the network's names; empty for what was typed
  std::int64_t count = 1;
  Subject subject;
  TimeEstimate time;      ///< of one call
  double share = 0.0;     ///< of the time of all
  bool is_tried = false;  ///< remedies are tried on it
  std::vector<Finding> findings;
  std::optional<LaunchCounters> counters = {};  ///< of one launch, of the longest
};

/// A remedy that was taken, in words.
struct Recommendation {
  std::string study, arm;
  std::string place;  ///< where the lines belong: In PyTorch
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
  std::vector<Recommendation> recommendations;  ///< in the order in which they are written
  /// The work as it is, and with all that was taken, beside each other: all layers in bursts, and the longest
  /// without a pause. Nothing where nothing was taken.
  std::optional<ComparisonRecord> together, sustained;
  std::vector<UntriedStudy> untried;
  std::vector<std::string> conclusions;  ///< sentences, the most important first
  std::vector<std::string> notes;
  bool interrupted = false;
};

/// An arm as a step tries it.
struct Candidate {
  std::string study, arm;
  std::optional<double> memory = {};  ///< as TriedRemedy::memory
};

struct AdviceLimits {
  Goal goal = Goal::latency;
  double margin = 0.01;     ///< gains that are not shown to be larger do not count
  double tolerance = 0.01;  ///< largest relative error of a result
};

/// What came of each candidate, the greatest gain first, one of them taken at most. Alternative i + 1 of the
/// comparison is candidate i; one that `comparison` does not have failed. Of those that gain as much within
/// the margin the one with the smallest error is taken.
std::vector<TriedRemedy> judge(const ComparisonRecord& comparison, const std::vector<Candidate>& candidates,
                               const AdviceLimits& limits);

/// Appends what came of the candidates as a step. What was taken lies in that step; null where nothing was.
const TriedRemedy* add_step(AdviceRecord& record, ComparisonRecord comparison,
                            const std::vector<Candidate>& candidates);

/// Fills shares, sorts by them, and marks what remedies are tried on: the longest that hold `share` of the
/// time together, `most` at most.
void choose_layers(std::vector<AdvisedLayer>& layers, double share, std::size_t most);

/// Of all that a comparison has together, by one alternative and for as much work as the first does; nothing
/// where that has no time.
std::optional<Nanoseconds> time_together(const ComparisonRecord& comparison, std::size_t alternative);
/// The second alternative's over the first's.
std::optional<RatioEstimate> ratio_together(const ComparisonRecord& comparison);
/// Of a step's comparison: what it tried the remedy as.
std::size_t alternative_of(const AdviceStep& step, const TriedRemedy& remedy);

/// Sentences for a person who asked.
std::vector<std::string> conclusions_of(const AdviceRecord& record);

}  // namespace jitterscope::study
