#include "output/cells.hpp"

#include <gtest/gtest.h>

namespace jitterscope {
namespace {

TEST(OperationLabel, LeavesOutWhatIsTheSameEverywhere) {
  const std::vector<std::string> operations = {
      "conv2d:n=32,c=64,hw=56,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop",
      "conv2d:n=32,c=64,hw=28,rs=1,dtype=f16,layout=nhwc,direction=dgrad",
      "linear:n=32,in=512,out=1000,dtype=f16"};
  const OperationLabels names = label_operations(operations);
  EXPECT_EQ(names.labels,
            (std::vector<std::string>{"conv2d nhwc fprop c=64,hw=56,rs=3,pad=1",
                                      "conv2d nhwc dgrad c=64,hw=28,rs=1", "linear in=512,out=1000"}));
  EXPECT_EQ(names.common, "n=32,dtype=f16");
}

// A model's softmax of 32 x 1000 is none of its convolutions' business.
TEST(OperationLabel, AParameterOfOneKindAmongOthersStays) {
  const std::vector<std::string> operations = {"conv2d:n=1,layout=nchw", "pool2d:n=2,layout=nchw",
                                               "softmax:rows=32,columns=1000",
                                               "softmax:rows=32,columns=1000,direction=backward"};
  const OperationLabels names = label_operations(operations);
  EXPECT_EQ(names.common, "layout=nchw");
  EXPECT_EQ(names.labels[2], "softmax rows=32,columns=1000");
}

TEST(OperationLabel, OfASingleKindAllThatIsTheSameIsLeftOut) {
  const std::vector<std::string> operations = {"softmax:rows=32,columns=10", "softmax:rows=32,columns=20"};
  EXPECT_EQ(label_operations(operations).common, "rows=32");
}

TEST(OperationLabel, AParameterThatSomeLeaveAtItsDefaultStays) {
  const std::vector<std::string> operations = {"conv2d:c=3,stride=2", "conv2d:c=3"};
  EXPECT_EQ(label_operations(operations).labels, (std::vector<std::string>{"conv2d stride=2", "conv2d"}));
}

TEST(OperationLabel, WhatSetsChainsApartStandsBeforeTheirSteps) {
  const std::vector<std::string> operations = {"chain:[relu:count=8,dtype=f32]",
                                               "chain:[relu:count=8,dtype=f32],lanes=10"};
  EXPECT_EQ(
      label_operations(operations).labels,
      (std::vector<std::string>{"chain:[relu:count=8,dtype=f32]", "lanes=10 [relu:count=8,dtype=f32]"}));
}

TEST(OperationLabel, AKernelStandsWithItsFile) {
  const std::vector<std::string> operations = {"cuda:k.cu:f<int,2>,grid=1,block=64,reference=g<int,2>,n=3",
                                               "cuda:k.cu:f<int,2>,grid=1,block=128,reference=g<int,2>,n=3"};
  const OperationLabels names = label_operations(operations);
  EXPECT_EQ(names.labels,
            (std::vector<std::string>{"cuda:k.cu:f<int,2> block=64", "cuda:k.cu:f<int,2> block=128"}));
  EXPECT_EQ(names.common, "grid=1,reference=g<int,2>,n=3");
}

TEST(OperationLabel, OneOperationKeepsAll) {
  const std::vector<std::string> operations = {"fill:count=1024,dtype=f32"};
  EXPECT_EQ(label_operations(operations).labels, (std::vector<std::string>{"fill f32 count=1024"}));
  EXPECT_EQ(label_operations(operations).common, "");
}

TEST(OperationLabel, CallablesMayHaveAnyName) {
  const std::vector<std::string> operations = {"", ":=", "my kernel<float, 4>", "a:b", "x:,,=,"};
  EXPECT_EQ(label_operations(operations).labels.size(), operations.size());
  EXPECT_EQ(label_operations(operations).labels[2], "my kernel<float, 4>");
}

TEST(OperationLabel, OperatorsOfPyTorchStayWhole) {
  const std::vector<std::string> operations = {"aten::add.Tensor(f32[8,16],f32[8,16],alpha=2)",
                                               "aten::sub.Tensor(f32[8,16],f32[8,16],alpha=2)"};
  EXPECT_EQ(label_operations(operations).labels, operations);
}

}  // namespace
}  // namespace jitterscope
