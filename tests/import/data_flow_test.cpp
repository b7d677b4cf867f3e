// A profiler trace with the data flow of an execution trace of the same step.
#include "import/data_flow.hpp"

#include <gmock/gmock.h>

#include "import/imported.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Model model_of(const std::vector<std::string>& operations) {
  Model model;
  model.name = "m";
  for (const std::string& text : operations) {
    const Operation operation = Operation::parse(text);
    auto layer = std::ranges::find(model.layers, operation, &Layer::operation);
    if (layer == model.layers.end())
      layer = model.layers.insert(model.layers.end(), Layer{.names = {}, .operation = operation});
    layer->names.push_back(std::to_string(model.calls.size()));
    model.calls.push_back({static_cast<std::size_t>(layer - model.layers.begin()), layer->names.back(), {}});
  }
  return model;
}

const std::string kConv = "conv2d:n=1,c=8,hw=8,k=8,rs=3,pad=1,dtype=f32", kRelu = "relu:count=512",
                  kAdd = "add:count=512";

// The relu reads what the convolution wrote, the sum what both wrote.
Model flow_of_three() {
  Model flow = model_of({kConv, kRelu, kAdd});
  flow.name = "et";
  flow.calls[1].inputs = {{.operand = 0, .call = 0, .source_operand = 2}};
  flow.calls[2].inputs = {{.operand = 0, .call = 0, .source_operand = 2},
                          {.operand = 1, .call = 1, .source_operand = 1}};
  return flow;
}

TEST(DataFlow, EveryStepOfATraceGetsIt) {
  Model trace = model_of({kConv, kRelu, kAdd, kConv, kRelu, kAdd});
  const JoinedCalls joined = take_data_flow(trace, flow_of_three());
  EXPECT_EQ(joined.found, 6u);
  EXPECT_EQ(joined.steps, 2u);
  EXPECT_THAT(trace.calls[3].inputs, IsEmpty());
  ASSERT_THAT(trace.calls[5].inputs, SizeIs(2));
  EXPECT_EQ(trace.calls[5].inputs[0].call, 3u);
  EXPECT_EQ(trace.calls[5].inputs[1].call, 4u);
  EXPECT_EQ(trace.calls[5].unwritten, 0);
}

TEST(DataFlow, WhatRanInTf32IsTheSameWork) {
  Model trace = model_of({"conv2d:n=1,c=8,hw=8,k=8,rs=3,pad=1,dtype=tf32", kRelu, kAdd});
  EXPECT_EQ(take_data_flow(trace, flow_of_three()).found, 3u);
}

// The trace lacks the relu, and has a call that the flow lacks.
TEST(DataFlow, WhatTheTraceLacksIsUnwritten) {
  Model trace = model_of({kConv, "gelu:count=512", kAdd});
  const JoinedCalls joined = take_data_flow(trace, flow_of_three());
  EXPECT_EQ(joined.found, 2u);
  EXPECT_EQ(joined.steps, 1u);
  ASSERT_THAT(trace.calls[2].inputs, SizeIs(1));
  EXPECT_EQ(trace.calls[2].inputs[0].call, 0u);
  EXPECT_EQ(trace.calls[2].unwritten, 1);
  EXPECT_THAT(trace.calls[1].inputs, IsEmpty());
}

TEST(DataFlow, EqualStepsGetItEvenIfTheyHaveACallThatTheFlowLacks) {
  Model trace = model_of({kConv, "gelu:count=512", kRelu, kAdd, kConv, "gelu:count=512", kRelu, kAdd});
  const JoinedCalls joined = take_data_flow(trace, flow_of_three());
  EXPECT_EQ(joined.found, 6u);
  EXPECT_EQ(joined.steps, 2u);
  ASSERT_THAT(trace.calls[7].inputs, SizeIs(2));
  EXPECT_EQ(trace.calls[7].inputs[0].call, 4u);
  EXPECT_EQ(trace.calls[7].inputs[1].call, 6u);
}

TEST(DataFlow, AnotherStepIsRefused) {
  Model trace = model_of({kConv, "gelu:count=512", "gelu:count=1024"});
  EXPECT_THAT(usage_message([&] { take_data_flow(trace, flow_of_three()); }),
              AllOf(HasSubstr("et: only 1 of 3 calls of m"), HasSubstr("the same step")));
}

TEST(DataFlow, RealTracesOfOneStepAreJoined) {
  for (const std::string name : {"bert", "mobilenet_v2"}) {
    Model trace = profiler_trace(data_file(name + "_step_trace.json.gz"));
    const Model flow = execution_trace(data_file(name + "_et.json.gz"));
    const JoinedCalls joined = take_data_flow(trace, flow);
    EXPECT_GT(10 * joined.found, 9 * joined.of) << name;
    const auto reads = [](const Call& call) { return !call.inputs.empty(); };
    const auto read_in_flow = std::ranges::count_if(flow.calls, reads);
    EXPECT_GT(read_in_flow, 0) << name;
    EXPECT_GE(10 * std::ranges::count_if(trace.calls, reads), 9 * read_in_flow) << name;
    for (std::size_t i = 0; i < trace.calls.size(); ++i) {
      for (const OperandSource& input : trace.calls[i].inputs) ASSERT_LT(input.call, i) << name;
    }
  }
}

}  // namespace
}  // namespace jitterscope
