// Chains: their text, what they come to, and which of their operands are whose.
#include "operation/chain.hpp"

#include <gmock/gmock.h>

#include "operation/operation.hpp"
#include "operation/random_operation.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing::usage_message;

std::string normal_chain(std::string_view text) { return Operation::parse(text).text(); }
std::string chain_problem(const std::string& text) {
  return usage_message([&] { Operation::parse(text); });
}
Chain chain_of(std::string_view text) { return std::get<Chain>(Operation::parse(text).parameters()); }

TEST(Chain, ItsTextReadsBackEqual) {
  const std::string text =
      "chain:[copy:bytes=4096,kind=h2d][relu:count=1024,dtype=f32]*3,lanes=4,streams=2,spread=step,order=joins,"
      "wait=value,wait_after=step,high_priority=1,load_ns=1000";
  EXPECT_EQ(normal_chain(text), text);
  EXPECT_THAT(chain_of(text).steps, SizeIs(4));
  EXPECT_EQ(normal_chain(" chain: [ relu: count=1Ki ][relu:count=1024] , streams=1"),
            "chain:[relu:count=1024,dtype=f32]*2");
  const std::string kernel =
      "chain:[cuda:@saxpy:saxpy,grid=4,block=256,n=1024,x=f32[1024],y=inout:f32[1024]]";
  EXPECT_EQ(normal_chain(kernel), kernel);
}

TEST(Chain, EveryRandomOneReadsBackEqual) {
  testing::RandomOperation random(11);
  for (int i = 0; i < 500; ++i) {
    Chain chain;
    for (std::int64_t steps = random.number(4); steps > 0; --steps) chain.steps.push_back(random.next());
    chain.lanes = random.number(16);
    chain.streams = random.number(chain.lanes);
    chain.order = static_cast<ChainOrder>(random.number(3) - 1);
    chain.wait = static_cast<HostWait>(random.number(8) - 1);
    chain.wait_after = random.flag() ? WaitAfter::lane : WaitAfter::step;
    chain.high_priority = random.flag();
    chain.load_ns = random.flag() ? 0 : random.number(1000);
    if (random.flag()) {
      const Operation step(Elementwise{ElementwiseKind::gelu, random.number(1000), DataType::bf16});
      chain = Chain{.steps = {step, step}, .lanes = chain.lanes, .fused = true};
    }
    const Operation operation{chain};
    ASSERT_EQ(Operation::parse(operation.text()), operation) << operation.text();
  }
}

TEST(Chain, ASweepVariesWhatIsSaidOfAllSteps) {
  const std::vector<Operation> sweep = parse_sweep("chain:[relu:count=1Ki]*2,lanes=4,streams=1,2,4");
  ASSERT_THAT(sweep, SizeIs(3));
  EXPECT_EQ(std::get<Chain>(sweep[2].parameters()).streams, 4);
}

TEST(Chain, WhatCannotBeIsSaid) {
  EXPECT_THAT(chain_problem("chain"), HasSubstr("each in brackets"));
  EXPECT_THAT(chain_problem("chain:lanes=2"), HasSubstr("is not a step"));
  EXPECT_THAT(chain_problem("chain:[relu:count=8"), HasSubstr("is not a step"));
  EXPECT_THAT(chain_problem("chain:[relu:count=8]x"), HasSubstr("'x' is not a step"));
  EXPECT_THAT(chain_problem("chain:[relu:count=8]*0"),
              HasSubstr("1 to 64 steps, and more launches by lanes="));
  EXPECT_THAT(chain_problem("chain:[chain:[relu:count=8]]"), HasSubstr("is a chain itself"));
  EXPECT_THAT(chain_problem("chain:[aten::relu(f32[8])]"), HasSubstr("operator of PyTorch"));
  EXPECT_THAT(chain_problem("chain:[relu:count=8,16]"), HasSubstr("one operation is wanted"));
  EXPECT_THAT(chain_problem("chain:[relu:count=8]*8,lanes=126"), HasSubstr("1008 launches"));
  EXPECT_THAT(chain_problem("chain:[relu:count=8],lanes=1001"), HasSubstr("lanes=1001 is impossible"));
  EXPECT_EQ(chain_problem("chain:[relu:count=8]*8,lanes=125"), "");
  EXPECT_THAT(chain_problem("chain:[relu:count=8],streams=2"), HasSubstr("more than there are lanes"));
  EXPECT_THAT(chain_problem("chain:[relu:count=8],order=event"), HasSubstr("did you mean 'events'"));
  EXPECT_THAT(chain_problem("chain:[relu:count=8],strems=2"), HasSubstr("did you mean 'streams'"));
  EXPECT_EQ(chain_problem("chain:[relu:count=8],streams=2,spread=step"), "");
}

TEST(Chain, WorkIsThatOfAllSteps) {
  const Operation step = Operation::parse("add:count=1000");
  const Operation chain = Operation::parse("chain:[add:count=1000]*2[copy:bytes=4000,kind=d2h],lanes=3");
  EXPECT_EQ(chain.flops(), 6 * step.flops());
  EXPECT_EQ(chain.bytes(), 6 * step.bytes() + 3 * Operation::parse("copy:bytes=4000,kind=d2h").bytes());
  EXPECT_EQ(Operation::parse("chain:[relu:count=8][relu:count=8,dtype=f16]").dtype(), DataType::f16);
  EXPECT_EQ(Operation::parse("chain:[relu:count=8]").with_dtype(DataType::bf16).text(),
            "chain:[relu:count=8,dtype=bf16]");
}

