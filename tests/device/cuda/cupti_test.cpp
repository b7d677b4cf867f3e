#include <thread>

#include "device/cuda/cupti/kernel_trace.hpp"
#include "device/cuda/operations/operations.hpp"
#include "jitterscope/error.hpp"
#include "provider_test.hpp"

namespace jitterscope {
namespace {

using cuda::KernelTrace;

class CuptiTest : public ProviderTest {
 protected:
  CuptiTest() : ProviderTest("cupti") {}

  std::unique_ptr<PreparedOperation> prepare(const Operation::Parameters& parameters) {
    return device().prepare(Operation(parameters), {});
  }

  std::vector<KernelTime> trace(PreparedOperation& prepared, int launches) {
    KernelTrace trace;
    for (int i = 0; i < launches; ++i) queue().launch(prepared);
    queue().wait();
    return trace.stop();
  }
};

TEST_F(CuptiTest, GivesEachSpinAtLeastItsTime) {
  constexpr int kLaunches = 20;
  for (const std::int64_t amount : {2'000, 10'000, 50'000}) {
    const auto spin = prepare(Spin{.unit = Spin::Unit::nanoseconds, .amount = amount, .blocks = 8});
    const std::vector<KernelTime> records = trace(*spin, kLaunches);
    ASSERT_EQ(records.size(), kLaunches);
    double end = 0.0;
    for (const KernelTime& record : records) {
      const double duration = (record.end - record.start).value();
      // The kernel does not end before its time; how much later depends on who else uses the GPU.
      EXPECT_GE(duration, static_cast<double>(amount)) << record.name;
      EXPECT_GE(record.start.value(), end) << "launches of one queue overlap";
      end = record.end.value();
    }
  }
}

TEST_F(CuptiTest, CountsFromTheFirstRecordAndDemanglesNames) {
  const auto spin = prepare(Spin{.amount = 1'000});
  const std::vector<KernelTime> records = trace(*spin, 2);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].start.value(), 0.0);
  EXPECT_FALSE(records[0].name.starts_with("_Z")) << records[0].name;
}

TEST_F(CuptiTest, NamesCopies) {
  const auto copy = prepare(Copy{.bytes = 1 << 20, .kind = CopyKind::d2d});
  const std::vector<KernelTime> records = trace(*copy, 3);
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].name, "memcpy");
  EXPECT_GT(records[0].end, records[0].start);
}

TEST_F(CuptiTest, SaysWhereAndHowLargeAKernelRan) {
  const auto spin = prepare(Spin{.amount = 1'000, .blocks = 8, .threads = 64});
  const std::vector<KernelTime> records = trace(*spin, 2);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].grid, (KernelExtent{8, 1, 1}));
  EXPECT_EQ(records[0].block, (KernelExtent{64, 1, 1}));
  EXPECT_EQ(records[0].device, 0);
  EXPECT_EQ(records[0].stream, records[1].stream);
  EXPECT_NE(records[0].correlation, records[1].correlation);
  EXPECT_EQ(records[0].graph_node, std::nullopt);
  EXPECT_EQ(records[0].launch, std::nullopt);
}

TEST_F(CuptiTest, TellsLaunchesApartBehindAGateAndFromWhatIsBetweenThem) {
  const auto spin = prepare(Spin{.amount = 1'000});
  const auto copy = prepare(Copy{.bytes = 1 << 20, .kind = CopyKind::d2d});
  const auto recording = queue().record([&](Queue& recorder) {
    recorder.launch(*spin);
    recorder.launch(*spin);
  });
  KernelTrace trace;
  queue().hold();
  trace.begin_launch(4);
  queue().launch(*spin);
  queue().launch(*copy);
  trace.end_launch();
  queue().launch(*spin);
  trace.begin_launch(5);
  queue().replay(*recording);
  trace.end_launch();
  queue().wait();
  const std::vector<KernelTime> records = trace.stop();
  ASSERT_EQ(records.size(), 5u);
  EXPECT_EQ(records[0].launch, 4u);
  EXPECT_EQ(records[1].launch, 4u);
  EXPECT_EQ(records[1].name, "memcpy");
  EXPECT_EQ(records[2].launch, std::nullopt);
  EXPECT_EQ(records[3].launch, 5u);
  EXPECT_EQ(records[4].launch, 5u);
  EXPECT_NE(records[3].graph_node, std::nullopt);
  EXPECT_NE(records[3].graph_node, records[4].graph_node);
}

// PyTorch's gradients are launched from a thread of their own.
TEST_F(CuptiTest, ALaunchHoldsWhatOtherThreadsPutOnTheGpu) {
  const auto spin = prepare(Spin{.amount = 1'000});
  KernelTrace trace;
  trace.begin_launch(1);
  std::thread([&] { queue().launch(*spin); }).join();
  trace.end_launch();
  queue().wait();
  const std::vector<KernelTime> records = trace.stop();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].launch, 1u);
}

TEST_F(CuptiTest, ForgetsWhatRanOutsideOfATrace) {
  const auto spin = prepare(Spin{.amount = 1'000});
  EXPECT_EQ(trace(*spin, 5).size(), 5u);
  queue().launch(*spin);
  queue().wait();
  EXPECT_EQ(trace(*spin, 3).size(), 3u);
}

TEST_F(CuptiTest, RefusesASecondTraceAtOnce) {
  KernelTrace first;
  EXPECT_THROW(KernelTrace second, FailedError);
  EXPECT_TRUE(first.stop().empty());
  EXPECT_TRUE(first.stop().empty());
  KernelTrace after;
  EXPECT_TRUE(after.stop().empty());
}

TEST(CuptiLibrary, SaysItsVersionOrWhatIsMissing) {
  const LibraryInfo library = cuda::cupti_library();
  EXPECT_EQ(library.name, "cupti");
  EXPECT_NE(library.version.empty(), library.problem.empty());
  EXPECT_EQ(library.version.empty(), library.path.empty());
}

}  // namespace
}  // namespace jitterscope
