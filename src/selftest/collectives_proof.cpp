// Proves, on simulated clusters, what a transfer takes, how long ranks wait, and for whom.
#include "selftest/collectives_proof.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"
#include "physics/cluster.hpp"
#include "selftest/proof.hpp"
#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {
namespace {

constexpr double kTransferTolerance = 0.01;
// A wait may be off by 1 us and 2 % of itself.
constexpr Nanoseconds kWaitTolerance = microseconds(1);
constexpr double kWaitShare = 0.02;
// From so much on the late rank is named.
constexpr Nanoseconds kNamedFrom = microseconds(10);

Operation all_reduce_of(const ClusterScene& scene) {
  constexpr std::int64_t kElement = 4;
  return among_ranks(
      Operation(Collective{.kind = CollectiveKind::all_reduce, .count = scene.bytes / kElement}),
      scene.ranks);
}

// As `collectives` plans a group.
Plan plan_of(const ClusterScene& scene, std::uint64_t group) {
  const MeasureOptions options = transfer_options(scene.seed + group);
  Plan plan;
  plan.ceilings = false;
  const Operation operation = all_reduce_of(scene);
  plan.groups = {{Trial{operation, options}}};
  plan.arrivals = ArrivalOptions{.operations = {operation}, .seed = options.seed};
  return plan;
}

CollectiveResult read_on_ranks(const MeasureOnRanks& measure, const ClusterScene& scene) {
  constexpr std::uint64_t kGroups = 4;
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "cluster.toml").string();
  std::ofstream(file) << scene.toml();
  std::vector<std::vector<RunRecord>> groups;
  for (std::uint64_t group = 0; group < kGroups; ++group)
    groups.push_back(measure("virtual:" + file, scene.ranks, plan_of(scene, group), scene.seed + group));
  const std::vector<std::string> operations = {all_reduce_of(scene).text()};
  return analyse_collective(groups, operations);
}

struct Counts {
  Frequency transfer, wait, named, unnamed, proven, slow_hosts;
};

void count(const ClusterScene& scene, const CollectiveResult& result, Counts& counts) {
  const double transfer = result.times.empty() ? 0.0 : result.times.front().time.median / scene.transfer();
  counts.transfer.add(std::abs(transfer - 1.0) <= kTransferTolerance);
  if (!result.waiting) throw FailedError("a simulated cluster gave no waits");
  const CollectiveWaiting& waiting = *result.waiting;
  using Late = ClusterScene::Late;
  const std::optional<std::int64_t> slow_host =
      result.launches ? result.launches->slow_host : std::optional<std::int64_t>();
  counts.slow_hosts.add(scene.late == Late::host ? slow_host == scene.late_rank : !slow_host);
  // A host that is always behind hides that it is delayed on purpose: the text says so.
  if (scene.late != Late::host) counts.proven.add(lateness_is_proven(waiting));
  if (scene.late == Late::none) return counts.unnamed.add(!waiting.late_rank);
  if (scene.late == Late::gpu) {
    const double error = std::abs((waiting.median - scene.late_by).value());
    counts.wait.add(error <= (kWaitTolerance + scene.late_by * kWaitShare).value());
  }
  if (scene.late_by >= kNamedFrom) counts.named.add(waiting.late_rank == scene.late_rank);
}

}  // namespace

Nanoseconds ClusterScene::transfer() const {
  const physics::Cluster cluster{.ranks = ranks,
                                 .links = {{.ranks = ranks, .latency = latency, .bandwidth = bandwidth}}};
  const double moved = static_cast<double>(bytes) * bus_factor(CollectiveKind::all_reduce, ranks);
  return physics::transfer_time(cluster, moved);
}

std::string ClusterScene::toml() const {
  std::string text = fmt::format(
      "base = \"h200\"\n[cluster]\nranks = {}\nseed = {}\nclock_spread = 0.005\nlink_noise = 0.01\n"
      "clock_offset_s = 3.0\nclock_drift_ppm = 50\n[[link]]\nranks = {}\nlatency_us = {}\n"
      "bandwidth_gb_per_s = {}\n",
      ranks, seed, ranks, latency / microseconds(1), bandwidth * 1e-9);
  if (late != Late::none) {
    text += fmt::format("[[straggler]]\nrank = {}\ncause = \"{}\"\nsize_us = {}\n", late_rank,
                        late == Late::gpu ? "gpu" : "host", late_by / microseconds(1));
  }
  return text;
}

ClusterScene draw_cluster(ClusterScene::Late late, std::uint64_t seed) {
  Random random(seed);
  ClusterScene scene{.late = late, .seed = seed % 1'000'000 + 1};
  scene.ranks = random.below(3) == 0 ? 4 : 2;
  scene.bytes = std::int64_t{1} << (14 + random.below(11));
  scene.latency = microseconds(random.uniform(5, 30));
  scene.bandwidth = random.uniform(50e9, 400e9);
  scene.late_rank = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(scene.ranks)));
  scene.late_by = late == ClusterScene::Late::host
                      ? microseconds(random.uniform(200, 500))
                      : microseconds(std::exp(random.uniform(std::log(5.0), std::log(500.0))));
  return scene;
}

CollectivesPlan collectives_plan(bool quick) {
  return quick ? CollectivesPlan{.late_gpus = 18, .late_hosts = 2, .alike = 18, .least = 0.9}
               : CollectivesPlan{.late_gpus = 60, .late_hosts = 20, .alike = 60};
}

std::vector<ProofLine> prove_collectives(ProofContext& context, const CollectivesPlan& plan,
                                         const ReadCluster& read) {
  using Late = ClusterScene::Late;
  std::vector<Late> scenes(plan.late_gpus, Late::gpu);
  scenes.insert(scenes.end(), plan.late_hosts, Late::host);
  scenes.insert(scenes.end(), plan.alike, Late::none);
  Counts counts;
  for (std::size_t i = 0; i < scenes.size(); ++i) {
    context.begin_step(i, scenes.size(), fmt::format("cluster {} of {}", i + 1, scenes.size()));
    const ClusterScene scene = draw_cluster(scenes[i], trial_seed(context.seed(), "collectives", i));
    count(scene, read(scene), counts);
  }
  return {
      at_least_line("transfer within 1 %", counts.transfer, plan.least, true,
                    "of an all-reduce between 2 or 4 ranks, whether one is late or not"),
      at_least_line("others' wait within 1 µs + 2 %", counts.wait, plan.least, true,
                    "for a GPU that is late by 5 to 500 µs; clocks of ranks are 3 s apart and drift"),
      at_least_line("late rank named", counts.named, plan.least, true, "of ranks late by 10 µs and more"),
      at_least_line("no rank named where all are alike", counts.unnamed, plan.least, true, ""),
      at_least_line("delays on purpose seen", counts.proven, plan.least, true,
                    "without hosts that are always behind, which hide them"),
      at_least_line("slow host named, and no other", counts.slow_hosts, plan.least, true,
                    "of hosts whose launches take 0.2 to 0.5 ms longer; of late GPUs and alike ranks none"),
  };
}

std::vector<ProofLine> prove_collectives(ProofContext& context) {
  const MeasureOnRanks& measure = context.options().measure_on_ranks;
  if (!measure) throw UsageError("nothing here can start ranks");
  return prove_collectives(context, collectives_plan(context.quick()),
                           [&](const ClusterScene& scene) { return read_on_ranks(measure, scene); });
}

}  // namespace jitterscope::selftest
