#include <cuda.h>

#include <cmath>
#include <stdexcept>

#include "cuda_test.hpp"
#include "device/cuda/driver.hpp"

namespace jitterscope {
namespace {

class CudaRecordingTest : public CudaTest {};

TEST_F(CudaRecordingTest, ReplaysEveryLaunch) {
  auto spin = prepare("spin:ns=100000,blocks=1,threads=32");
  auto recording = queue().record([&](Queue& recorded) {
    for (int i = 0; i < 5; ++i) recorded.launch(*spin);
  });
  queue().wait();
  const Mark start = queue().mark();
  queue().replay(*recording);
  queue().replay(*recording);
  const Mark end = queue().mark();
  queue().wait();
  EXPECT_GE(queue().elapsed(start, end), microseconds(1000));
  EXPECT_LT(queue().elapsed(start, end), microseconds(1900));
}

// As PyTorch records a launch of its own: the graph stands in a recording of ours as often as it is launched
// there, between evictions too, and is as long as what it was recorded of.
TEST_F(CudaRecordingTest, HoldsGraphsOfOthersInTheirPlace) {
  class Recorded final : public Workload {
   public:
    Recorded(PreparedOperation& work, NativeQueue queue) {
      const auto stream = static_cast<CUstream>(queue);
      using cuda::check, cuda::driver;
      check(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "beginning");
      for (int i = 0; i < 2; ++i) work.run(queue);
      check(driver().cuStreamEndCapture(stream, &graph_), "ending");
    }
    ~Recorded() override { cuda::driver().cuGraphDestroy(graph_); }
    void run(NativeQueue) override { FAIL() << "launched in place of its graph"; }
    NativeGraph graph() const override { return graph_; }

   private:
    CUgraph graph_ = nullptr;
  };
  auto spin = prepare("spin:ns=100000,blocks=1,threads=32");
  queue().launch(*spin);  // what is loaded lazily cannot be in a recording
  queue().wait();
  Recorded recorded(*spin, queue().native());
  for (const CacheState state : {CacheState::warm, CacheState::dirty}) {
    auto recording = queue().record([&](Queue& recording_queue) {
      for (int i = 0; i < 5; ++i) {
        recording_queue.set_cache(state, recorded);
        recording_queue.launch(recorded);
      }
    });
    queue().replay(*recording);
    queue().wait();
    const Mark start = queue().mark();
    queue().replay(*recording);
    const Mark end = queue().mark();
    queue().wait();
    EXPECT_GE(queue().elapsed(start, end), microseconds(1000));
    EXPECT_LT(queue().elapsed(start, end), microseconds(2500));
  }
}

TEST_F(CudaRecordingTest, RecordingRunsNothingYet) {
  auto fill = prepare("fill:count=1000,dtype=f32");
  auto recording = queue().record([&](Queue& recorded) { recorded.launch(*fill); });
  queue().wait();
  EXPECT_TRUE(std::isnan(fill->read_operand(0).front()));
  queue().replay(*recording);
  queue().wait();
  EXPECT_EQ(fill->read_operand(0), std::vector<double>(1000, 1.0));
}

TEST_F(CudaRecordingTest, TakesEveryCacheState) {
  auto relu = prepare("relu:count=100000,dtype=f32");
  for (const CacheState state :
       {CacheState::warm, CacheState::cold, CacheState::dirty, CacheState::produced}) {
    relu->poison_outputs();
    auto recording = queue().record([&](Queue& recorded) {
      recorded.set_cache(state, *relu);
      recorded.launch(*relu);
    });
    queue().replay(*recording);
    queue().wait();
    const std::vector<double> x = relu->read_operand(0);
    const std::vector<double> y = relu->read_operand(1);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], std::max(x[i], 0.0));
  }
}

// Work on a second stream between replays would put the process into a state in which each node takes 0.18 us
// more, for good: operands must be filled, poisoned and read on the queue's own stream.
TEST_F(CudaRecordingTest, NodesStayAsShortWhateverIsPrepared) {
  constexpr int kNodes = 200;
  auto empty = prepare("spin:ns=0,blocks=132,threads=32");
  const auto node_time = [&] {
    auto recording = queue().record([&](Queue& recorded) {
      for (int i = 0; i < kNodes; ++i) recorded.launch(*empty);
    });
    std::vector<Nanoseconds> times;
    for (int i = 0; i < 20; ++i) {
      const Mark start = queue().mark();
      queue().replay(*recording);
      const Mark end = queue().mark();
      queue().wait();
      times.push_back(queue().elapsed(start, end) / kNodes);
    }
    return median(times);
  };
  const Nanoseconds before = node_time();
  for (int i = 0; i < 8; ++i) {
    auto add = prepare("add:count=65536,dtype=f32");
    run_and_read(*add);
    node_time();
  }
  EXPECT_LT(node_time() - before, Nanoseconds(80));
}

TEST_F(CudaRecordingTest, RefusesMarksAndStampsAndLivesOn) {
  EXPECT_THROW(queue().record([](Queue& recorded) { recorded.mark(); }), std::logic_error);
  EXPECT_THROW(queue().record([](Queue& recorded) { recorded.stamp_clock(); }), std::logic_error);
  EXPECT_THROW(queue().record([](Queue& recorded) { recorded.hold(); }), std::logic_error);
  auto fill = prepare("fill:count=10,dtype=f32");
  EXPECT_EQ(run_and_read(*fill), std::vector<double>(10, 1.0));
}

}  // namespace
}  // namespace jitterscope
