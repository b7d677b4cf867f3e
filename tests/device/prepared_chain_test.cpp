// Chains on the CPU and on a simulated GPU: their steps run one after the other, on each other's results.
#include "device/chain.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/operations/prepare.hpp"
#include "device/cpu/reference.hpp"
#include "jitterscope/error.hpp"
#include "measure/verify.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class PreparedChains : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<PreparedOperation> prepare(std::string_view text) {
    return device_->prepare(Operation::parse(text), InputData());
  }

  bool computes_in(DataType dtype) { return std::ranges::count(device_->describe().data_types, dtype) > 0; }

  std::unique_ptr<Device> device_ = open_device(GetParam());
  std::unique_ptr<Queue> queue_ = device_->make_queue();
};

TEST_P(PreparedChains, GiveWhatTheirStepsGiveTogether) {
  for (const char* text :
       {"chain:[relu:count=1000]", "chain:[relu:count=1000]*3,lanes=4", "chain:[matmul:m=8,n=8,k=8]*3",
        "chain:[add:count=64][sigmoid:count=64][softmax:rows=8,columns=8],lanes=2",
        "chain:[batch_norm:n=2,c=4,hw=5][relu:count=200]", "chain:[relu:count=64][spin:ns=10][relu:count=32]",
        "chain:[copy:bytes=4Ki,kind=d2d][gelu:count=1Ki][copy:bytes=4Ki]",
        "chain:[convert:n=2,c=8,hw=7,from=nchw,to=nhwc][conv2d:n=2,c=8,hw=7,k=5,rs=3,layout=nhwc]"
        "[convert:n=2,c=5,hw=5,from=nhwc,to=nchw]",
        "chain:[convert:n=1,c=3,hw=4,from=nhwc,to=nchw,to_dtype=bf16][relu:count=48,dtype=bf16],lanes=2",
        "chain:[convert:n=1,c=4,hw=6,to=nhwc][max_pool:n=1,c=4,hw=6,window=2,layout=nhwc]"
        "[copy:bytes=144][convert:n=1,c=4,hw=3,from=nhwc,to=nchw]"}) {
    const auto chain = prepare(text);
    const Verification verification = verify(*queue_, *chain);
    EXPECT_TRUE(verification.passed) << text << ": " << verification.relative_error;
    EXPECT_EQ(verification.checked, verification.total) << text;
  }
}

// A product has fewer types than what is no product: a CPU without AVX-512 converts to bf16, and multiplies
// in f64.
TEST_P(PreparedChains, AProductReadsWhatAConversionMade) {
  for (const DataType dtype : {DataType::f64, DataType::bf16}) {
    const std::string type(to_string(dtype));
    const std::string text = "chain:[convert:count=64,to_dtype=" + type +
                             "][linear:n=8,in=8,out=4,dtype=" + type + "][convert:count=32,dtype=" + type +
                             ",to_dtype=f32]";
    if (!computes_in(dtype)) {
      EXPECT_THAT([&] { prepare(text); }, ThrowsMessage<UsageError>(HasSubstr("no " + type + " for linear")));
      continue;
    }
    const auto chain = prepare(text);
    const Verification verification = verify(*queue_, *chain);
    EXPECT_TRUE(verification.passed) << text << ": " << verification.relative_error;
    EXPECT_EQ(verification.checked, verification.total) << text;
  }
}

TEST_P(PreparedChains, LanesHoldOtherValues) {
  const auto chain = prepare("chain:[relu:count=100],lanes=2");
  EXPECT_NE(chain->read_operand(0), chain->read_operand(1));
}

TEST_P(PreparedChains, AConversionDrawsWhatTheStepBehindItWould) {
  const auto alone = prepare("linear:n=8,in=8,out=4");
  const auto chain =
      prepare("chain:[convert:count=64,dtype=f64,to_dtype=f32][linear:n=8,in=8,out=4],lanes=2");
  EXPECT_EQ(chain->read_operand(1), alone->read_operand(1)) << "the weights";
  EXPECT_NEAR(chain->read_operand(0).front(), alone->read_operand(0).front(), 1e-6);
  EXPECT_NE(chain->read_operand(1), chain->read_operand(4)) << "those of the second lane";
  const auto converted = prepare("chain:[convert:count=64,to_dtype=bf16],lanes=2");
  EXPECT_NE(converted->read_operand(0), converted->read_operand(1));
}

// A product of which single elements are computed: conversions lead to the same ones, wherever those lie.
TEST_P(PreparedChains, ConversionsKeepWhatIsSampled) {
  const char* const product = "conv2d:n=1,c=64,hw=40,k=64,rs=3,pad=1,layout=nhwc";
  const auto chain = prepare(std::string("chain:[convert:n=1,c=64,hw=40,from=nchw,to=nhwc][") + product +
                             "][convert:n=1,c=64,hw=40,from=nhwc,to=nchw]");
  const Verification verification = verify(*queue_, *chain);
  EXPECT_TRUE(verification.passed) << verification.relative_error;
  EXPECT_LT(verification.checked, verification.total);
  EXPECT_EQ(verification.checked, std::ssize(reference_sample(Operation::parse(product))));
}

