#include <gmock/gmock.h>

#include "jitterscope/operation.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::usage_message;

std::string problem(const std::string& text) {
  return usage_message([&] { Operation::parse(text); });
}
std::vector<std::int64_t> counts(const Operation& operation) {
  std::vector<std::int64_t> result;
  for (const Operand& operand : operation.operands()) result.push_back(operand.count);
  return result;
}
std::string names(const Operation& operation) {
  std::string result;
  for (const Operand& operand : operation.operands()) {
    result += operand.name + (operand.role == OperandRole::input ? "> " : "< ");
  }
  return result;
}

TEST(OperationShape, FirstConvolutionOfResNet) {
  const std::string text = "conv2d:n=32,c=3,hw=224,k=64,rs=7,stride=2,pad=3,dtype=f16";
  const Operation forward = Operation::parse(text);
  const Conv2d& conv = std::get<Conv2d>(forward.parameters());
  EXPECT_EQ(conv.out_h(), 112);
  EXPECT_EQ(conv.out_w(), 112);
  EXPECT_EQ(counts(forward), (std::vector<std::int64_t>{4816896, 9408, 25690112}));
  EXPECT_EQ(names(forward), "x> w> y< ");
  EXPECT_EQ(forward.bytes(), Bytes(2 * (4816896 + 9408 + 25690112)));
  EXPECT_EQ(forward.flops(), 2.0 * 25690112 * 3 * 7 * 7);
  const Operation data = Operation::parse(text + ",direction=dgrad");
  EXPECT_EQ(names(data), "dy> w> dx< ");
  EXPECT_EQ(counts(data), (std::vector<std::int64_t>{25690112, 9408, 4816896}));
  const Operation weight = Operation::parse(text + ",direction=wgrad");
  EXPECT_EQ(names(weight), "x> dy> dw< ");
  EXPECT_EQ(counts(weight), (std::vector<std::int64_t>{4816896, 25690112, 9408}));
  EXPECT_EQ(weight.flops(), forward.flops());
}

TEST(OperationShape, GroupsStridesAndDilationsEachSide) {
  const Operation operation =
      Operation::parse("conv2d:n=2,c=6,h=9,w=12,k=4,r=3,s=2,stride=2x1,pad=1x0,dilation=1x3,groups=2");
  const Conv2d& conv = std::get<Conv2d>(operation.parameters());
  EXPECT_EQ(conv.out_h(), 5);
  EXPECT_EQ(conv.out_w(), 9);
  EXPECT_EQ(counts(operation), (std::vector<std::int64_t>{2 * 6 * 9 * 12, 4 * 3 * 3 * 2, 2 * 4 * 5 * 9}));
  EXPECT_EQ(operation.flops(), 2.0 * (2 * 4 * 5 * 9) * (3 * 3 * 2));
}

TEST(OperationShape, MatrixProductsAndLinearLayers) {
  const Operation matmul = Operation::parse("matmul:m=2,n=3,k=5,batch=7,bias=1,dtype=tf32");
  EXPECT_EQ(names(matmul), "a> b> bias> c< ");
  EXPECT_EQ(counts(matmul), (std::vector<std::int64_t>{70, 105, 3, 42}));
  EXPECT_EQ(matmul.flops(), 2.0 * 7 * 2 * 3 * 5 + 7 * 2 * 3);
  EXPECT_EQ(matmul.bytes(), Bytes(4 * (70 + 105 + 3 + 42)));
  EXPECT_EQ(Operation::parse("matmul:m=2,n=3,k=5").flops(), 60.0);
  const Operation linear = Operation::parse("linear:n=2,in=3,out=5,dtype=f64");
  EXPECT_EQ(names(linear), "x> w> bias> y< ");
  EXPECT_EQ(counts(linear), (std::vector<std::int64_t>{6, 15, 5, 10}));
  EXPECT_EQ(linear.flops(), 2.0 * 2 * 3 * 5 + 2 * 5);
  EXPECT_EQ(names(Operation::parse("linear:n=2,in=3,out=5,bias=0")), "x> w> y< ");
}

