// Defines the proof `collectives`: transfers, waits and late ranks of simulated clusters, whose truth is
// known.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "experiment/collectives.hpp"
#include "selftest/run_proofs.hpp"

namespace jitterscope::selftest {

/// A cluster with one late rank or none, and an all-reduce on it.
struct ClusterScene {
  enum class Late { none, gpu, host };
  std::int64_t ranks = 2, bytes = 1 << 20;
  Nanoseconds latency = {};  ///< of each doubling of ranks
  double bandwidth = 100e9;  ///< bytes/s
  Late late = Late::none;
  std::int64_t late_rank = 0;
  Nanoseconds late_by = {};
  std::uint64_t seed = 1;

  /// How long the collective takes once all ranks are there.
  Nanoseconds transfer() const;
  /// The file that `--device virtual:FILE` reads.
  std::string toml() const;
};

/// Draws a scene: 2 or 4 ranks, 16 KiB to 16 MiB, links of 5 to 30 us and 50 to 400 GB/s, a GPU that is late
/// by 5 to 500 us, or a host whose launches take 0.2 to 0.5 ms.
ClusterScene draw_cluster(ClusterScene::Late late, std::uint64_t seed);

struct CollectivesPlan {
  std::size_t late_gpus = 0, late_hosts = 0, alike = 0;
  double least = 0.95;  ///< share of the clusters that a line's claim must hold for
};
CollectivesPlan collectives_plan(bool quick);

/// Returns what `collectives` reads of a scene.
using ReadCluster = std::function<CollectiveResult(const ClusterScene&)>;
std::vector<ProofLine> prove_collectives(ProofContext& context, const CollectivesPlan& plan,
                                         const ReadCluster& read);

}  // namespace jitterscope::selftest
