#include <cuda.h>

#include "cuda_test.hpp"
#include "device/cuda/driver.hpp"

namespace jitterscope {
namespace {

class CudaQueueTest : public CudaTest {
 protected:
  // Median over launches by event pairs in a held queue.
  Nanoseconds time_of(Workload& workload) {
    queue().launch(workload);
    queue().wait();
    queue().hold();
    std::vector<Mark> marks = {queue().mark()};
    for (int i = 0; i < 20; ++i) {
      queue().launch(workload);
      marks.push_back(queue().mark());
    }
    queue().wait();
    std::vector<Nanoseconds> times;
    for (std::size_t i = 1; i < marks.size(); ++i) times.push_back(queue().elapsed(marks[i - 1], marks[i]));
    return median(times);
  }
};

// Events carry about 3 us (2.9 and the kernel's own 0.6 on an H200; with 1056 blocks 4.1 on one, 5.2 on
// another).
TEST_F(CudaQueueTest, SpinsAsLongAsAsked) {
  for (const int blocks : {1, 132, 1056}) {
    for (const int amount : {2000, 10000, 50000}) {
      auto spin =
          prepare("spin:ns=" + std::to_string(amount) + ",blocks=" + std::to_string(blocks) + ",threads=32");
      const Nanoseconds over = time_of(*spin) - Nanoseconds(amount);
      EXPECT_GT(over, Nanoseconds(-50)) << blocks << " blocks, " << amount << " ns";
      EXPECT_LT(over, microseconds(8)) << blocks << " blocks, " << amount << " ns";
    }
  }
}

TEST_F(CudaQueueTest, SpinsAsManyCyclesAsAsked) {
  auto spin = prepare("spin:cycles=10000000,blocks=1,threads=32");
  queue().hold();
  const ClockStamp from = queue().stamp_clock();
  const Mark start = queue().mark();
  queue().launch(*spin);
  const Mark end = queue().mark();
  const ClockStamp to = queue().stamp_clock();
  queue().wait();
  const auto clock = queue().clock_between(from, to);
  ASSERT_TRUE(clock);
  EXPECT_NEAR(cycles_in(queue().elapsed(start, end), clock->frequency).value(), 1e7, 1e5);
}

TEST_F(CudaQueueTest, StampsGiveAClockThatTheGpuCanHave) {
  auto spin = prepare("spin:ns=5000000,blocks=1,threads=32");
  const Hertz maximum = device().describe().maximum_clock.value();
  for (int i = 0; i < 5; ++i) {
    const ClockStamp from = queue().stamp_clock();
    queue().launch(*spin);
    const ClockStamp to = queue().stamp_clock();
    queue().wait();
    const auto clock = queue().clock_between(from, to);
    ASSERT_TRUE(clock);
    EXPECT_GT(clock->frequency, megahertz(200));
    EXPECT_LT(clock->frequency, maximum * 1.05);
    EXPECT_GE(clock->window, milliseconds(5));
  }
}

TEST_F(CudaQueueTest, NoStampIsLostOverTheWholeRing) {
  std::vector<ClockStamp> stamps;
  for (std::uint32_t i = 0; i < Queue::kRingSize + 8; ++i) {
    stamps.push_back(queue().stamp_clock());
    if (i % 64 == 63) queue().wait();
  }
  queue().wait();
  for (std::size_t i = stamps.size() - Queue::kRingSize + 1; i < stamps.size(); ++i) {
    EXPECT_TRUE(queue().clock_between(stamps[i - 1], stamps[i])) << i;
  }
}

TEST_F(CudaQueueTest, AStampThatWasNotReachedGivesNothing) {
  const ClockStamp from = queue().stamp_clock();
  queue().wait();
  queue().hold();
  const ClockStamp behind = queue().stamp_clock();
  EXPECT_FALSE(queue().clock_between(from, behind));
  queue().wait();
  EXPECT_TRUE(queue().clock_between(from, behind));
}

// The second round launches into the stream after the first queue is gone: it must not have been destroyed.
TEST_F(CudaQueueTest, RunsOnAStreamOfItsOwner) {
  CUstream stream = nullptr;
  cuda::check(cuda::driver().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "making a stream");
  auto ones = prepare("fill:count=1048576,dtype=f32");
  for (int round = 0; round < 2; ++round) {
    ones->poison_outputs();
    const auto adopted = device().adopt_queue(stream);
    EXPECT_EQ(adopted->native(), stream);
    adopted->hold();
    const Mark before = adopted->mark();
    adopted->launch(*ones);
    const Mark behind = adopted->mark();
    queue().wait();  // another stream, which no gate holds
    adopted->wait();
    EXPECT_GT(adopted->elapsed(before, behind), Nanoseconds(0));
    EXPECT_EQ(ones->read_operand(0), std::vector<double>(1048576, 1.0));
  }
  cuda::check(cuda::driver().cuStreamDestroy(stream), "destroying the stream of the test");
}

// PyTorch's current stream, unless the program chose another.
TEST_F(CudaQueueTest, RunsOnTheDefaultStream) {
  auto ones = prepare("fill:count=1048576,dtype=f32");
  const auto adopted = device().adopt_queue(nullptr);
  adopted->hold();
  adopted->launch(*ones);
  adopted->wait();
  EXPECT_EQ(ones->read_operand(0), std::vector<double>(1048576, 1.0));
}

TEST_F(CudaQueueTest, WorkRunsInTheOrderLaunched) {
  auto ones = prepare("fill:count=1048576,dtype=f32");
  const MemoryRegion out = ones->memory().at(0);
  FunctionWorkload zeros([&](NativeQueue stream) {
    cuda::check(cuda::driver().cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(out.address), 0,
                                               static_cast<std::size_t>(out.size.value()),
                                               static_cast<CUstream>(stream)),
                "clearing");
  });
  queue().hold();
  for (int i = 0; i < 10; ++i) {
    queue().launch(*ones);
    queue().launch(zeros);
  }
  queue().wait();
  EXPECT_EQ(ones->read_operand(0), std::vector<double>(1048576, 0.0));
  queue().launch(zeros);
  EXPECT_EQ(run_and_read(*ones), std::vector<double>(1048576, 1.0));
}

}  // namespace
}  // namespace jitterscope
