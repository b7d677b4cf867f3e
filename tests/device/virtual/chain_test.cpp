// Chains on streams of a simulated GPU.
#include <gmock/gmock.h>

#include "device/virtual/gpus.hpp"
#include "jitterscope/error.hpp"
#include "measure/verify.hpp"

namespace jitterscope::virtual_gpu {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kSmallProducts = "chain:[matmul:m=128,n=128,k=128,dtype=f16],lanes=16";

// Its kernels take long beside a gap.
physics::Parameters streamed_gpu() {
  physics::Parameters gpu = plain_gpu();
  gpu.product_f16.step = gpu.product_f32.step = Nanoseconds(80);
  gpu.memory.l2_bandwidth = 0.1e12;
  return gpu;
}

std::string with(const char* chain, const char* more) { return std::string(chain) + more; }

double time_of(const std::string& chain, const physics::Parameters& parameters = streamed_gpu(),
               std::uint64_t seed = 1) {
  const Bench bench(parameters, seed);
  const auto operation = bench.prepare(chain);
  return bench.time_of(*operation).value();
}

// The host's time until one launch is done, in a queue that is not held.
double host_time_of(const std::string& chain) {
  const Bench bench;
  const auto operation = bench.prepare(chain);
  bench.queue->launch(*operation);
  bench.queue->wait();
  const Nanoseconds start = bench.device->host_time();
  bench.queue->launch(*operation);
  bench.queue->wait();
  return (bench.device->host_time() - start).value();
}

std::vector<KernelTime> traced(const Bench& bench, PreparedOperation& operation) {
  bench.queue->launch(operation);
  bench.queue->wait();
  const auto tracer = bench.device->trace_kernels();
  bench.queue->hold();
  bench.queue->launch(operation);
  bench.queue->release();
  bench.queue->wait();
  return tracer->stop();
}

int overlaps(const std::vector<KernelTime>& kernels) {
  int count = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (std::size_t k = i + 1; k < kernels.size(); ++k) {
      const bool overlap = kernels[i].start < kernels[k].end && kernels[k].start < kernels[i].end;
      if (!overlap) continue;
      EXPECT_NE(kernels[i].stream, kernels[k].stream);
      ++count;
    }
  }
  return count;
}

TEST(VirtualChain, SmallLaunchesAreFasterOnStreams) {
  const double one = time_of(kSmallProducts), four = time_of(with(kSmallProducts, ",streams=4"));
  EXPECT_LT(four, 0.7 * one);
  EXPECT_GT(four, one / 4);
}

TEST(VirtualChain, ALargeLaunchGainsNothing) {
  const char* const products = "chain:[matmul:m=2048,n=2048,k=2048,dtype=f16],lanes=4";
  EXPECT_GT(time_of(with(products, ",streams=2")), 0.999 * time_of(products));
  const char* const copies = "chain:[relu:count=16Mi],lanes=4";  // through DRAM
  EXPECT_GT(time_of(with(copies, ",streams=2")), 0.999 * time_of(copies));
}

TEST(VirtualChain, ItsTraceOverlapsOnUnlikeStreams) {
  const Bench bench(streamed_gpu());
  const auto one = bench.prepare(kSmallProducts), four = bench.prepare(with(kSmallProducts, ",streams=4"));
  EXPECT_EQ(overlaps(traced(bench, *one)), 0);
  const std::vector<KernelTime> kernels = traced(bench, *four);
  ASSERT_EQ(kernels.size(), 16u);
  EXPECT_GT(overlaps(kernels), 8);
  std::vector<std::uint32_t> streams;
  for (const KernelTime& kernel : kernels) streams.push_back(kernel.stream);
  std::ranges::sort(streams);
  streams.erase(std::unique(streams.begin(), streams.end()), streams.end());
  EXPECT_EQ(streams.size(), 4u);
}

TEST(VirtualChain, IsTheSameForASeed) {
  physics::Parameters noisy = streamed_gpu();
  noisy.off[static_cast<std::size_t>(physics::Mechanism::noise)] = false;
  noisy.noise.sd = 0.05;
  const std::string chain = with(kSmallProducts, ",streams=4");
  EXPECT_EQ(time_of(chain, noisy, 7), time_of(chain, noisy, 7));
  EXPECT_NE(time_of(chain, noisy, 7), time_of(chain, noisy, 8));
}