// A product of which a check looks at some elements, and the next step at all.
TEST_P(PreparedChains, WhatIsSampledIsReadWholeByTheNextStep) {
  const std::string product = "[conv2d:n=1,c=64,hw=34,k=64,rs=3,pad=1,layout=nhwc]";
  for (const std::string& text :
       {"chain:" + product + "[relu:count=73984]", "chain:" + product + "*2",
        "chain:" + product + "[copy:bytes=295936][relu:count=73984]",
        "chain:" + product + "[convert:n=1,c=64,hw=34,from=nhwc,to=nchw][gelu:count=73984]",
        std::string("chain:[matmul:m=352,n=352,k=352]*3")}) {
    const auto chain = prepare(text);
    const Verification verification = verify(*queue_, *chain);
    EXPECT_TRUE(verification.passed) << text << ": " << verification.relative_error;
    EXPECT_GT(verification.checked, 0) << text;
  }
}

// A queue holds about a thousand: of more, the launches wait for the first ones.
TEST_P(PreparedChains, OfManyLaunchesNoGateHoldsThem) {
  EXPECT_FALSE(prepare("chain:[relu:count=8]*8,lanes=8")->waits_for_queue());
  EXPECT_TRUE(prepare("chain:[relu:count=8]*5,lanes=13")->waits_for_queue());
  EXPECT_FALSE(prepare("chain:[add:count=8][relu:count=8],lanes=64,fused=1")->waits_for_queue())
      << "a launch each";
  const auto many = prepare("chain:[relu:count=8],lanes=1000");
  EXPECT_TRUE(verify(*queue_, *many).passed);
}

TEST(Chains, ACpuRefusesStreamsAndWaits) {
  const std::unique_ptr<Device> cpu = open_device("cpu");
  for (const char* more : {"lanes=2,streams=2", "wait=stream", "high_priority=1", "load_ns=1000"}) {
    EXPECT_THAT([&] { cpu->prepare(Operation::parse(std::string("chain:[relu:count=8],") + more), {}); },
                ThrowsMessage<UsageError>(HasSubstr("one launch after the other")));
  }
}

TEST_P(PreparedChains, FusedGiveWhatTheirStepsGive) {
  for (
      const char* text :
      {"chain:[add:count=1000][gelu:count=1000],fused=1",
       "chain:[mul:count=1000][add:count=1000]*2,lanes=3,fused=1",
       "chain:[bias_add:n=2,c=5,hw=7][sigmoid:count=490],fused=1",
       "chain:[bias_add:n=2,c=5,hw=7,layout=nhwc][add:count=490][tanh:count=490],fused=1",
       "chain:[avg_pool:n=2,c=16,hw=8,window=2,stride=2][bias_add:n=2,c=16,hw=4][relu6:count=512],fused=1",
       "chain:[linear:n=12,in=16,out=24][relu:count=288],lanes=2,fused=1",
       "chain:[matmul:m=12,n=24,k=16][bias_add:n=12,c=24,hw=1][relu:count=288],fused=1",
       "chain:[conv2d:n=2,c=16,hw=9,k=24,rs=3,pad=1][bias_add:n=2,c=24,hw=9][relu:count=3888],fused=1",
       "chain:[conv2d:n=2,c=16,hw=9,k=24,rs=3,pad=1][add:count=3888][silu:count=3888],fused=1",
       "chain:[conv2d:n=2,c=16,hw=9,k=24,rs=3,stride=2,layout=nhwc][bias_add:n=2,c=24,hw=4,layout=nhwc]"
       "[mul:count=768],fused=1",
       "chain:[conv2d:n=1,c=16,hw=9,k=16,rs=3,pad=1,groups=16][bias_add:n=1,c=16,hw=9][relu6:count=1296],fused=1"}) {
    for (const DataType dtype : {DataType::f32, DataType::bf16}) {
      const Operation operation = Operation::parse(text).with_dtype(dtype);
      if (!computes_in(dtype)) continue;
      const auto chain = device_->prepare(operation, InputData());
      const Verification verification = verify(*queue_, *chain);
      EXPECT_TRUE(verification.passed) << operation.text() << ": " << verification.relative_error;
      EXPECT_EQ(verification.checked, verification.total) << operation.text();
    }
  }
}

TEST_P(PreparedChains, WhatFusesIsTold) {
  const auto chain = prepare("chain:[add:count=64][relu:count=64],lanes=2,fused=1");
  EXPECT_THAT(chain->algorithm(), HasSubstr(GetParam() == std::string("cpu") ? "with post-ops" : "fused"));
  EXPECT_FALSE(chain->is_stand_in());
  EXPECT_THAT([&] { prepare("chain:[add:count=64][softmax:rows=8,columns=8],fused=1"); },
              ThrowsMessage<UsageError>(HasSubstr("cannot fuse this chain: step 2 (softmax")));
}

