// Collectives over groups of fresh processes: what a transfer takes, who waits for whom, and the proof that a
// late rank is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// One way to call a collective, over all groups. A group's time is the median over its ranks.
struct CollectiveTime {
  std::string operation;  ///< as its trial names it
  TimeEstimate time;      ///< of the transfer, at no skew: a slope of recordings, in bursts; over groups
  std::vector<Nanoseconds> groups;  ///< one for each group
  std::optional<std::int64_t> wrong_elements =
      {};                                       ///< of all ranks, in the first group; nullopt: not checked
  std::optional<RatioEstimate> sustained = {};  ///< sustained over burst, within groups
};

/// How long a delayed rank makes the others wait, beside the expected wait.
struct LatenessProof {
  std::int64_t rank = 0;  ///< the delayed one
  Nanoseconds delay;
  Nanoseconds
      expected;       ///< by how much the others' wait must grow, since that rank may have come before them
  TimeEstimate seen;  ///< by how much it grew; over groups
  /// True if `seen` lies within 1 us + 2 % of the delay of what is expected, as far as its interval tells.
  bool holds = false;
};

/// How ranks wait for each other where a program launches the collective.
struct CollectiveWaiting {
  Nanoseconds median, p95;          ///< of the others' wait for the last, over the rounds of all groups
  std::vector<double> last_shares;  ///< of rounds in which each rank came last; their sum is 1
  /// How far chance alone moves the share of the rank that comes last most often from one of all ranks
  /// (over groups, 95 % for all ranks together); 0 of one group, which does not tell.
  double chance = 0.0;
  std::int64_t rounds = 0;
  /// A rank that comes last more often than by chance, by 0.5 us or more; or nullopt.
  std::optional<std::int64_t> late_rank = {};
  /// How far the rank that most often comes last is behind the others, median over rounds; by
  /// the host's launches, and by the work before the collective.
  Nanoseconds late_by, late_by_launches, late_by_work;
  /// The slow host launches a round more slowly than the GPUs work through one, so that a delay on purpose
  /// hides behind it.
  bool is_host_behind = false;
  std::vector<LatenessProof> proofs;
};

/// The times that the hosts take to launch a collective.
struct CollectiveLaunches {
  std::vector<Nanoseconds> costs;  ///< of each rank, for one launch; medians over groups
  /// A rank whose host takes 1.5 times as long as the others' or more, and by 0.5 us, beyond chance.
  std::optional<std::int64_t> slow_host = {};
};
/// Returns what a launch takes those hosts that are not slow: the slowest of them.
Nanoseconds usual_launch(const CollectiveLaunches& launches);

struct CollectiveResult {
  std::vector<CollectiveTime> times;                ///< out of place, in place: as asked
  std::optional<TimeEstimate> eager_adds = {};      ///< to the first of `times`, if each call is launched
  std::optional<CollectiveLaunches> launches = {};  ///< nullopt if a rank's are not known
  std::optional<CollectiveWaiting> waiting =
      {};  ///< nullopt if not every rank waits for all, or with one rank
};

/// A rank that was delayed on purpose in one group, and how long the others then waited.
struct DelayOfGroup {
  std::int64_t rank = 0;
  Nanoseconds delay;
  /// The others' own time in the collective, medians: by how much it must grow, by how much it grew, and
  /// what it is without a delay.
  Nanoseconds expected, seen, usual;
};
/// Returns them by rank, then delay. Empty if a rank has no arrivals of the operation, or other rounds than
/// the others.
std::vector<DelayOfGroup> delays_of_group(const std::vector<RunRecord>& ranks, const std::string& operation);

/// Returns whether each proof holds: only then may be said who is late.
bool lateness_is_proven(const CollectiveWaiting& waiting);

/// Returns the rank that comes last in most rounds, and whether it does so more often than by chance.
std::size_t most_often_last(const CollectiveWaiting& waiting);
bool is_last_beyond_chance(const CollectiveWaiting& waiting);

/// Returns how a transfer is timed in one process of a group: in recordings, whose slopes hold no lateness
/// however long a transfer takes.
MeasureOptions transfer_options(std::uint64_t seed);

/// `groups[g][r]` is the record of rank r in group g, all of one plan; `operations` are the trials of one
/// collective, out of place first. Entries without a time on some rank give no time.
CollectiveResult analyse_collective(std::span<const std::vector<RunRecord>> groups,
                                    std::span<const std::string> operations);

}  // namespace jitterscope
