// Launches that wait for the device before they return: no gate can hold them.
#include <gmock/gmock.h>

#include "measure/launch_details.hpp"
#include "measure/operand_sets.hpp"
#include "measure/trials.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

// As cuDNN's recurrent networks: work, a wait, and more work.
void launch_and_wait(NativeQueue queue) {
  launch_kernel(queue);
  wait_for_queue(queue);
  launch_kernel(queue);
}

Script script_of_a_gpu(Nanoseconds kernel) {
  Script script;
  script.can_limit_hold = true;
  script.launch_time = [kernel](const auto&) { return kernel; };
  return script;
}

class Waiting final : public Workload {
 public:
  void run(NativeQueue queue) override { launch_and_wait(queue); }
};

TEST(WaitingLaunch, IsFoundOutWithinTheFirstCalls) {
  Bench bench(script_of_a_gpu(microseconds(50)));
  Waiting waiting;
  const FirstCall first = make_first_call(bench.device, *bench.queue, waiting, Nanoseconds(0));
  EXPECT_TRUE(first.waits_for_queue);
  EXPECT_GT(first.launch_time, microseconds(100));
  EXPECT_LT(first.launch_time, microseconds(130));
  EXPECT_LT(bench.device.host_time(), seconds(1.5));
  const FirstCall other = make_first_call(bench.device, *bench.queue, *bench.operation, Nanoseconds(0));
  EXPECT_FALSE(other.waits_for_queue);
}

TEST(WaitingLaunch, KnownToWaitMeetsNoGate) {
  class Known final : public Workload {
   public:
    void run(NativeQueue queue) override { launch_and_wait(queue); }
    bool waits_for_queue() const override { return true; }
  };
  Bench bench(script_of_a_gpu(microseconds(50)));
  Known known;
  EXPECT_TRUE(make_first_call(bench.device, *bench.queue, known, Nanoseconds(0)).waits_for_queue);
  EXPECT_EQ(count_of(bench.device.log(), Call::hold), 0);
}

// Its second and its third set of outputs are allocated in the held queue, and then none.
TEST(WaitingLaunch, OneThatLoadsOrAllocatesAFewTimesIsNone) {
  Bench bench(script_of_a_gpu(microseconds(50)));
  class Loading final : public Workload {
   public:
    void run(NativeQueue queue) override {
      ++calls_;
      if (calls_ == 2 || calls_ == 11) wait_for_queue(queue);
      launch_kernel(queue);
    }

   private:
    int calls_ = 0;
  };
  Loading loading;
  const FirstCall first = make_first_call(bench.device, *bench.queue, loading, Nanoseconds(0));
  EXPECT_FALSE(first.waits_for_queue);
  EXPECT_NEAR(first.launch_time.value(), 50e3, 5e3);
}

// Each launch takes longer than the short gate holds, and yet none of them waits.
TEST(WaitingLaunch, ASlowHostIsNone) {
  Script script = script_of_a_gpu(microseconds(50));
  script.launch_cost = [](auto) { return milliseconds(600); };
  Bench bench(script);
  const FirstCall first = make_first_call(bench.device, *bench.queue, *bench.operation, Nanoseconds(0));
  EXPECT_FALSE(first.waits_for_queue);
  EXPECT_EQ(first.launch_cost, milliseconds(600));
}

TEST(WaitingLaunch, IsTimedWithoutAGateAndSaysSo) {
  for (const CacheState cache : {CacheState::warm, CacheState::cold}) {
    for (const Load load : {Load::burst, Load::sustained}) {
      ScriptedDevice device(script_of_a_gpu(microseconds(50)));
      const Result result = measure(device, launch_and_wait, one_condition(cache, load));
      EXPECT_TRUE(result.waits_for_device);
      ASSERT_EQ(result.measurements.size(), 1u);
      const Measurement& measurement = result.measurements.front();
      EXPECT_EQ(measurement.conditions.queue, QueueMode::eager);
      EXPECT_EQ(measurement.instrument, Instrument::events);
      EXPECT_EQ(measurement.rounds.front().launches_per_value, 1) << "with a mark between launches";
      // Two kernels and what lies between them: the wait's 5 us and the second launch's 2 us.
      EXPECT_GT(measurement.time.median, microseconds(100));
      EXPECT_LT(measurement.time.median, microseconds(115));
    }
  }
}

TEST(WaitingLaunch, IsTracedWithoutAGate) {
  ScriptedDevice device(script_of_a_gpu(microseconds(50)));
  MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  options.instrument = Instrument::cupti;
  const Result result = measure(device, launch_and_wait, options);
  EXPECT_EQ(result.measurements.front().conditions.queue, QueueMode::eager);
  EXPECT_NEAR(result.measurements.front().time.median.value(), 107e3, 1e3);
}

TEST(WaitingLaunch, LeavesOthersOfTheSessionBehindTheirGate) {
  Laboratory laboratory(script_of_a_gpu(microseconds(50)));
  Waiting waiting;
  const std::vector<Result> results = laboratory.session.measure(
      {{{waiting, "waiting", one_condition(CacheState::warm, Load::burst)}},
       {{*laboratory.operation, "operation", one_condition(CacheState::warm, Load::burst)}}});
  EXPECT_TRUE(results[0].waits_for_device);
  EXPECT_FALSE(results[1].waits_for_device);
  EXPECT_EQ(results[0].measurements.front().conditions.queue, QueueMode::eager);
  EXPECT_EQ(results[1].measurements.front().conditions.queue, QueueMode::saturated);
  EXPECT_NEAR(results[1].measurements.front().time.median.value(), 50e3, 200);
}

TEST(WaitingLaunch, SetsOfOperandsWaitAsTheirOperationDoes) {
  const auto device = open_device("virtual:h200");
  const auto sets_of = [&](const char* operation) {
    std::vector<std::unique_ptr<PreparedOperation>> sets;
    sets.push_back(device->prepare(Operation::parse(operation), {}));
    return RotatingWorkload(std::move(sets));
  };
  EXPECT_TRUE(sets_of("copy:bytes=1Mi,kind=h2d,memory=pageable").waits_for_queue());
  EXPECT_FALSE(sets_of("copy:bytes=1Mi,kind=h2d").waits_for_queue());
}

}  // namespace
}  // namespace jitterscope::scripted
