#include <gtest/gtest.h>

#include <cmath>

#include "device/virtual/gpus.hpp"
#include "measure/verify.hpp"

namespace jitterscope::virtual_gpu {
namespace {

class VirtualValues : public testing::TestWithParam<const char*> {};

TEST_P(VirtualValues, AreVerified) {
  Bench bench;
  const auto prepared = bench.prepare(GetParam());
  const Verification result = verify(*bench.queue, *prepared);
  EXPECT_TRUE(result.passed) << result.relative_error;
  EXPECT_EQ(result.unwritten, 0);
  EXPECT_TRUE(result.same_formula);
  EXPECT_GT(result.checked, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, VirtualValues,
    testing::Values("conv2d:n=2,c=8,hw=7,k=8,rs=3,pad=1,dtype=f16,layout=nhwc",
                    "conv2d:n=2,c=8,hw=7,k=8,rs=3,pad=1,direction=dgrad",
                    "conv2d:n=2,c=8,hw=7,k=8,rs=3,pad=1,dtype=bf16,direction=wgrad",
                    "matmul:m=33,n=17,k=65,dtype=f16,bias=1", "linear:n=5,in=30,out=7,dtype=f64",
                    "copy:bytes=4096", "copy:bytes=4096,kind=h2d", "fill:count=100",
                    "add:count=100000,dtype=bf16", "relu:count=100", "matmul:m=2048,n=2048,k=512,dtype=bf16",
                    "gelu:count=100,dtype=f16", "batch_norm:n=2,c=3,hw=9,dtype=f16",
                    "batch_norm:n=2,c=3,hw=9,dtype=f16,pass=backward",
                    "batch_norm:n=2,c=3,hw=9,pass=inference",
                    "max_pool:n=2,c=3,hw=8,window=3,stride=2,pad=1,dtype=f16",
                    "max_pool:n=2,c=3,hw=8,window=2,dtype=f16,pass=backward",
                    "embedding:count=20,rows=9,columns=8,pass=backward", "adamw:count=100,dtype=bf16",
                    "attention:batch=1,heads=2,queries=20,dim=8,dtype=bf16",
                    "attention:batch=1,heads=2,queries=20,dim=8,dtype=f64",
                    "attention:batch=1,heads=4,kv_heads=2,queries=20,dim=8,dtype=f16",
                    "attention:batch=1,heads=2,queries=9,dim=8,dtype=f16,pass=backward"));

TEST(VirtualOperation, OutputsAreNanUntilALaunchHasRun) {
  Bench bench;
  const auto relu = bench.prepare("relu:count=100");
  EXPECT_TRUE(std::isnan(relu->read_operand(1).at(99)));
  bench.queue->launch(*relu);
  EXPECT_GE(relu->read_operand(1).at(99), 0.0) << "reading waits for the launch";
  relu->poison_outputs();
  EXPECT_TRUE(std::isnan(relu->read_operand(1).at(0)));
}

TEST(VirtualOperation, InputsAreOfTheKindAskedFor) {
  Bench bench;
  const std::vector<double> zeros = bench.prepare("relu:count=9000", DataKind::zeros)->read_operand(0);
  EXPECT_EQ(zeros, std::vector<double>(9000, 0.0));
  const auto add = bench.prepare("add:count=9000,dtype=f16");
  const std::vector<double> a = add->read_operand(0);
  double sum = 0, squares = 0;
  for (const double value : a) {
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 9000, 0.0, 0.06);
  EXPECT_NEAR(squares / 9000, 1.0, 0.08);
  EXPECT_NE(add->read_operand(1), a);
  EXPECT_EQ(bench.prepare("add:count=9000,dtype=f16")->read_operand(0), a);
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
