// Files that describe clusters, what differs between ranks, and transfers over levels of links.
#include "physics/cluster.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "physics/preset.hpp"

namespace jitterscope::physics {
namespace {

using ::testing::HasSubstr;

const std::string kLink = "[[link]]\nranks = 8\nlatency_us = 2\nbandwidth_gb_per_s = 100\n";

std::string cluster_problem(const std::string& text) {
  try {
    parse_preset("base = \"quiet\"\n" + text, "mine.toml");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ClusterFile, IsReadWithItsUnits) {
  const Parameters read = parse_preset(
      "base = \"quiet\"\n[cluster]\nranks = 16\nclock_offset_s = 3\nclock_drift_ppm = 20\n" + kLink +
          "[[link]]\nranks = 64\nlatency_us = 5\nbandwidth_gb_per_s = 40\n"
          "[[straggler]]\nrank = 3\ncause = \"host\"\nsize_us = 50\nfrom_s = 1\nuntil_s = 2\n",
      "mine.toml");
  ASSERT_TRUE(read.cluster);
  const Cluster& cluster = *read.cluster;
  EXPECT_EQ(cluster.ranks, 16);
  EXPECT_EQ(cluster.clock_offset, seconds(3));
  EXPECT_NEAR(cluster.clock_drift, 20e-6, 1e-12);
  ASSERT_EQ(cluster.links.size(), 2u);
  EXPECT_EQ(cluster.links[1].latency, microseconds(5));
  EXPECT_EQ(cluster.links[1].bandwidth, 40e9);
  using enum Straggler::Cause;
  EXPECT_EQ(cluster.delay(host, 3, seconds(1.5)), microseconds(50));
  EXPECT_EQ(cluster.delay(host, 3, seconds(2.5)), Nanoseconds(0));
  EXPECT_EQ(cluster.delay(host, 2, seconds(1.5)), Nanoseconds(0));
  EXPECT_EQ(cluster.delay(gpu, 3, seconds(1.5)), Nanoseconds(0));
  EXPECT_FALSE(parse_preset("base = \"quiet\"\n", "mine.toml").cluster);
}

TEST(ClusterFile, WithABaseThatIsAClusterSaysWhatDiffers) {
  const Cluster base = find_preset("cluster-2xh200").cluster.value();
  const std::string kBase = "base = \"cluster-2xh200\"\n";
  const std::string kStraggler = "[[straggler]]\nrank = 1\ncause = \"gpu\"\nsize_us = 50\n";
  const Cluster late = parse_preset(kBase + kStraggler, "mine.toml").cluster.value();
  EXPECT_EQ(late.delay(Straggler::Cause::gpu, 1, seconds(1)), microseconds(50));
  EXPECT_EQ(late.ranks, base.ranks);
  EXPECT_EQ(late.cap_spread, base.cap_spread);
  ASSERT_EQ(late.links.size(), base.links.size());
  EXPECT_EQ(late.links[0].bandwidth, base.links[0].bandwidth);

  const Cluster more =
      parse_preset(kBase + "[cluster]\nranks = 4\n" + kStraggler, "mine.toml").cluster.value();
  EXPECT_EQ(more.ranks, 4);
  EXPECT_EQ(more.clock_spread, base.clock_spread);
  EXPECT_EQ(more.links.size(), base.links.size());
  EXPECT_EQ(more.stragglers.size(), 1u);

  const Cluster other_links = parse_preset(kBase + kLink, "mine.toml").cluster.value();
  ASSERT_EQ(other_links.links.size(), 1u);
  EXPECT_EQ(other_links.links[0].bandwidth, 100e9);
}

TEST(ClusterFile, ProblemsAreToldWithTheirLine) {
  EXPECT_THAT(cluster_problem("[[straggler]]\nrank = 1\ncause = \"gpu\"\n"),
              HasSubstr("mine.toml:2: links and stragglers are those of a cluster; add a table [cluster]"));
  EXPECT_THAT(cluster_problem("[[stragler]]\nrank = 1\n"), HasSubstr("did you mean 'straggler'?"));
  EXPECT_THAT(cluster_problem("[cluster]\nrank = 2\n" + kLink), HasSubstr("[cluster] lacks ranks"));
  EXPECT_THAT(cluster_problem("[cluster]\nranks = 2\nclok_spread = 0\n" + kLink),
              HasSubstr("mine.toml:4: [cluster] has no key 'clok_spread' (did you mean 'clock_spread'?)"));
  EXPECT_THAT(cluster_problem("[cluster]\nranks = 0\n" + kLink), HasSubstr("expected a whole number from 1"));
  EXPECT_THAT(cluster_problem("[cluster]\nranks = 2\n"), HasSubstr("no [[link]] joins all 2 ranks"));
  EXPECT_THAT(cluster_problem("[cluster]\nranks = 9\n" + kLink), HasSubstr("no [[link]] joins all 9 ranks"));
  EXPECT_THAT(cluster_problem("[cluster]\nranks = 2\n" + kLink + kLink), HasSubstr("joins more ranks"));
  EXPECT_THAT(
      cluster_problem("[cluster]\nranks = 2\n" + kLink + "[[straggler]]\nrank = 2\ncause = \"gpu\"\n"),
      HasSubstr("expected a whole number from 0 to 1"));
  EXPECT_THAT(cluster_problem("[cluster]\nranks = 2\n" + kLink + "[[straggler]]\nrank = 1\ncause = \"x\"\n"),
              HasSubstr("expected \"host\", \"gpu\" or \"wrong_values\""));
  const std::string kLate = "[cluster]\nranks = 2\n" + kLink + "[[straggler]]\nrank = 1\ncause = ";
  EXPECT_THAT(cluster_problem(kLate + "\"gpu\"\n"), HasSubstr("[[straggler]] lacks size_us"));
  EXPECT_THAT(cluster_problem(kLate + "\"host\"\nsize_us = 5\nfrom_s = 2\nuntil_s = 1\n"),
              HasSubstr("until_s: expected a number from 2 to 1000000000"));
  EXPECT_THAT(cluster_problem("[cluster]\nranks = 2\n[link]\nranks = 2\n"), HasSubstr("no list of tables"));
}

TEST(Cluster, TransfersGoOverTheSlowestLevel) {
  Cluster cluster{.ranks = 8, .links = {{8, microseconds(2), 100e9}, {64, microseconds(5), 40e9}}};
  EXPECT_NEAR(transfer_time(cluster, 1e6).value(), 3 * 2e3 + 10e3, 1e-6) << "8 ranks of one host";
  cluster.ranks = 32;
  EXPECT_NEAR(transfer_time(cluster, 1e6).value(), 3 * 2e3 + 2 * 5e3 + 25e3, 1e-6) << "4 hosts";
}

TEST(Cluster, RanksDifferByTheSpreadsAndStayTheSame) {
  const Parameters all = find_preset("h200");
  const Cluster cluster{.ranks = 64, .clock_spread = 0.02, .memory_spread = 0.01};
  double sum = 0, squares = 0;
  for (std::int64_t rank = 0; rank < 64; ++rank) {
    const Parameters own = of_rank(all, cluster, rank);
    const double relative = own.memory.dram_bandwidth / all.memory.dram_bandwidth - 1.0;
    sum += relative;
    squares += relative * relative;
    EXPECT_EQ(own.memory.dram_bandwidth, of_rank(all, cluster, rank).memory.dram_bandwidth);
    EXPECT_EQ(own.power.cap, all.power.cap);
    const double steps = own.governor.maximum_clock / all.governor.step;
    EXPECT_NEAR(steps, std::round(steps), 1e-6) << "clocks are multiples of the step";
  }
  EXPECT_NEAR(std::sqrt(squares / 64), 0.01, 0.003);
  EXPECT_NEAR(sum / 64, 0.0, 0.004);
}

TEST(Cluster, ThePresetIsWithinATenthOfNcclTestsFrom2MiBOn) {
  const Cluster cluster = find_preset("cluster-2xh200").cluster.value();
  for (const auto& [bytes, microseconds] :
       {std::pair(2.0 * (1 << 20), 28.9), std::pair(16.0 * (1 << 20), 78.0),
        std::pair(128.0 * (1 << 20), 465.0), std::pair(1024.0 * (1 << 20), 3240.0)}) {
    EXPECT_NEAR(transfer_time(cluster, bytes).value() / (microseconds * 1e3), 1.0, 0.1) << bytes;
  }
}

}  // namespace
}  // namespace jitterscope::physics
