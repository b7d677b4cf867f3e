#include <gmock/gmock.h>

#include "finding/simulated.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<Finding> with_proof(std::optional<CacheProof> proof) {
  FindingContext context = simulated::context();
  context.cache_proof = proof;
  return machine_findings(context);
}

TEST(ColdNotProven, AFailedProofGivesAllThreeTimes) {
  const auto findings =
      with_proof(CacheProof{microseconds(3.26), microseconds(4.93), microseconds(3.2), false});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].id, "cold_not_proven");
  EXPECT_THAT(findings[0].sentence, HasSubstr("3.260 µs after eviction, in 4.930 µs when never touched"));
  EXPECT_DOUBLE_EQ(simulated::evidence_number(findings[0], "untouched_read_s"), 4.93e-6);
}

TEST(ColdNotProven, AProofThatHoldsOrWasNotNeededIsNone) {
  EXPECT_THAT(with_proof(CacheProof{microseconds(4.9), microseconds(4.93), microseconds(3.2), true}),
              IsEmpty());
  EXPECT_THAT(with_proof(std::nullopt), IsEmpty());
}

}  // namespace
}  // namespace jitterscope
