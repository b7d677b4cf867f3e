// What studies of causes ask of a GPU: another way to wait, memory for a moment, a second queue, operands
// elsewhere.
#include <cmath>

#include "cuda_test.hpp"

namespace jitterscope {
namespace {

class CudaExplainCalls : public CudaTest {};

TEST_F(CudaExplainCalls, AMarkIsPassedWhenItsWorkIsDone) {
  auto spin = prepare("spin:ns=20000000,blocks=1,threads=32");
  queue().launch(*spin);
  const Mark mark = queue().mark();
  EXPECT_FALSE(queue().has_passed(mark));
  queue().wait();
  EXPECT_TRUE(queue().has_passed(mark));
}

TEST_F(CudaExplainCalls, AWaitAsleepEndsWithTheWork) {
  auto spin = prepare("spin:ns=2000000,blocks=1,threads=32");
  queue().launch(*spin);
  const Mark mark = queue().mark();
  queue().wait_asleep();
  EXPECT_TRUE(queue().has_passed(mark));
}

TEST_F(CudaExplainCalls, MemoryIsTakenAndGivenBack) {
  auto add = prepare("add:count=65536");
  for (const MemorySource source : {MemorySource::driver, MemorySource::pool}) {
    const Bytes before = device().describe().memory_free;
    for (int i = 0; i < 50; ++i) {
      const auto memory = queue().allocate(Bytes(256 << 20), source);
      queue().launch(*add);
    }
    queue().wait();
    EXPECT_GT(device().describe().memory_free, before - Bytes(512 << 20));
  }
}

// Its own spin holds the second queue while the first one goes on.
TEST_F(CudaExplainCalls, ACompanionRunsBeside) {
  const auto companion = device().make_companion_queue();
  ASSERT_TRUE(companion);
  auto spin = prepare("spin:ns=50000000,blocks=1,threads=32");
  auto add = prepare("add:count=65536");
  companion->launch(*spin);
  const Mark end = companion->mark();
  queue().launch(*add);
  queue().wait();
  EXPECT_FALSE(companion->has_passed(end));
  companion->wait();
  EXPECT_TRUE(companion->has_passed(end));
}

TEST_F(CudaExplainCalls, OperandsElsewhereGiveTheSameResults) {
  for (const char* text : {"matmul:m=64,n=96,k=128,dtype=f32", "matmul:m=64,n=96,k=128,bias=1,dtype=f32",
                           "linear:n=64,in=128,out=96,dtype=f16", "add:count=10000",
                           "conv2d:n=2,c=16,hw=14,k=32,rs=3,pad=1,dtype=f16,layout=nhwc", "copy:bytes=1000",
                           "softmax:rows=64,columns=100,dtype=f16"}) {
    const auto usual = prepare(text);
    const std::vector<double> expected = run_and_read(*usual);
    const Bytes least = usual->operand_alignment().value();
    for (const std::int64_t bytes : {256, 128, 64, 32, 16, 8, 4, 2}) {
      if (bytes % least.value() != 0) {
        EXPECT_THROW(prepare(text, {.offset = Bytes(bytes)}), UsageError) << text << ", " << bytes;
        continue;
      }
      const auto moved = prepare(text, {.placement = 1, .offset = Bytes(bytes)});
      EXPECT_EQ(moved->read_operand(0), usual->read_operand(0)) << text << ", " << bytes;
      const std::vector<double> found = run_and_read(*moved);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        ASSERT_NEAR(found[i], expected[i], 0.05 + 0.01 * std::abs(expected[i])) << text << ", " << bytes;
      }
      EXPECT_TRUE(moved->place_anew()) << text << ", " << bytes;
      EXPECT_EQ(moved->read_operand(0), usual->read_operand(0)) << text << ", " << bytes;
    }
  }
}

}  // namespace
}  // namespace jitterscope