TEST(Chain, AStepReadsWhatTheOneBeforeItWroteWhereItFits) {
  const Operation operation =
      Operation::parse("chain:[copy:bytes=4Ki,kind=h2d][add:count=1Ki][relu:count=8],lanes=2");
  const Chain& chain = std::get<Chain>(operation.parameters());
  EXPECT_TRUE(is_linked(chain, 1));
  EXPECT_FALSE(is_linked(chain, 0) || is_linked(chain, 2));
  std::vector<std::string> names;
  for (const Operand& operand : operation.operands()) names.push_back(operand.name);
  EXPECT_THAT(names, ElementsAre("1.1.source", "1.2.b", "1.3.x", "2.1.source", "2.2.b", "2.3.x", "1.2.y",
                                 "1.3.y", "2.2.y", "2.3.y"));
  // The copy's destination and the sum's first operand are one.
  EXPECT_EQ(operand_memory(operation), Bytes(2 * (4 * 4096 + 2 * 32)));
  EXPECT_FALSE(is_linked(chain_of("chain:[relu:count=8][relu:count=8,dtype=f16]"), 1)) << "another type";
  EXPECT_FALSE(is_linked(chain_of("chain:[spin:ns=1][relu:count=8]"), 1)) << "nothing is written";
}

TEST(Chain, ConversionsLinkWhatDiffersInLayoutOrType) {
  const Chain layout = chain_of(
      "chain:[convert:n=2,c=8,hw=6,from=nchw,to=nhwc][conv2d:n=2,c=8,hw=6,k=4,rs=3,layout=nhwc]"
      "[convert:n=2,c=4,hw=4,from=nhwc,to=nchw]");
  EXPECT_TRUE(is_linked(layout, 1) && is_linked(layout, 2));
  const Operation type = Operation::parse(
      "chain:[convert:count=64,to_dtype=f16][linear:n=8,in=8,out=4,dtype=f16]"
      "[convert:count=32,dtype=f16,to_dtype=f32]");
  const Chain& chain = std::get<Chain>(type.parameters());
  EXPECT_TRUE(is_linked(chain, 1) && is_linked(chain, 2));
  EXPECT_EQ(type.dtype(), DataType::f16);
  EXPECT_EQ(type.bytes(), Bytes(64 * (4 + 2)) + chain.steps[1].bytes() + Bytes(32 * (2 + 4)));
  EXPECT_FALSE(
      is_linked(chain_of("chain:[convert:count=64,to_dtype=bf16][linear:n=8,in=8,out=4,dtype=f16]"), 1));
  EXPECT_THAT(chain_problem("chain:[convert:count=64,to_dtype=f16][relu:count=64],fused=1"),
              HasSubstr("not of the size and type of step 1's first output"));
}

TEST(FusedChain, ItsTextReadsBackEqual) {
  const std::string text =
      "chain:[relu:count=32,dtype=f32][max_pool:n=1,c=2,hw=4,window=2,dtype=f32,layout=nchw],lanes=2,fused=1";
  EXPECT_EQ(normal_chain(text), text);
  EXPECT_EQ(normal_chain("chain:[relu:count=8]*2,fused=0"), "chain:[relu:count=8,dtype=f32]*2");
  EXPECT_FALSE(Operation::parse("chain:[relu:count=8]*2") ==
               Operation::parse("chain:[relu:count=8]*2,fused=1"));
}

TEST(FusedChain, WhatCannotBeOneLaunchIsSaid) {
  EXPECT_THAT(chain_problem("chain:[relu:count=8],fused=1"), HasSubstr("there is one; give more"));
  EXPECT_THAT(
      chain_problem("chain:[relu:count=8]*2[relu:count=16],fused=1"),
      HasSubstr(
          "the first input of step 3 (relu:count=16,dtype=f32) is not of the size and type of step 2's"));
  EXPECT_THAT(chain_problem("chain:[relu:count=8][relu:count=8,dtype=f16],fused=1"), HasSubstr("step 2"));
  for (const char* more : {"lanes=2,streams=2", "wait=stream", "high_priority=1", "load_ns=1000"}) {
    EXPECT_THAT(chain_problem(std::string("chain:[relu:count=8]*2,fused=1,") + more),
                HasSubstr("leave out streams, wait, high_priority and load_ns, or fused"))
        << more;
  }
  EXPECT_EQ(chain_problem("chain:[relu:count=8]*2,lanes=4,fused=1"), "");
}

TEST(FusedChain, WhatAStepHandsOnDoesNotMove) {
  const Operation separate =
      Operation::parse("chain:[add:count=1000][mul:count=1000][relu:count=1000],lanes=3");
  const Operation fused = Operation::parse(separate.text() + ",fused=1");
  EXPECT_EQ(fused.flops(), separate.flops());
  // Two results are neither written nor read.
  EXPECT_EQ(separate.bytes() - fused.bytes(), Bytes(3 * 4 * 4000));
  EXPECT_EQ(fused.bytes(), Bytes(3 * 4 * 4000));
  EXPECT_EQ(operand_memory(fused), fused.bytes());
  EXPECT_EQ(operand_memory(separate), Bytes(3 * 6 * 4000));
  EXPECT_EQ(fused.operands().size(), separate.operands().size());
  // Of a filter with gaps between its steps not all of the input is read, fused or not.
  const std::string steps = "[conv2d:n=1,c=8,hw=8,k=8,rs=1,stride=2][relu:count=128]";
  EXPECT_EQ(
      Operation::parse("chain:" + steps).bytes() - Operation::parse("chain:" + steps + ",fused=1").bytes(),
      Bytes(2 * 4 * 128));
}

}  // namespace
}  // namespace jitterscope