TEST(VirtualChain, CopiesHideBehindWork) {
  const std::string pieces =
      "chain:[copy:bytes=4Mi,kind=h2d][relu:count=1Mi][copy:bytes=4Mi,kind=d2h],lanes=4";
  // Each takes 84 us: one after the other, or three in a row and the last of them three more times.
  EXPECT_NEAR(time_of(pieces), 12 * 86'000.0, 12 * 2000.0);
  EXPECT_NEAR(time_of(pieces + ",streams=3"), 6 * 86'000.0, 6 * 4000.0);
}

TEST(VirtualChain, AWaitForAnotherStreamCosts) {
  const char* const steps = "chain:[relu:count=64Ki]*8";
  const double one = time_of(steps), event = time_of(with(steps, ",streams=2,spread=step")),
               two = time_of(with(steps, ",streams=2,spread=step,order=joins")),
               four = time_of(with(steps, ",streams=4,spread=step,order=joins"));
  EXPECT_GT(event, one);
  EXPECT_GT(two, event);
  EXPECT_GT(four, two);
}

TEST(VirtualChain, GivesWhatItsStepsGive) {
  Bench bench;
  for (const char* more :
       {",lanes=3,streams=2", ",streams=2,spread=step", ",lanes=2,streams=4,spread=step,order=joins",
        ",wait=stream", ",lanes=2,streams=2,wait=value,wait_after=step", ",high_priority=1",
        ",lanes=4,streams=3,high_priority=1,load_ns=30000", ",load_ns=20000,wait=event,wait_after=step"}) {
    const auto chain = bench.prepare(with("chain:[relu:count=1000][gelu:count=1000]*2", more));
    const Verification verification = verify(*bench.queue, *chain);
    EXPECT_TRUE(verification.passed) << more << ' ' << verification.unwritten;
  }
}

TEST(VirtualChain, WithoutTheWaitAStepReadsWhatIsNotYetWritten) {
  Bench bench(streamed_gpu());
  const auto verified = [&](const char* order) {
    const auto chain = bench.prepare(with("chain:[gelu:count=64Ki]*4,streams=2,spread=step", order));
    return verify(*bench.queue, *chain);
  };
  EXPECT_TRUE(verified("").passed);
  EXPECT_FALSE(verified(",order=none").passed);
  EXPECT_EQ(verified(",order=none").unwritten, 64 * 1024);
}

TEST(VirtualChain, IsRecordedAndReplayed) {
  Bench bench(streamed_gpu());
  const auto chain = bench.prepare(with(kSmallProducts, ",streams=4"));
  const auto recording = bench.queue->record([&](Queue& queue) {
    queue.launch(*chain);
    queue.launch(*chain);
  });
  chain->poison_outputs();
  const auto tracer = bench.device->trace_kernels();
  tracer->begin_launch(3);
  bench.queue->replay(*recording);
  tracer->end_launch();
  bench.queue->wait();
  const std::vector<KernelTime> kernels = tracer->stop();
  ASSERT_EQ(kernels.size(), 32u);
  EXPECT_GT(overlaps({kernels.begin(), kernels.begin() + 16}), 8);
  std::vector<std::uint64_t> nodes;
  for (const KernelTime& kernel : kernels) {
    EXPECT_EQ(kernel.launch, 3u);
    nodes.push_back(kernel.graph_node.value_or(0));
  }
  std::ranges::sort(nodes);
  EXPECT_EQ(nodes.front(), 1u);
  EXPECT_EQ(std::unique(nodes.begin(), nodes.end()), nodes.end());
  EXPECT_FALSE(std::isnan(chain->read_operand(2 * 16).front()));
}

TEST(VirtualChain, NoRecordingHoldsAWaitOfTheHost) {
  Bench bench;
  for (const char* more : {",wait=stream", ",lanes=2,streams=2,wait=event"}) {
    const auto chain = bench.prepare(with("chain:[relu:count=64]*2", more));
    const auto record = [&] { bench.queue->record([&](Queue& queue) { queue.launch(*chain); }); };
    EXPECT_THAT(record, ThrowsMessage<UsageError>(HasSubstr("the host waits within this launch")));
  }
}

TEST(VirtualChain, WaitsOfTheHostCost) {
  const char* const steps = "chain:[relu:count=64Ki]*4,lanes=4";
  const double none = host_time_of(steps), stream = host_time_of(with(steps, ",wait=stream"));
  EXPECT_GT(stream, none + 4 * 4000.0) << "each costs 4 us by itself";
  for (const char* as_long : {",wait=event", ",wait=device", ",wait=polling", ",wait=yielding"}) {
    EXPECT_EQ(host_time_of(with(steps, as_long)), stream) << as_long;
  }
  EXPECT_NEAR(host_time_of(with(steps, ",wait=blocking")), stream + 4 * 35'000, 1);
  EXPECT_NEAR(host_time_of(with(steps, ",wait=value")), stream + 4 * 7000, 1);
  EXPECT_GT(host_time_of(with(steps, ",wait=stream,wait_after=step")), stream + 12 * 4000.0);
}

TEST(VirtualChain, APriorityPassesALoad) {
  const char* const small = "chain:[relu:count=16Ki]*4";
  const double alone = time_of(small), usual = time_of(with(small, ",load_ns=100000")),
               high = time_of(with(small, ",load_ns=100000,high_priority=1"));
  EXPECT_GT(usual, 100'000.0);
  EXPECT_GT(high, 40'000.0) << "a wave for each of four launches";
  EXPECT_LT(high, 0.7 * usual);
  EXPECT_LT(alone, 15'000.0);
}

TEST(VirtualChain, NoValueIsReadWhereNoneIs) {
  const Bench bench;
  EXPECT_THAT([&] { bench.prepare("chain:[copy:bytes=4Ki,kind=d2h],wait=value"); },
              ThrowsMessage<UsageError>(HasSubstr("writes nothing there")));
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
