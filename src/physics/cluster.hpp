// A simulated cluster: what differs between its GPUs, and the links between them.
#pragma once

#include <cstdint>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope::physics {

struct Parameters;

/// Links between groups of `ranks` neighbours: of all GPUs of a host, of all hosts of a rack.
struct Link {
  std::int64_t ranks = 2;
  Nanoseconds latency = {};  ///< of each doubling of the groups that it joins
  double bandwidth = 0;      ///< bytes/s of a rank, in one direction
};

/// A fault of one rank, while its own clock is between two times.
struct Straggler {
  enum class Cause {
    host,          ///< each call of the host that launches takes `size` longer
    gpu,           ///< each launch with a collective, a replay as a whole, is `size` late on the GPU
    wrong_values,  ///< one element of each of its results is wrong; no `size`
  };
  std::int64_t rank = 0;
  Cause cause = Cause::gpu;
  Nanoseconds size = {};
  Nanoseconds from = {}, until = seconds(1e9);
};

struct Cluster {
  std::int64_t ranks = 0;
  std::uint64_t seed = 1;
  /// Standard deviations between its GPUs, relative: of the highest clock, the power cap, the resistances to
  /// heat, and the bandwidth of memory.
  double clock_spread = 0, cap_spread = 0, heat_spread = 0, memory_spread = 0;
  /// A kernel takes this factor longer while a collective runs beside it.
  double overlap_tax = 1.0;
  double link_noise = 0;  ///< standard deviation of a transfer, relative; the same on all ranks
  /// Each rank's clock is this much further ahead than that of the rank before it, and faster.
  Nanoseconds clock_offset = {};
  double clock_drift = 0;
  std::vector<Link> links = {};  ///< each joins more ranks than the one before it
  std::vector<Straggler> stragglers = {};

  /// True if the rank has a straggler of this cause at a time of its own; its sizes are added up.
  bool has(Straggler::Cause cause, std::int64_t rank, Nanoseconds time) const;
  Nanoseconds delay(Straggler::Cause cause, std::int64_t rank, Nanoseconds time) const;
};

/// Returns how long so many bytes take over the slowest link of all ranks, once all are there; without noise.
Nanoseconds transfer_time(const Cluster& cluster, double bytes);

/// Returns how long so many bytes take from one rank to another, over the first link that joins both.
Nanoseconds transfer_time(const Cluster& cluster, std::int64_t from, std::int64_t to, double bytes);

/// Returns the GPU of a rank: that of all, with what differs. Another rank is another device.
Parameters of_rank(const Parameters& all, const Cluster& cluster, std::int64_t rank);

}  // namespace jitterscope::physics