TEST(OperationShape, MemoryOperationsCountWhatMoves) {
  EXPECT_EQ(Operation::parse("copy:bytes=1Mi").bytes(), Bytes(2 << 20));
  EXPECT_EQ(Operation::parse("copy:bytes=1Mi,kind=h2d").bytes(), Bytes(1 << 20));
  EXPECT_EQ(Operation::parse("copy:bytes=1Mi,kind=d2h").bytes(), Bytes(1 << 20));
  EXPECT_EQ(counts(Operation::parse("copy:bytes=12")), (std::vector<std::int64_t>{3, 3}));
  EXPECT_EQ(Operation::parse("fill:count=10,dtype=f16").bytes(), Bytes(20));
  EXPECT_EQ(Operation::parse("add:count=10,dtype=f64").bytes(), Bytes(240));
  EXPECT_EQ(Operation::parse("relu:count=10").bytes(), Bytes(80));
  EXPECT_EQ(Operation::parse("fill:count=10").flops(), 0.0);
  EXPECT_EQ(Operation::parse("add:count=10").flops(), 10.0);
  EXPECT_EQ(Operation::parse("copy:bytes=12").flops(), 0.0);
  EXPECT_TRUE(Operation::parse("spin:ns=5").operands().empty());
  EXPECT_EQ(Operation::parse("spin:ns=5").bytes(), Bytes(0));
}

TEST(OperationShape, WithDataTypeChangesOnlyThat) {
  EXPECT_EQ(Operation::parse("matmul:m=2,n=3,k=5,ta=1").with_dtype(DataType::f64).text(),
            "matmul:m=2,n=3,k=5,ta=1,dtype=f64");
  EXPECT_EQ(Operation::parse("copy:bytes=8").with_dtype(DataType::f64), Operation::parse("copy:bytes=8"));
  EXPECT_EQ(Operation::parse("copy:bytes=8").dtype(), DataType::f32);
}

TEST(OperationShape, ImpossibleShapesSayWhichAndWhy) {
  EXPECT_THAT(problem("conv2d:n=1,c=1,hw=3,k=1,rs=7,pad=1"),
              AllOf(HasSubstr("7x7 filter"), HasSubstr("dilation 1"), HasSubstr("padded 5x5 input")));
  EXPECT_THAT(problem("conv2d:n=1,c=1,h=9,w=3,k=1,rs=3,dilation=2x3"),
              AllOf(HasSubstr("dilation 2x3"), HasSubstr("padded 9x3 input")));
  EXPECT_THAT(problem("conv2d:n=1,c=6,hw=3,k=4,rs=1,groups=3"), HasSubstr("groups=3 does not divide k=4"));
  EXPECT_THAT(problem("conv2d:n=1,c=5,hw=3,k=4,rs=1,groups=2"), HasSubstr("groups=2 does not divide c=5"));
  EXPECT_THAT(problem("conv2d:n=0,c=1,hw=3,k=1,rs=1"),
              HasSubstr("n=0 is impossible: n must be from 1 to 2147483647"));
  EXPECT_THAT(problem("conv2d:n=1,c=1,hw=3,k=1,rs=1,stride=1x0"), HasSubstr("stride=0"));
  EXPECT_THAT(problem("matmul:m=1,n=2147483648,k=1"), HasSubstr("n=2147483648 is impossible"));
  EXPECT_THAT(problem("copy:bytes=6"),
              AllOf(HasSubstr("bytes=6"), HasSubstr("multiple of 4"), HasSubstr("f32")));
  EXPECT_THAT(problem("copy:bytes=0"), HasSubstr("bytes=0 is impossible"));
  EXPECT_THAT(problem("spin:ns=1,threads=1025"), HasSubstr("threads must be from 1 to 1024"));
}

TEST(OperationShape, HugeOperandsAreRefusedWithoutOverflow) {
  const std::string largest = "2147483647";
  EXPECT_THAT(problem("conv2d:n=" + largest + ",c=" + largest + ",hw=" + largest + ",k=" + largest + ",rs=1"),
              HasSubstr("64 TiB"));
  EXPECT_THAT(problem("conv2d:n=1,c=1,hw=1,k=1,rs=" + largest + ",dilation=" + largest + ",pad=" + largest),
              HasSubstr("filter"));
  EXPECT_THAT(problem("matmul:m=" + largest + ",n=" + largest + ",k=" + largest + ",batch=" + largest),
              HasSubstr("64 TiB"));
  EXPECT_THAT(problem("linear:n=8Mi,in=4Mi,out=1,bias=0,dtype=f16"), HasSubstr("64 TiB"));
  EXPECT_EQ(problem("linear:n=8Mi,in=2Mi,out=1,bias=0,dtype=f16"), "");
  EXPECT_EQ(problem("fill:count=1024Gi,dtype=f64"), "");
  EXPECT_THAT(problem("fill:count=1025Gi"), HasSubstr("count must be from 1 to 1099511627776"));
}

TEST(OperationShape, ConstructionChecksToo) {
  EXPECT_THAT(usage_message([] { Operation operation(Conv2d{.n = -1}); }), HasSubstr("n=-1 is impossible"));
  EXPECT_THAT(
      usage_message([] { Operation operation(Elementwise{.kind = ElementwiseKind::relu, .count = 0}); }),
      HasSubstr("relu: count=0"));
}

}  // namespace
}  // namespace jitterscope
