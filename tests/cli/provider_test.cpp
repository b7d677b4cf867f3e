// Which library runs a model's layers, beside a plug-in for PyTorch that only says that it is there.
#include <gmock/gmock.h>

#include <cstdlib>

#include "command.hpp"

namespace jitterscope::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string planned(const std::string& arguments, const char* plugin = JITTERSCOPE_STAND_IN_PLUGIN) {
  setenv("JITTERSCOPE_TORCH_PLUGIN", plugin, 1);
  const Outcome outcome = run_tool("run " + arguments + " --dry-run --device cpu");
  unsetenv("JITTERSCOPE_TORCH_PLUGIN");
  return outcome.output + outcome.errors;
}

TEST(Provider, PytorchRunsTheLayersOfAModelThatOnlyStandInsWouldRun) {
  const std::string plan = planned("resnet18:batch=2,dtype=f32");
  EXPECT_THAT(plan, HasSubstr("aten::relu(f32[1605632])"));
  EXPECT_THAT(plan, HasSubstr("aten::threshold_backward"));
  EXPECT_THAT(plan, HasSubstr("aten::max_pool2d_with_indices_backward"));
  EXPECT_THAT(plan, HasSubstr("aten::mean.dim"));
  EXPECT_THAT(plan, HasSubstr("conv2d:"));
  EXPECT_THAT(plan, HasSubstr("batch_norm:"));
  EXPECT_THAT(plan, Not(HasSubstr(" relu:")));
}

TEST(Provider, WhatIsVerifiedTypedOrInSequenceOnACpuStaysAsItIs) {
  for (const char* arguments :
       {"resnet18:batch=2,dtype=f32 --provider builtin", "resnet18:batch=2,dtype=f32 --verify",
        "resnet18:batch=2,dtype=f32 --in-sequence", "relu:count=8"}) {
    EXPECT_THAT(planned(arguments), Not(HasSubstr("aten::"))) << arguments;
  }
  EXPECT_THAT(planned("relu:count=8 --provider torch"), HasSubstr("aten::relu(f32[8])"));
}

TEST(Provider, WithoutAPluginLayersStayAndTorchIsRefused) {
  EXPECT_THAT(planned("resnet18:batch=2,dtype=f32", "/nowhere.so"), Not(HasSubstr("aten::")));
  EXPECT_THAT(planned("relu:count=8 --provider torch", "/nowhere.so"),
              HasSubstr("--provider torch: the plug-in for PyTorch is not there"));
}

}  // namespace
}  // namespace jitterscope::test
