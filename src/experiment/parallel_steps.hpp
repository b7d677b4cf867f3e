// A network's step between ranks, arranged in several ways and timed over groups of fresh processes: what an
// exchange adds, and what of it the computing hides.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "measure/run_record.hpp"
#include "operation/model.hpp"

namespace jitterscope {

/// One way to arrange the step, by its trials' names.
struct StepArm {
  std::string step;            ///< the whole
  std::string exchange_alone;  ///< its exchanges without any computing; empty for the first arm
  std::int64_t steps = 1;      ///< that one launch makes up: of an exchange in every k-th step, k
  /// Its computing without any exchange; empty if that is the first arm's.
  std::string computing_alone = {};
};

/// A difference of two times with its 95 % interval. It may lie below 0 by chance, if nothing is added.
struct AddedTime {
  Nanoseconds value, low, high;
};

/// Times of one step, over groups.
struct StepTimes {
  TimeEstimate time;
  std::vector<Nanoseconds> groups;  ///< one for each group
  /// Over the first arm, in which each rank computes for itself and the slowest one counts.
  std::optional<RatioEstimate> over_first = {};
  /// The computing of the rank that computes longest, if ranks compute otherwise than in the first arm.
  std::optional<TimeEstimate> computing = {};
  std::vector<Nanoseconds> computing_of_ranks = {};  ///< the same of each rank, by medians over groups
  std::optional<AddedTime> exposed = {};             ///< to that, or to the slowest rank's computing
  std::optional<TimeEstimate> exchange = {};         ///< its exchanges alone
  /// How much longer its kernels of the network take than in the first arm, from traces: 0.02 is 2 %.
  std::optional<double> computing_slowed = {};
};

/// The computing of a rank that has 1/N of the layers, taken apart into summands.
struct CutComputing {
  Nanoseconds even;      ///< 1/N of the whole's
  Nanoseconds not_cut;   ///< more by calls that each rank runs whole
  Nanoseconds products;  ///< more by products and attention of 1/N, which use the GPU less well
  Nanoseconds rest;      ///< more by all other calls
  Nanoseconds sum() const { return even + not_cut + products + rest; }
};

struct ParallelSteps {
  std::vector<StepTimes> arms;          ///< those asked for that were measured, in order
  std::vector<std::size_t> numbers;     ///< of each: its place among those asked for
  std::vector<TimeEstimate> computing;  ///< of each rank, for itself: the first arm
  std::size_t slowest = 0;              ///< the rank that computes longest
  TimeEstimate waiting;                 ///< of the other ranks for the slowest, mean over ranks
};

/// The share of the exchange's time that computing hides; nullopt if the arm has no exchange.
std::optional<double> hidden_share(const StepTimes& arm);

/// `groups[g][r]` is the record of rank r in group g. The first arm exchanges nothing. An arm that some rank
/// of each group lacks is left out; without the first there are none.
ParallelSteps analyse_steps(std::span<const std::vector<RunRecord>> groups, std::span<const StepArm> arms);

/// A network's calls, each with its time.
struct TimedCalls {
  const Model& network;
  std::vector<Nanoseconds> times;  ///< one for each call
};
/// Both have the same calls; those of `cut` are of one of `ranks` ranks.
CutComputing take_apart(const TimedCalls& whole, const TimedCalls& cut, std::int64_t ranks);

}  // namespace jitterscope
