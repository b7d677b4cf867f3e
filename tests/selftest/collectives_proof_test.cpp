#include "selftest/collectives_proof.hpp"

#include "physics/preset.hpp"
#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

using Late = ClusterScene::Late;

// What a tool that is right reads.
CollectiveResult truth_of(const ClusterScene& scene) {
  const Nanoseconds transfer = scene.transfer();
  CollectiveWaiting waiting;
  if (scene.late == Late::gpu) waiting.median = scene.late_by;
  waiting.proofs.emplace_back().holds = true;
  if (scene.late != Late::none) waiting.late_rank = scene.late_rank;
  CollectiveResult result;
  result.launches.emplace();
  if (scene.late == Late::host) result.launches->slow_host = scene.late_rank;
  result.times.emplace_back().time = {transfer, transfer, transfer, 1};
  result.waiting = waiting;
  return result;
}

constexpr CollectivesPlan kMany{.late_gpus = 80, .late_hosts = 40, .alike = 60};

std::vector<Verdict> verdicts_on(const ReadCluster& read) {
  Court court;
  return verdicts(prove_collectives(court.context, kMany, read));
}

TEST(CollectivesProof, PassesWhereTheTruthIsRead) {
  EXPECT_THAT(verdicts_on(truth_of), testing::Each(Verdict::passed));
}

TEST(CollectivesProof, MissesATransferThatIsOff) {
  const auto lines = verdicts_on([](const ClusterScene& scene) {
    CollectiveResult read = truth_of(scene);
    read.times[0].time.median = read.times[0].time.median * 1.02;
    return read;
  });
  EXPECT_EQ(lines[0], Verdict::missed);
}

TEST(CollectivesProof, MissesAWaitThatIsOff) {
  const auto lines = verdicts_on([](const ClusterScene& scene) {
    CollectiveResult read = truth_of(scene);
    read.waiting->median += microseconds(12);
    return read;
  });
  EXPECT_EQ(lines[1], Verdict::missed);
}

TEST(CollectivesProof, MissesWhereAnotherRankIsNamed) {
  const auto lines = verdicts_on([](const ClusterScene& scene) {
    CollectiveResult read = truth_of(scene);
    read.waiting->late_rank = 1 - scene.late_rank % 2;
    return read;
  });
  EXPECT_EQ(lines[2], Verdict::missed);
  EXPECT_EQ(lines[3], Verdict::missed) << "where all are alike";
}

TEST(CollectivesProof, MissesDelaysThatWereNotSeen) {
  const auto lines = verdicts_on([](const ClusterScene& scene) {
    CollectiveResult read = truth_of(scene);
    read.waiting->proofs[0].holds = false;
    return read;
  });
  EXPECT_EQ(lines[4], Verdict::missed);
}

TEST(CollectivesProof, MissesASlowHostThatIsNotNamed) {
  const auto lines = verdicts_on([](const ClusterScene& scene) {
    CollectiveResult read = truth_of(scene);
    read.launches->slow_host.reset();
    return read;
  });
  EXPECT_EQ(lines[5], Verdict::missed);
}

TEST(CollectivesProof, MissesAHostThatIsCalledSlowForALateGpu) {
  const auto lines = verdicts_on([](const ClusterScene& scene) {
    CollectiveResult read = truth_of(scene);
    read.launches->slow_host = read.waiting->late_rank;
    return read;
  });
  EXPECT_EQ(lines[5], Verdict::missed);
}

TEST(ClusterScene, IsAFileThatSimulatedGpusAreMadeOf) {
  const ClusterScene scene{.ranks = 4,
                           .latency = microseconds(10),
                           .bandwidth = 200e9,
                           .late = Late::gpu,
                           .late_rank = 3,
                           .late_by = microseconds(40)};
  const physics::Parameters read = physics::parse_preset(scene.toml(), "cluster.toml");
  ASSERT_TRUE(read.cluster);
  EXPECT_EQ(read.cluster->ranks, 4);
  ASSERT_EQ(read.cluster->stragglers.size(), 1u);
  EXPECT_NEAR(read.cluster->stragglers[0].size.value(), 40e3, 1.0);
  // Two doublings, and 1.5 times the bytes.
  EXPECT_NEAR(scene.transfer().value(), 20e3 + 1.5 * (1 << 20) / 200.0, 1.0);
}

TEST(DrawCluster, IsTheSameForASeed) {
  EXPECT_EQ(draw_cluster(Late::gpu, 7).toml(), draw_cluster(Late::gpu, 7).toml());
  EXPECT_NE(draw_cluster(Late::gpu, 7).toml(), draw_cluster(Late::gpu, 8).toml());
}

}  // namespace
}  // namespace jitterscope::selftest