TEST_P(PreparedChains, LanesOfAFusedChainHoldOtherValues) {
  const auto chain = prepare("chain:[add:count=100][relu:count=100],lanes=2,fused=1");
  EXPECT_NE(chain->read_operand(0), chain->read_operand(2));
  queue_->launch(*chain);
  queue_->wait();
  EXPECT_NE(chain->read_operand(4), chain->read_operand(5));
}

INSTANTIATE_TEST_SUITE_P(Devices, PreparedChains, testing::Values("cpu", "virtual:h200"),
                         [](const auto& tested) { return std::string(tested.param).substr(0, 3); });

// As if the second step did not wait for the first.
class SecondStepFirst : public PreparedChain {
 public:
  using PreparedChain::PreparedChain;
  void run(NativeQueue queue) override {
    step(0, 1).run(queue);
    step(0, 0).run(queue);
  }
};

TEST(Chains, AStepThatDoesNotWaitIsFound) {
  const cpu::InputTable table{InputData()};
  cpu::InputTable own = table;
  SecondStepFirst chain(Operation::parse("chain:[add:count=1000]*2"), InputData(),
                        [&](const Operation& step, const InputData& data, std::size_t, std::size_t) {
                          own.use_for(data);
                          return cpu::prepare(step, own);
                        });
  const std::unique_ptr<Queue> queue = open_device("cpu")->make_queue();
  const Verification verification = verify(*queue, chain);
  EXPECT_FALSE(verification.passed);
  EXPECT_EQ(verification.unwritten, 1000);
}

TEST(Chains, ManySmallOperandsTakeNoPagesOfTheirOwn) {
  const cpu::InputTable table{InputData()};
  const auto placed_steps = [&](const char* text) {
    int placed = 0;
    const PreparedChain chain(Operation::parse(text), InputData{.placement = 1},
                              [&](const Operation& step, const InputData& data, std::size_t, std::size_t) {
                                placed += data.placement.has_value() ? 1 : 0;
                                return cpu::prepare(step, table);
                              });
    return placed;
  };
  EXPECT_EQ(placed_steps("chain:[relu:count=8],lanes=64"), 64);
  EXPECT_EQ(placed_steps("chain:[relu:count=8],lanes=65"), 0);
}

TEST(Chains, AFusedLaneIsOneKernel) {
  const std::unique_ptr<Device> device = open_device("virtual:h200");
  const std::unique_ptr<Queue> queue = device->make_queue();
  const auto kernels = [&](const std::string& text) {
    const auto chain = device->prepare(Operation::parse(text), InputData());
    const auto tracer = device->trace_kernels();
    queue->launch(*chain);
    queue->wait();
    return tracer->stop().size();
  };
  EXPECT_EQ(kernels("chain:[relu:count=1024]*3,lanes=2"), 6u);
  EXPECT_EQ(kernels("chain:[relu:count=1024]*3,lanes=2,fused=1"), 2u);
}

// Rounded sums that are equal are not so in the reference: the place of the largest is one of theirs.
TEST(Chains, PlacesOfWhatWasRoundedAreNotCompared) {
  const std::unique_ptr<Device> cpu = open_device("cpu");
  const std::unique_ptr<Queue> queue = cpu->make_queue();
  const auto verified = [&](const std::string& first) {
    const std::string pool = "[max_pool:n=1,c=16,hw=64,window=8,stride=8,dtype=bf16]";
    const auto chain =
        cpu->prepare(Operation::parse("chain:[" + first + ":count=64Ki,dtype=bf16]" + pool), {});
    return verify(*queue, *chain);
  };
  const Verification rounded = verified("add"), exact = verified("relu");
  EXPECT_TRUE(rounded.passed) << rounded.relative_error;
  EXPECT_EQ(rounded.checked, rounded.total / 2) << "the largest, and not their places";
  EXPECT_TRUE(exact.passed);
  EXPECT_EQ(exact.checked, exact.total);
}

TEST(Chains, WhatNobodyKnowsTheResultOfIsNotVerified) {
  EXPECT_TRUE(has_reference(Operation::parse("chain:[relu:count=8][spin:ns=1]")));
  EXPECT_FALSE(
      has_reference(Operation::parse("chain:[relu:count=8][cuda:@saxpy:saxpy,grid=1,block=1,x=f32[8]]")));
  // A product inside has to be computed whole.
  EXPECT_FALSE(has_reference(Operation::parse("chain:[matmul:m=4096,n=4096,k=4096]*2")));
  EXPECT_TRUE(has_reference(Operation::parse("chain:[matmul:m=4096,n=4096,k=4096]")));
  // A conversion, or a copy, passes on the elements that are looked at.
  EXPECT_TRUE(has_reference(
      Operation::parse("chain:[matmul:m=4096,n=4096,k=4096][convert:count=16Mi,to_dtype=f16]")));
  EXPECT_TRUE(has_reference(Operation::parse("chain:[matmul:m=4096,n=4096,k=4096][copy:bytes=64Mi]")));
  EXPECT_EQ(reference_sample(Operation::parse("chain:[matmul:m=4096,n=4096,k=4096][copy:bytes=64Mi]")).size(),
            reference_sample(Operation::parse("matmul:m=4096,n=4096,k=4096")).size());
}

}  // namespace
}  // namespace jitterscope
