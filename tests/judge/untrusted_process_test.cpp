#include "judge/untrusted_process.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

namespace jitterscope::judging {
namespace {

// A worker whose GPU is a thread; it has made its reference.
std::unique_ptr<UntrustedWorker> gpu_worker(const std::string& mode) {
  static WorkerProgram program;
  program.arguments = {JITTERSCOPE_PYTHON, "-B", JITTERSCOPE_GPU_WORKER, mode};
  program.deadline = seconds(20);
  auto worker = start_untrusted(program);
  EXPECT_TRUE(worker->make("reference.py", {}, std::nullopt, Key{}).is_on_gpu);
  return worker;
}

// Its digest is the key: what it saw in the mailbox.
TEST(UntrustedProcessTest, AChainOnAGpuIsQueuedBeforeItsKeyIsThere) {
  const auto worker = gpu_worker("well");
  constexpr int kMostTries = 50;  // a worker that gets no processor for long counts as one that waits
  bool is_held = false;
  for (int i = 0; i < kMostTries && !is_held; ++i) {
    const Key key = random_key();
    const ChainReply reply = worker->chain({.key = key, .calls = 4});
    is_held = reply.is_held;
    EXPECT_EQ(reply.last.bytes, key.bytes);
    EXPECT_GT(reply.time, Nanoseconds(0));
  }
  EXPECT_TRUE(is_held);
}

TEST(UntrustedProcessTest, ACallThatWaitsForItsGpuGetsTheKeyAndIsNotHeld) {
  const auto worker = gpu_worker("waits");
  const Key key = random_key();
  const ChainReply reply = worker->chain({.key = key, .calls = 4});
  EXPECT_FALSE(reply.is_held);
  EXPECT_EQ(reply.last.bytes, key.bytes);
  const ChainReply with_host = worker->chain({.key = key, .calls = 4, .is_held = false});
  EXPECT_EQ(with_host.last.bytes, key.bytes);
}

TEST(UntrustedProcessTest, AProcessCannotEndAChainBeforeItsGpu) {
  const auto worker = gpu_worker("early");
  const Key key = random_key();
  const ChainReply reply = worker->chain({.key = key, .calls = 4});
  EXPECT_EQ(reply.last.bytes, key.bytes);
  EXPECT_GE(reply.time, milliseconds(50));  // as long as its GPU sleeps
}

}  // namespace
}  // namespace jitterscope::judging
