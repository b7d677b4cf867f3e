// How often a choice by timing falls on which engine, on a device whose launches take what the test says.
#include "explain/engine_shares.hpp"
#include "measure/subject.hpp"

#include <gmock/gmock.h>

#include "operation/operation.hpp"
#include "support/scripted_device.hpp"

namespace jitterscope::scripted {
namespace {

using testing::HasSubstr;

TEST(EngineShares, AChoiceThatTurnsIsCounted) {
  ScriptedDevice device;
  for (const char* tag : {"a", "b"}) {
    device.script().engines.push_back({tag, Bytes(0), EngineListing::Source::heuristic, ""});
  }
  device.script().events_noise = Nanoseconds(0);
  int launches_of_b = 0;
  device.script().launch_time = [&](const LaunchContext& context) {
    if (context.operation == nullptr || engine_of(*context.operation) != "b") return microseconds(80);
    return microseconds(++launches_of_b % 8 == 0 ? 100
                                                 : 60);  // each fourth timed launch, behind one that warms up
  };
  Session session(device);
  const Operation convolution = Operation::parse("conv2d:n=1,c=8,hw=8,k=8,rs=3");
  const explain::EngineShares shares = explain::count_choices(session, convolution, 1, seconds(10));
  EXPECT_EQ(shares.choices, 12);
  ASSERT_EQ(shares.engines.size(), 2u);
  EXPECT_EQ(shares.engines[0].engine, "b");
  EXPECT_EQ(shares.engines[0].choices, 9);
  EXPECT_THAT(explain::sentence_of(shares),
              testing::AllOf(HasSubstr("of 12 choices"), HasSubstr("b was taken 9 times")));
  EXPECT_EQ(explain::count_choices(session, convolution, 1, Nanoseconds(-1)).choices, 0);
}

TEST(EngineShares, WhereThereIsNoChoiceNothingIsSaid) {
  ScriptedDevice device;
  Session session(device);
  const explain::EngineShares shares =
      explain::count_choices(session, Operation::parse("relu:count=1024"), 1, seconds(10));
  EXPECT_EQ(shares.choices, 0);
  EXPECT_THAT(explain::sentence_of(shares), testing::IsEmpty());
}

}  // namespace
}  // namespace jitterscope::scripted
