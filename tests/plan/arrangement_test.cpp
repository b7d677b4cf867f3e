#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "plan/arrangement.hpp"
#include "plan/networks.hpp"

namespace jitterscope::plan {
namespace {

TEST(Arrangement, SaysWhatItIs) {
  EXPECT_EQ(to_text({}), "one GPU");
  EXPECT_EQ(to_text({.grid = {.data = 4}}), "DP 4, buckets of 25 MiB");
  EXPECT_EQ(to_text({.grid = {.data = 4}, .way = {.sharding = Sharding::parameters}}), "DP 4, ZeRO 3");
  EXPECT_EQ(to_text({.grid = {.data = 2, .tensor = 4, .pipeline = 8}, .by_sequence = true}),
            "DP 2 × TP 4 × PP 8, sequence parallel, 1F1B");
  EXPECT_EQ(
      to_text(
          {.grid = {.pipeline = 2}, .schedule = Schedule::interleaved, .chunks = 2, .cut = StageCut::layers}),
      "PP 2, interleaved × 2, cut by layers");
}

TEST(Arrangement, APipelineHoldsWhatItsScheduleKeepsAlive) {
  const NetworkCosts network = equal_blocks(4, Nanoseconds(10), Nanoseconds(20), Bytes(1000));
  const TransferCosts none;
  const Job job{.network = network, .around = {.transfers = none}, .micro_batches = 16};
  const auto activations = [&](Schedule schedule, std::int64_t chunks) {
    return memory_of(job, {.grid = {.pipeline = 2}, .schedule = schedule, .chunks = chunks}).activations;
  };
  EXPECT_EQ(activations(Schedule::gpipe, 1), Bytes(16 * 200));
  EXPECT_EQ(activations(Schedule::one_f_one_b, 1), Bytes(2 * 200));
  // Two chunks of one layer each: warm-up 2 (p - 1) + (v - 1) p = 4, and one more.
  EXPECT_EQ(activations(Schedule::interleaved, 2), Bytes(5 * 100));
  EXPECT_EQ(memory_of(job, {.grid = {.pipeline = 2}}).weights, Bytes(2000));
}

TEST(Arrangement, FitsOrNot) {
  const NetworkCosts network = equal_blocks(4, Nanoseconds(10), Nanoseconds(20), Bytes(1000));
  const TransferCosts none;
  const Job job{.network = network, .around = {.transfers = none}, .memory = Bytes(20'000)};
  // Weights 4000, gradients 4000, optimizer 24000, activations 400.
  const PeakMemory alone = memory_of(job, {});
  EXPECT_EQ(alone.sum(), Bytes(32'400));
  EXPECT_FALSE(fits(job, alone));
  EXPECT_TRUE(fits(job, memory_of(job, {.grid = {.pipeline = 2}})));
}

}  // namespace
}  // namespace jitterscope::plan
