// What the CPU makes of the kernels that the program carries: the same results as their references, over the
// patterns that they are named after.
#include <gmock/gmock.h>

#include <set>

#include "device/cpu/cpu_device.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

class CarriedLoops : public ::testing::Test {
 protected:
  std::unique_ptr<PreparedOperation> prepare(const std::string& text) {
    return device_->prepare(Operation::parse(text), {});
  }
  std::vector<double> after_a_launch(const std::string& text, std::size_t operand) {
    const auto prepared = prepare(text);
    prepared->run(nullptr);
    return prepared->read_operand(operand);
  }

  std::unique_ptr<Device> device_ = open_cpu_device();
};

TEST_F(CarriedLoops, EachPatternCopiesAllOnce) {
  for (const char* kernel : {"coalesced<float>,step=0", "strided,step=2", "strided,step=32",
                             "misaligned,step=1", "scattered,step=0", "copied,step=0"}) {
    const std::string text(kernel);
    const std::size_t comma = text.find(',');
    const auto prepared = prepare("cuda:@access:" + text.substr(0, comma) + ",grid=1,block=1,n=4096" +
                                  text.substr(comma) + ",x=f32[4096],y=out:f32[4096]");
    prepared->run(nullptr);
    EXPECT_EQ(prepared->read_operand(0), prepared->read_operand(1)) << kernel;
  }
}

std::string chase_of(const std::string& kernel, int loads) {
  return "cuda:@hierarchy:" + kernel +
         ",grid=1,block=1,lines=1024,step=8,more=64,loads=" + std::to_string(loads) +
         ",cells=i64[8256],state=i64[4],end=out:i32[1]";
}

TEST_F(CarriedLoops, AChaseFollowsTheRingThroughEachLineOnce) {
  const auto prepared = prepare(chase_of("chase<PastL1>", 1));
  std::set<double> seen;
  for (int i = 0; i < 1024; ++i) {
    prepared->run(nullptr);
    seen.insert(prepared->read_operand(2).front());
  }
  EXPECT_EQ(seen.size(), 1024u);
  EXPECT_EQ(*seen.begin(), 0.0);
  EXPECT_EQ(*seen.rbegin(), 1023.0);
}

TEST_F(CarriedLoops, AChaseEndsWhereItsReferenceSays) {
  for (const int loads : {32, 1024, 4096, 99}) {
    EXPECT_EQ(after_a_launch(chase_of("chase<PastL1>", loads), 2),
              after_a_launch(chase_of("chased", loads), 2))
        << loads;
  }
  EXPECT_NE(after_a_launch(chase_of("chase<PastL1>", 32), 2), after_a_launch(chase_of("chased", 33), 2));
}

TEST_F(CarriedLoops, StreamsCombineAllThatTheyRead) {
  for (const char* launch : {",grid=3,block=1,words=40,apart=1,repeats=3,x=i32[480],y=out:i32[3]",
                             ",grid=3,block=4,words=10,apart=1,repeats=1,x=i32[480],y=out:i32[12]",
                             ",grid=3,block=4,words=10,apart=0,repeats=5,x=i32[480],y=out:i32[12]"}) {
    const auto prepared = prepare("cuda:@hierarchy:stream<PastL1>" + std::string(launch));
    prepared->run(nullptr);
    const std::vector<double> y = prepared->read_operand(1);
    EXPECT_EQ(y, after_a_launch("cuda:@hierarchy:streamed" + std::string(launch), 1)) << launch;
    // However it is parted, all words are in it once.
    int all = 0, expected = 0;
    for (const double value : y) all ^= static_cast<int>(value);
    for (const double value : prepared->read_operand(0)) expected ^= static_cast<int>(value);
    EXPECT_EQ(all, expected) << launch;
    EXPECT_NE(all, 0) << launch;
  }
}

TEST_F(CarriedLoops, AdditionsAreAllThere) {
  const std::string launch = ",grid=6,block=1,places=2,repeats=1000,counters=inout:i32[2]";
  EXPECT_EQ(after_a_launch("cuda:@hierarchy:add" + launch, 0),
            after_a_launch("cuda:@hierarchy:added" + launch, 0));
  const auto prepared = prepare("cuda:@hierarchy:add" + launch);
  const double before = prepared->read_operand(0).front();
  prepared->run(nullptr);
  EXPECT_EQ(prepared->read_operand(0).front(), before + 3000);
}

TEST_F(CarriedLoops, WhatHasNoLoopsIsRefused) {
  for (const char* text :
       {"cuda:@hierarchy:chase<ThroughL1>,grid=1,block=1", "cuda:@saxpy:saxpy,grid=1,block=1",
        "cuda:@hierarchy:add,grid=1,block=1,places=1"}) {
    EXPECT_THROW(prepare(text), UsageError) << text;
  }
}

}  // namespace
}  // namespace jitterscope
