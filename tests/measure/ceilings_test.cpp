#include "measure/machine.hpp"

#include <gmock/gmock.h>

#include <array>

#include "jitterscope/error.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

TEST(Ceilings, AreRatesOfTheFastestBurst) {
  Laboratory laboratory;
  // Four launches of each operation are slow, all later ones last a millisecond.
  laboratory.device.script().launch_time = [](const LaunchContext& context) {
    return milliseconds(context.index < 4 ? 3 : 1);
  };
  const std::array types = {DataType::bf16, DataType::f32};
  const Ceilings ceilings = measure_ceilings(laboratory.session, types);
  ASSERT_TRUE(ceilings.bytes_per_second);
  EXPECT_NEAR(*ceilings.bytes_per_second / (2.0 * (1 << 30) / 1e-3), 1.0, 1e-3);
  ASSERT_EQ(ceilings.compute.size(), 2u);
  for (const auto& ceiling : ceilings.compute) {
    EXPECT_NEAR(ceiling.flops_per_second / (Operation::parse(ceiling.operation).flops() / 1e-3), 1.0, 1e-3);
  }
}

TEST(Ceilings, TypeThatTheDeviceLacksIsLeftOut) {
  Script script;
  script.missing_types = {DataType::f16};
  Laboratory laboratory(script);
  const std::array types = {DataType::f16, DataType::bf16};
  const Ceilings ceilings = measure_ceilings(laboratory.session, types);
  ASSERT_EQ(ceilings.compute.size(), 1u);
  EXPECT_EQ(ceilings.compute.front().dtype, DataType::bf16);
}

TEST(Ceilings, FailureOfTheDeviceIsNotHidden) {
  Laboratory laboratory;
  laboratory.device.script().failure = Failure{Call::wait, laboratory.device.state().counts[Call::wait] + 9};
  const std::array types = {DataType::bf16};
  EXPECT_THROW(measure_ceilings(laboratory.session, types), FailedError);
}

CacheProof proof_of(std::function<Nanoseconds(const LaunchContext&)> launch_time) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = std::move(launch_time);
  return prove_cold(laboratory.session);
}

TEST(CacheProof, EvictionThatEvictsIsProven) {
  const CacheProof proof = proof_of([](const LaunchContext& context) {
    return context.cache == CacheState::cold ? microseconds(8) : microseconds(6);
  });
  EXPECT_TRUE(proof.proven);
  EXPECT_NEAR(proof.cached_read.value(), 6e3, 100);
  EXPECT_NEAR(proof.evicted_read.value(), 8e3, 100);
  EXPECT_NEAR(proof.untouched_read.value(), 8e3, 100);
}

TEST(CacheProof, HostThatIsSlowDoesNotLengthenTheCachedRead) {
  Laboratory laboratory;
  laboratory.device.script().launch_cost = [](auto) { return microseconds(30); };
  laboratory.device.script().launch_time = [](const LaunchContext& context) {
    return context.cache == CacheState::cold ? microseconds(8) : microseconds(6);
  };
  EXPECT_TRUE(prove_cold(laboratory.session).proven);
}

// Another program works beside the first try.
TEST(CacheProof, ADisturbedProofIsTriedAgain) {
  int launches = 0;
  const CacheProof proof = proof_of([&launches](const LaunchContext& context) {
    constexpr int kOfOneTry = 1 + 3 * 64;
    const bool is_disturbed = ++launches <= kOfOneTry && launches > kOfOneTry - 64;
    return microseconds(context.cache == CacheState::cold ? (is_disturbed ? 9 : 8) : 6);
  });
  EXPECT_TRUE(proof.proven);
  EXPECT_GT(launches, 300);
  EXPECT_NEAR(proof.untouched_read.value(), 8e3, 100);
}

TEST(CacheProof, EvictionThatDoesNothingIsNotProven) {
  // The third of a hundred that noise leaves between two readings is no proof.
  for (const double slower : {1.0, 1.003}) {
    const CacheProof proof = proof_of([slower](const LaunchContext& context) {
      return microseconds(context.cache == CacheState::cold ? 60 * slower : 60);
    });
    EXPECT_FALSE(proof.proven);
  }
}

TEST(CacheProof, EvictionThatLeavesAPartIsNotProven) {
  // Launch 0 prepares, 7 are cached, 7 follow one eviction, 7 follow four.
  const CacheProof proof = proof_of([](const LaunchContext& context) {
    return microseconds(context.index < 8 ? 6 : context.index < 15 ? 7 : 8);
  });
  EXPECT_FALSE(proof.proven);
}

}  // namespace
}  // namespace jitterscope::scripted
