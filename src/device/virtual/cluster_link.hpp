// The link of a simulated rank to the others. Each tells when it reaches a collective, and all compute the
// same end from that: processes of their own share one truth.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/operation.hpp"
#include "physics/cluster.hpp"

namespace jitterscope::virtual_gpu {

struct Kernel;

/// A collective of this rank. Recordings share it.
struct CollectiveWork {
  std::string order;          ///< equal on all ranks, if they launch the same
  Nanoseconds transfer = {};  ///< once all that take part are there, without noise
  Collective collective = {};
  std::shared_ptr<Kernel> kernel = {};
};

/// One of several collectives in a row, behind the one before it.
struct CollectiveTurn {
  std::shared_ptr<const CollectiveWork> work;
  Nanoseconds gap;       ///< after that one's end
  Nanoseconds earliest;  ///< when the host's call has reached the GPU
};

/// When this rank came and the last one did, in this rank's time, and when all were done. For a rank that
/// does not take part all three are the end of what it did before.
struct CollectiveTimes {
  Nanoseconds arrival, last_arrival, end;
};

class ClusterLink {
 public:
  /// Exchanges the ranks' seeds: their transfers have the same noise. Throws UsageError if the cluster has
  /// another number of ranks.
  ClusterLink(const physics::Cluster& cluster, Ranks& ranks, std::uint64_t seed, std::string_view device);

  const physics::Cluster& cluster() const { return cluster_; }
  std::int64_t rank() const { return ranks_.rank(); }

  /// Runs collectives in a row, the first of which this rank reaches at `first`. One message, however many
  /// they are: nothing else happens between them. All ranks call it for each collective, whoever takes part:
  /// none has to know what it could wait for. Throws FailedError if another rank launches something else,
  /// with both.
  std::vector<CollectiveTimes> run(Nanoseconds first, const std::vector<CollectiveTurn>& turns);

  /// Nothing more is exchanged: this rank ends by an error of its own, or the others have ended.
  void abandon() { is_abandoned_ = true; }
  bool is_abandoned() const { return is_abandoned_; }

 private:
  physics::Cluster cluster_;
  Ranks& ranks_;
  Random noise_;
  bool is_abandoned_ = false;
};

}  // namespace jitterscope::virtual_gpu
