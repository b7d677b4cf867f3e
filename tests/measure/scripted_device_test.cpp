#include <gmock/gmock.h>

#include <stdexcept>

#include "jitterscope/error.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

Script exact_script() {
  Script script;
  script.events_noise = script.grain = Nanoseconds(0);
  return script;
}

TEST(ScriptedDevice, WaitOnClosedGateIsNoticed) {
  Bench bench;
  bench.queue->hold();
  const Mark mark = bench.queue->mark();
  EXPECT_THROW(bench.queue->wait(), std::logic_error);
  EXPECT_THROW(bench.queue->wait_for(mark), std::logic_error);
  bench.queue->release();
  EXPECT_NO_THROW(bench.queue->wait_for(mark));
}

TEST(ScriptedDevice, MarkIsNotReadBeforeItIsPassed) {
  Bench bench(exact_script());
  const Mark before = bench.queue->mark();
  bench.queue->launch(*bench.operation);
  const Mark after = bench.queue->mark();
  EXPECT_THROW(bench.queue->elapsed(before, after), std::logic_error);
  bench.queue->wait();
  EXPECT_DOUBLE_EQ(bench.queue->elapsed(before, after).value(), 102e3);
}

TEST(ScriptedDevice, IdleQueueShowsLaunchGapsAndAGatedOneDoesNot) {
  Script script = exact_script();
  script.launch_time = [](const auto&) { return microseconds(1); };
  script.launch_cost = [](auto) { return microseconds(10); };
  Bench bench(script);
  const auto three_launches = [&] {
    const Mark before = bench.queue->mark();
    for (int i = 0; i < 3; ++i) bench.queue->launch(*bench.operation);
    const Mark after = bench.queue->mark();
    bench.queue->release();
    bench.queue->wait();
    return bench.queue->elapsed(before, after).value();
  };
  EXPECT_GT(three_launches(), 30e3);
  bench.queue->hold();
  EXPECT_DOUBLE_EQ(three_launches(), 5e3);
}

TEST(ScriptedDevice, FailsAtTheCallThatTheScriptNames) {
  Script script;
  script.failure = Failure{Call::launch, 2};
  Bench bench(script);
  EXPECT_NO_THROW(bench.queue->launch(*bench.operation));
  EXPECT_THROW(bench.queue->launch(*bench.operation), FailedError);
  EXPECT_NO_THROW(bench.queue->launch(*bench.operation));
}

TEST(ScriptedDevice, EndlessLoopIsNoticed) {
  Script script;
  script.time_limit = seconds(1);
  Bench bench(script);
  EXPECT_THROW(while (true) bench.device.idle(milliseconds(100)), std::logic_error);
}

}  // namespace
}  // namespace jitterscope::scripted
