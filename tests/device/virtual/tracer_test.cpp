#include <gtest/gtest.h>

#include "device/virtual/gpus.hpp"

namespace jitterscope::virtual_gpu {
namespace {

physics::Parameters traced_gpu() {
  physics::Parameters gpu = plain_gpu();
  gpu.off[static_cast<std::size_t>(physics::Mechanism::instrument)] = false;
  return gpu;
}

TEST(VirtualTracer, ReadsTrueTimesAndItsBias) {
  Bench bench(traced_gpu());
  const auto spin = bench.prepare("spin:ns=5000");
  const auto tracer = bench.device->trace_kernels();
  bench.queue->set_cache(CacheState::cold, *spin);
  for (int i = 0; i < 3; ++i) bench.queue->launch(*spin);
  bench.queue->stamp_clock();
  bench.queue->wait();
  const std::vector<KernelTime> kernels = tracer->stop();
  ASSERT_EQ(kernels.size(), 3u) << "helpers are left out";
  EXPECT_EQ(kernels[0].name, "virtual_spin");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(kernels[i].start, bench.ran[i].start);
    EXPECT_NEAR((kernels[i].end - bench.ran[i].end).value(), 30, 0.01);
  }
}

TEST(VirtualTracer, KnowsTheLaunchOfAKernelThatRunsLater) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=5000");
  const auto recording = bench.queue->record([&](Queue& queue) {
    queue.launch(*spin);
    queue.launch(*spin);
  });
  const auto tracer = bench.device->trace_kernels();
  bench.queue->hold();
  bench.queue->launch(*spin);
  tracer->begin_launch(7);
  bench.queue->launch(*spin);
  tracer->end_launch();
  tracer->begin_launch(8);
  bench.queue->replay(*recording);
  tracer->end_launch();
  bench.queue->release();
  bench.queue->wait();
  const std::vector<KernelTime> kernels = tracer->stop();
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_EQ(kernels[0].launch, std::nullopt);
  EXPECT_EQ(kernels[1].launch, 7u);
  EXPECT_EQ(kernels[1].graph_node, std::nullopt);
  EXPECT_EQ(kernels[2].launch, 8u);
  EXPECT_EQ(kernels[3].launch, 8u);
  EXPECT_EQ(kernels[2].correlation, kernels[3].correlation);
  EXPECT_NE(kernels[1].correlation, kernels[2].correlation);
  EXPECT_NE(kernels[2].graph_node, kernels[3].graph_node);
  EXPECT_NE(kernels[0].stream, 0u);
}

TEST(VirtualTracer, SlowsWhatIsBetweenKernelsWhileItLives) {
  Bench bench;
  const auto spin = bench.prepare("spin:ns=0");
  const auto distance = [&] {
    bench.ran.clear();
    bench.queue->launch(*spin);
    bench.queue->launch(*spin);
    bench.queue->wait();
    return (bench.ran[1].start - bench.ran[0].start).value();
  };
  EXPECT_NEAR(distance(), 3000, 1);
  {
    const auto tracer = bench.device->trace_kernels();
    EXPECT_NEAR(distance(), 6000, 1);
  }
  EXPECT_NEAR(distance(), 3000, 1);
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
