// Against libraries that stand in for CUPTI and the driver.
#include "device/cuda/cupti/kernel_trace.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>

#include "device/cuda/cupti/counters.hpp"
#include "jitterscope/error.hpp"
#include "support/stand_in_cuda.hpp"
#include "support/stand_in_cupti.hpp"

namespace jitterscope::cuda {
namespace {

class KernelTraceTest : public testing::Test {
 protected:
  // Both are opened by their names, and are then in the process already.
  static void SetUpTestSuite() {
    ASSERT_NE(dlopen(STAND_IN_CUDA_LIBRARY, RTLD_NOW), nullptr) << dlerror();
    void* const library = dlopen(STAND_IN_CUPTI_LIBRARY, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    call_ = reinterpret_cast<stand_in::Call>(dlsym(library, stand_in::kCallName));
    add_ = reinterpret_cast<stand_in::Add>(dlsym(library, stand_in::kAddName));
    ASSERT_TRUE(call_ != nullptr && add_ != nullptr);
  }

  static void call_runtime(std::uint32_t correlation) {
    call_(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020, correlation, nullptr);
  }
  static void call_driver(std::uint32_t correlation) {
    cuLaunchKernel_params parameters{};
    parameters.f = reinterpret_cast<CUfunction>(stand_in::kFunction);  // NOLINT
    call_(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, correlation, &parameters);
  }
  static void launch_graph(std::uint32_t correlation) {
    call_(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, correlation, nullptr);
  }

  // As CUPTI lays it out.
  static CUpti_ActivityKernel9 kernel(std::uint32_t correlation, std::uint64_t start) {
    CUpti_ActivityKernel9 record{};
    record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    record.name = "_Z5namedv";
    record.start = start;
    record.end = start + 100;
    record.correlationId = correlation;
    record.deviceId = 1;
    record.streamId = 7;
    record.gridX = 132;
    record.gridY = 2;
    record.gridZ = 1;
    record.blockX = 256;
    record.blockY = 1;
    record.blockZ = 3;
    return record;
  }
  template <class Record>
  static void add(const Record& record) {
    add_(&record, sizeof(record));
  }

  static inline stand_in::Call call_ = nullptr;
  static inline stand_in::Add add_ = nullptr;
};

TEST_F(KernelTraceTest, SaysWhereAKernelRanAndHowLarge) {
  KernelTrace trace;
  call_driver(5);
  add(kernel(5, 1'000));
  add(kernel(6, 2'000));
  const std::vector<KernelTime> kernels = trace.stop();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, stand_in::kFunctionName);
  EXPECT_EQ(kernels[1].name, "named()");
  EXPECT_EQ(kernels[1].start, Nanoseconds(1'000));
  EXPECT_EQ(kernels[0].device, 1);
  EXPECT_EQ(kernels[0].stream, 7u);
  EXPECT_EQ(kernels[0].correlation, 5u);
  EXPECT_EQ(kernels[0].grid, (KernelExtent{132, 2, 1}));
  EXPECT_EQ(kernels[0].block, (KernelExtent{256, 1, 3}));
  EXPECT_EQ(kernels[0].graph_node, std::nullopt);
}

TEST_F(KernelTraceTest, KernelsBelongToTheLaunchThatMadeTheirCall) {
  KernelTrace trace;
  call_driver(1);
  trace.begin_launch(40);
  call_driver(2);
  call_driver(3);
  trace.end_launch();
  call_driver(4);
  trace.begin_launch(41);
  std::thread([] { call_driver(5); }).join();  // where PyTorch's gradients come from
  trace.end_launch();
  for (const std::uint32_t correlation : {5, 4, 3, 2, 1}) add(kernel(correlation, correlation * 1'000));
  const std::vector<KernelTime> kernels = trace.stop();
  ASSERT_EQ(kernels.size(), 5u);
  EXPECT_EQ(kernels[0].launch, std::nullopt);
  EXPECT_EQ(kernels[1].launch, 40u);
  EXPECT_EQ(kernels[2].launch, 40u);
  EXPECT_EQ(kernels[3].launch, std::nullopt);
  EXPECT_EQ(kernels[4].launch, 41u);
}

TEST_F(KernelTraceTest, NodesOfAGraphBelongToItsLaunch) {
  KernelTrace trace;
  trace.begin_launch(3);
  launch_graph(9);
  trace.end_launch();
  for (const std::uint64_t node : {11, 12}) {
    CUpti_ActivityKernel9 record = kernel(9, node * 1'000);
    record.graphNodeId = node;
    add(record);
  }
  const std::vector<KernelTime> kernels = trace.stop();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].graph_node, 11u);
  EXPECT_EQ(kernels[1].graph_node, 12u);
  EXPECT_EQ(kernels[0].launch, 3u);
  EXPECT_EQ(kernels[1].launch, 3u);
}

TEST_F(KernelTraceTest, CopiesAndMemsetsByTheRuntimeBelongToALaunchAsKernelsDo) {
  KernelTrace trace;
  trace.begin_launch(0);
  call_runtime(20);
  call_runtime(21);
  trace.end_launch();
  CUpti_ActivityMemcpy5 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.start = 100;
  copy.end = 200;
  copy.streamId = 3;
  copy.correlationId = 20;
  add(copy);
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.start = 300;
  set.end = 400;
  set.correlationId = 21;
  set.graphNodeId = 8;
  add(set);
  const std::vector<KernelTime> kernels = trace.stop();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "memcpy");
  EXPECT_EQ(kernels[0].stream, 3u);
  EXPECT_EQ(kernels[0].launch, 0u);
  EXPECT_EQ(kernels[0].grid, KernelExtent());
  EXPECT_EQ(kernels[1].name, "memset");
  EXPECT_EQ(kernels[1].launch, 0u);
  EXPECT_EQ(kernels[1].graph_node, 8u);
}

TEST_F(KernelTraceTest, ALaunchIsForgottenWithItsTrace) {
  {
    KernelTrace trace;
    trace.begin_launch(1);
    call_driver(30);
  }
  KernelTrace trace;
  call_driver(31);
  add(kernel(30, 1'000));
  add(kernel(31, 2'000));
  for (const KernelTime& kernel : trace.stop()) EXPECT_EQ(kernel.launch, std::nullopt);
}

// The tracer slows what is counted, and one program has one profiler at a time.
TEST_F(KernelTraceTest, NothingIsCountedMeanwhile) {
  EXPECT_FALSE(KernelTrace::is_recording());
  {
    KernelTrace trace;
    EXPECT_TRUE(KernelTrace::is_recording());
    EXPECT_THROW(count_gpu_launches({}, {}), FailedError);
    trace.stop();
    EXPECT_FALSE(KernelTrace::is_recording());
  }
  // This library has no Range Profiler.
  EXPECT_THROW(count_gpu_launches({}, {}), MissingError);
}

}  // namespace
}  // namespace jitterscope::cuda
