#include <cuda.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include "cuda_test.hpp"
#include "device/cuda/cuda_queue.hpp"
#include "device/cuda/driver.hpp"
#include "jitterscope/measure.hpp"
#include "measure/trials.hpp"

namespace jitterscope {
namespace {

class CudaHold : public CudaTest {};

TEST_F(CudaHold, HoldsLaterWorkUntilItOpens) {
  const Mark before = queue().mark();
  queue().wait_for(before);
  queue().hold();
  const Mark behind = queue().mark();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  queue().release();
  queue().wait();
  EXPECT_GE(queue().elapsed(before, behind), milliseconds(20));
}

TEST_F(CudaHold, WaitingOpensItFirst) {
  queue().hold();
  const Mark behind = queue().mark();
  queue().wait_for(behind);
  queue().hold();
  EXPECT_NO_THROW(queue().wait());
}

TEST_F(CudaHold, WaitingForAMarkBeforeItLeavesItClosed) {
  const Mark before = queue().mark();
  queue().hold();
  queue().wait_for(before);
  EXPECT_THROW(queue().hold(), std::logic_error);
  queue().wait();
}

TEST_F(CudaHold, ClosesAgainAndAgain) {
  for (int i = 0; i < 100; ++i) {
    queue().hold();
    queue().release();
    queue().release();
  }
  EXPECT_NO_THROW(queue().wait());
}

TEST_F(CudaHold, GivesUpAfterItsLimitAndSaysSo) {
  const cuda::Context context(0);
  cuda::CudaQueue impatient(context, context.stream(), milliseconds(200));
  impatient.hold();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_THROW(impatient.wait(), FailedError);
  impatient.hold();
  EXPECT_NO_THROW(impatient.wait());
}

TEST_F(CudaHold, AQueueThatDiesOpensIt) {
  auto other = device().make_queue();
  other->hold();
  other.reset();
  EXPECT_NO_THROW(queue().wait());
}

// A launch that finds the stream full blocks until the gate gives up, and then wait() throws.
TEST_F(CudaHold, HoldsFourHundredLaunchesWithMarks) {
  auto empty = prepare("spin:ns=0,blocks=1,threads=32");
  queue().launch(*empty);
  queue().wait();
  queue().hold();
  for (int i = 0; i < 400; ++i) {
    queue().launch(*empty);
    queue().mark();
  }
  EXPECT_NO_THROW(queue().wait());
}

// Says how many launches with a mark each fit before the host blocks.
TEST_F(CudaHold, CapacityOfTheStreamIsKnown) {
  const cuda::Context context(0);
  cuda::CudaQueue impatient(context, context.stream(), milliseconds(500));
  auto empty = prepare("spin:ns=0,blocks=1,threads=32");
  impatient.launch(*empty);
  impatient.wait();
  impatient.hold();
  int launches = 0;
  for (bool blocked = false; !blocked && launches < 4000; ++launches) {
    const Nanoseconds start = device().host_time();
    impatient.launch(*empty);
    impatient.mark();
    blocked = device().host_time() - start > milliseconds(50);
  }
  try {
    impatient.wait();
  } catch (const FailedError&) {
  }
  RecordProperty("launches_with_a_mark_behind_a_gate", launches);
  std::cout << launches << " launches with a mark each fit behind the gate\n";
  EXPECT_GE(launches, 400);
}

TEST_F(CudaHold, PageableCopiesDoNotDeadlockBehindIt) {
  auto copy = prepare("copy:bytes=16Mi,kind=h2d,memory=pageable");
  queue().hold();
  queue().launch(*copy);
  EXPECT_NO_THROW(queue().wait());
}

// As cuDNN's recurrent networks wait in the middle of their launch.
TEST_F(CudaHold, ALaunchThatWaitsForTheGpuIsTimedWithoutIt) {
  auto spin = prepare("spin:ns=200000,blocks=1,threads=32");
  const Launch waiting = [&](NativeQueue stream) {
    spin->run(stream);
    cuda::check(cuda::driver().cuStreamSynchronize(static_cast<CUstream>(stream)), "waiting within a launch");
    spin->run(stream);
  };
  MeasureOptions options;
  options.caches = {CacheState::warm, CacheState::cold};
  options.loads = {Load::burst};
  const Nanoseconds start = device().host_time();
  const Result result = measure(device(), waiting, options);
  EXPECT_LT(device().host_time() - start, seconds(9)) << "no gate of 10 s may have been waited for";
  EXPECT_TRUE(result.waits_for_device);
  for (const Measurement& measurement : result.measurements) {
    EXPECT_EQ(measurement.conditions.queue, QueueMode::eager);
    EXPECT_GE(measurement.time.median, microseconds(400));
    EXPECT_LT(measurement.time.median, microseconds(600));
  }
}

TEST_F(CudaHold, APageableCopyInSetsIsTimedWithoutIt) {
  Session session(device());
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  const Result result = measure_operation(
      session, Operation::parse("copy:bytes=16Mi,kind=h2d,memory=pageable"), options, false);
  EXPECT_TRUE(result.waits_for_device);
  EXPECT_EQ(result.measurements.at(0).conditions.queue, QueueMode::eager);
}

TEST_F(CudaHold, AnOperationThatDoesNotWaitStaysBehindIt) {
  auto spin = prepare("spin:ns=200000,blocks=1,threads=32");
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  const Result result = measure(
      device(), [&](NativeQueue stream) { spin->run(stream); }, options);
  EXPECT_FALSE(result.waits_for_device);
  EXPECT_EQ(result.measurements.at(0).conditions.queue, QueueMode::saturated);
}

}  // namespace
}  // namespace jitterscope
