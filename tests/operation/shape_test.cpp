#include <gmock/gmock.h>

#include "jitterscope/operation.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::usage_message;

std::string problem_of_shape(const std::string& text) {
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

// The operands whose drawn values lose their sign.
std::string drawn_positive(const Operation& operation) {
  std::string result;
  for (const Operand& operand : operation.operands()) {
    if (operand.non_negative) result += operand.name + " ";
  }
  return result;
}

TEST(OperationShape, AStridedFilterOfOnePositionReadsAQuarterOfItsInput) {
  const std::string text = "conv2d:n=2,c=3,hw=8,k=4,rs=1,stride=2,dtype=f16";
  EXPECT_EQ(Operation::parse(text).bytes(), Bytes(2 * (2 * 3 * 16 + 12 + 2 * 4 * 16)));
  EXPECT_EQ(Operation::parse(text + ",direction=wgrad").bytes(), Operation::parse(text).bytes());
  // The gradient of x is written whole, with zeros between.
  EXPECT_EQ(Operation::parse(text + ",direction=dgrad").bytes(), Bytes(2 * (2 * 3 * 64 + 12 + 2 * 4 * 16)));
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

TEST(OperationShape, BatchNormalization) {
  const std::string text = "batch_norm:n=2,c=3,h=4,w=5,dtype=f16";
  const Operation forward = Operation::parse(text);
  EXPECT_EQ(names(forward), "x> weight> bias> y< mean< deviation< ");
  EXPECT_EQ(counts(forward), (std::vector<std::int64_t>{120, 3, 3, 120, 3, 3}));
  EXPECT_EQ(forward.bytes(), Bytes(2 * 2 * 120 + 4 * 4 * 3));  // per channel in f32
  EXPECT_EQ(forward.flops(), 8.0 * 120);
  EXPECT_EQ(forward.with_dtype(DataType::f64).bytes(), Bytes(8 * (2 * 120 + 4 * 3)));
  EXPECT_EQ(Operation::parse(text + ",weights=f16").bytes(), forward.bytes() - Bytes(2 * 2 * 3));
  EXPECT_EQ(Operation::parse(text + ",weights=f16").with_dtype(DataType::f64),
            forward.with_dtype(DataType::f64));
  const Operation backward = Operation::parse(text + ",pass=backward");
  EXPECT_EQ(names(backward), "x> dy> weight> mean> deviation> dx< dweight< dbias< ");
  EXPECT_EQ(counts(backward), (std::vector<std::int64_t>{120, 120, 3, 3, 3, 120, 3, 3}));
  const Operation inference = Operation::parse(text + ",pass=inference");
  EXPECT_EQ(names(inference), "x> weight> bias> mean> variance> y< ");
  EXPECT_EQ(drawn_positive(forward) + drawn_positive(backward) + drawn_positive(inference),
            "deviation variance ");
}

TEST(OperationShape, Pooling) {
  const std::string text = "max_pool:n=2,c=3,h=9,w=7,window=3x2,stride=2x1,pad=1x0,dtype=f16";
  const Operation forward = Operation::parse(text);
  EXPECT_EQ(std::get<Pool2d>(forward.parameters()).out_h(), 5);
  EXPECT_EQ(std::get<Pool2d>(forward.parameters()).out_w(), 6);
  EXPECT_EQ(names(forward), "x> y< indices< ");
  EXPECT_EQ(counts(forward), (std::vector<std::int64_t>{378, 180, 180}));
  EXPECT_EQ(forward.bytes(), Bytes(2 * (378 + 180) + 8 * 180));
  EXPECT_EQ(forward.flops(), 180.0 * 3 * 2);
  EXPECT_EQ(forward.operands()[2].index_limit, 63);
  const Operation backward = Operation::parse(text + ",pass=backward");
  EXPECT_EQ(names(backward), "dy> indices> dx< ");
  EXPECT_EQ(counts(backward), (std::vector<std::int64_t>{180, 180, 378}));
  EXPECT_EQ(backward.operands()[1].dtype, DataType::i64);
  EXPECT_EQ(backward.flops(), 180.0);
  const Operation average = Operation::parse("avg_pool:n=1,c=1,hw=6,window=2");
  EXPECT_EQ(names(average), "x> y< ");
  EXPECT_EQ(counts(average), (std::vector<std::int64_t>{36, 9}));
  EXPECT_EQ(names(Operation::parse("avg_pool:n=1,c=1,hw=6,window=2,pass=backward")), "dy> dx< ");
}

TEST(OperationShape, RowsOfMatrices) {
  EXPECT_EQ(names(Operation::parse("softmax:rows=2,columns=3")), "x> y< ");
  EXPECT_EQ(names(Operation::parse("log_softmax:rows=2,columns=3,pass=backward")), "dy> y> dx< ");
  EXPECT_EQ(Operation::parse("softmax:rows=2,columns=3").flops(), 30.0);
  EXPECT_EQ(Operation::parse("softmax:rows=2,columns=3,pass=backward").bytes(), Bytes(3 * 6 * 4));
  const Operation norm = Operation::parse("layer_norm:rows=2,columns=3,dtype=bf16");
  EXPECT_EQ(names(norm), "x> weight> bias> y< mean< deviation< ");
  EXPECT_EQ(counts(norm), (std::vector<std::int64_t>{6, 3, 3, 6, 2, 2}));
  EXPECT_EQ(norm.bytes(), Bytes(2 * (6 + 3 + 3 + 6) + 4 * (2 + 2)));
  const Operation backward = Operation::parse("layer_norm:rows=2,columns=3,pass=backward");
  EXPECT_EQ(names(backward), "dy> x> mean> deviation> weight> dx< dweight< dbias< ");
  EXPECT_EQ(counts(backward), (std::vector<std::int64_t>{6, 6, 2, 2, 3, 6, 3, 3}));
  EXPECT_EQ(drawn_positive(backward), "deviation ");
}

TEST(OperationShape, AnEmbeddingReadsOnlyTheRowsThatItNeeds) {
  const Operation forward = Operation::parse("embedding:count=4,rows=100,columns=8,dtype=f16");
  EXPECT_EQ(names(forward), "indices> table> y< ");
  EXPECT_EQ(counts(forward), (std::vector<std::int64_t>{4, 800, 32}));
  EXPECT_EQ(forward.bytes(), Bytes(4 * 8 + 2 * 32 + 2 * 32));
  EXPECT_EQ(forward.flops(), 0.0);
  EXPECT_EQ(forward.operands().front().index_limit, 100);
  const Operation backward = Operation::parse("embedding:count=4,rows=100,columns=8,dtype=f16,pass=backward");
  EXPECT_EQ(names(backward), "dy> indices> dtable< ");
  EXPECT_EQ(backward.bytes(), Bytes(2 * 32 + 4 * 8 + 2 * 800));
  EXPECT_EQ(backward.flops(), 32.0);
  EXPECT_EQ(Operation::parse("embedding:count=400,rows=100,columns=8").bytes(),
            Bytes(400 * 8 + 4 * 800 + 4 * 3200));
}

TEST(OperationShape, BiasesAndOptimizerSteps) {
  const Operation bias = Operation::parse("bias_add:n=2,c=3,hw=4,layout=nhwc");
  EXPECT_EQ(names(bias), "x> bias> y< ");
  EXPECT_EQ(counts(bias), (std::vector<std::int64_t>{96, 3, 96}));
  EXPECT_EQ(bias.flops(), 96.0);
  EXPECT_EQ(names(Operation::parse("sgd:count=5")), "parameter> gradient> new_parameter< ");
  EXPECT_EQ(names(Operation::parse("momentum:count=5")),
            "parameter> gradient> momentum> new_parameter< new_momentum< ");
  const Operation adam = Operation::parse("adam:count=5,dtype=f16");
  EXPECT_EQ(names(adam), "parameter> gradient> mean> square> new_parameter< new_mean< new_square< ");
  EXPECT_EQ(adam.bytes(), Bytes(7 * 5 * 2));
  EXPECT_EQ(drawn_positive(adam), "square ");
  EXPECT_EQ(Operation::parse("adamw:count=5").flops(), 70.0);
}

TEST(OperationShape, ConversionsReadOneTypeAndWriteAnother) {
  const Operation layout = Operation::parse("convert:n=2,c=3,hw=4,from=nchw,to=nhwc,dtype=f16");
  EXPECT_EQ(names(layout), "x> y< ");
  EXPECT_EQ(counts(layout), (std::vector<std::int64_t>{96, 96}));
  EXPECT_EQ(layout.bytes(), Bytes(2 * 96 * 2));
  EXPECT_EQ(layout.flops(), 0.0);
  EXPECT_EQ(layout.dtype(), DataType::f16);
  EXPECT_EQ(layout.with_dtype(DataType::f32).text(), "convert:n=2,c=3,hw=4,from=nchw,to=nhwc,dtype=f32");
  const Operation type = Operation::parse("convert:count=100,dtype=f64,to_dtype=bf16");
  EXPECT_EQ(type.operands()[0].dtype, DataType::f64);
  EXPECT_EQ(type.operands()[1].dtype, DataType::bf16);
  EXPECT_EQ(type.bytes(), Bytes(100 * (8 + 2)));
  EXPECT_EQ(type.dtype(), DataType::bf16) << "the coarser one";
  EXPECT_EQ(Operation::parse("convert:count=1,dtype=bf16,to_dtype=f32").dtype(), DataType::bf16);
  EXPECT_EQ(type.with_dtype(DataType::f32), type) << "its types are what it is about";
}

TEST(OperationShape, ConversionsThatChangeNothingAreRefused) {
  EXPECT_THAT(problem_of_shape("convert:count=8"),
              HasSubstr("nothing changes; give another to_dtype, or from="));
  EXPECT_THAT(problem_of_shape("convert:n=1,c=2,hw=3,from=nhwc,to=nhwc,dtype=f16,to_dtype=f16"),
              HasSubstr("from f16 to f16 in the same layout nothing changes"));
  EXPECT_THAT(problem_of_shape("convert:count=8,dtype=tf32,to_dtype=f32"), HasSubstr("nothing changes"))
      << "TF32 is stored as f32";
  EXPECT_THAT(problem_of_shape("convert:count=0,to_dtype=f16"), HasSubstr("count=0 is impossible"));
  EXPECT_THAT(problem_of_shape("convert:n=0,c=1,hw=1,to_dtype=f16"), HasSubstr("n=0 is impossible"));
  EXPECT_THAT(problem_of_shape("convert:n=1,c=1,h=0,w=2,to=nhwc"), HasSubstr("h=0 is impossible"));
  EXPECT_THAT(problem_of_shape("convert:n=2147483647,c=2147483647,hw=2147483647,to_dtype=f16"),
              HasSubstr("is impossible"));
}

TEST(OperationShape, AttentionCountsThePairsThatSeeEachOther) {
  const std::string text = "attention:batch=2,heads=3,queries=4,keys=5,dim=8";
  const Operation forward = Operation::parse(text);
  EXPECT_EQ(names(forward), "q> k> v> y< logsumexp< ");
  EXPECT_EQ(counts(forward), (std::vector<std::int64_t>{192, 240, 240, 192, 24}));
  EXPECT_EQ(forward.bytes(), Bytes(2 * (192 + 240 + 240 + 192) + 4 * 24));
  EXPECT_EQ(forward.flops(), 4.0 * 6 * 4 * 5 * 8);
  EXPECT_EQ(Operation::parse(text + ",causal=1").flops(), 4.0 * 6 * (1 + 2 + 3 + 4) * 8);
  EXPECT_EQ(Operation::parse("attention:batch=1,heads=1,queries=4,keys=2,dim=1,causal=1").flops(),
            4.0 * (1 + 2 + 2 + 2));
  const Operation backward = Operation::parse(text + ",pass=backward");
  EXPECT_EQ(names(backward), "dy> q> k> v> y> logsumexp> dq< dk< dv< ");
  EXPECT_EQ(counts(backward), (std::vector<std::int64_t>{192, 192, 240, 240, 192, 24, 192, 240, 240}));
  EXPECT_EQ(backward.flops(), 2.5 * forward.flops());
}

TEST(OperationShape, GroupedAttentionMovesFewerKeysAndComputesAsMuch) {
  const std::string rest = ",queries=4,keys=5,dim=8,dtype=bf16";
  const Operation whole = Operation::parse("attention:batch=2,heads=6" + rest);
  const Operation grouped = Operation::parse("attention:batch=2,heads=6,kv_heads=2" + rest);
  EXPECT_EQ(counts(grouped), (std::vector<std::int64_t>{384, 160, 160, 384, 48}));
  EXPECT_EQ(grouped.bytes(), Bytes(2 * (384 + 160 + 160 + 384) + 4 * 48));
  EXPECT_EQ(grouped.flops(), whole.flops());
  const Operation backward = Operation::parse("attention:batch=2,heads=6,kv_heads=1,pass=backward" + rest);
  EXPECT_EQ(counts(backward), (std::vector<std::int64_t>{384, 384, 80, 80, 384, 48, 384, 80, 80}));
  EXPECT_EQ(backward.flops(), 2.5 * whole.flops());
}

TEST(OperationShape, ActivationsAndTheirGradients) {
  EXPECT_EQ(names(Operation::parse("mul:count=1")), "a> b> y< ");
  EXPECT_EQ(names(Operation::parse("gelu:count=1")), "x> y< ");
  for (const std::string kind : {"relu", "sigmoid", "tanh"}) {
    EXPECT_EQ(names(Operation::parse(kind + "_backward:count=1")), "dy> y> dx< ") << kind;
  }
  for (const std::string kind : {"relu6", "silu", "gelu"}) {
    EXPECT_EQ(names(Operation::parse(kind + "_backward:count=1")), "dy> x> dx< ") << kind;
  }
}

TEST(OperationShape, WithDataTypeChangesOnlyThat) {
  EXPECT_EQ(Operation::parse("matmul:m=2,n=3,k=5,ta=1").with_dtype(DataType::f64).text(),
            "matmul:m=2,n=3,k=5,ta=1,dtype=f64");
  EXPECT_EQ(Operation::parse("copy:bytes=8").with_dtype(DataType::f64), Operation::parse("copy:bytes=8"));
  EXPECT_EQ(Operation::parse("copy:bytes=8").dtype(), DataType::f32);
}

TEST(OperationShape, ImpossibleShapesSayWhichAndWhy) {
  EXPECT_THAT(problem_of_shape("conv2d:n=1,c=1,hw=3,k=1,rs=7,pad=1"),
              AllOf(HasSubstr("7x7 filter"), HasSubstr("dilation 1"), HasSubstr("padded 5x5 input")));
  EXPECT_THAT(problem_of_shape("conv2d:n=1,c=1,h=9,w=3,k=1,rs=3,dilation=2x3"),
              AllOf(HasSubstr("dilation 2x3"), HasSubstr("padded 9x3 input")));
  EXPECT_THAT(problem_of_shape("conv2d:n=1,c=6,hw=3,k=4,rs=1,groups=3"),
              HasSubstr("groups=3 does not divide k=4"));
  EXPECT_THAT(problem_of_shape("conv2d:n=1,c=5,hw=3,k=4,rs=1,groups=2"),
              HasSubstr("groups=2 does not divide c=5"));
  EXPECT_THAT(problem_of_shape("conv2d:n=0,c=1,hw=3,k=1,rs=1"),
              HasSubstr("n=0 is impossible: n must be from 1 to 2147483647"));
  EXPECT_THAT(problem_of_shape("conv2d:n=1,c=1,hw=3,k=1,rs=1,stride=1x0"), HasSubstr("stride=0"));
  EXPECT_THAT(problem_of_shape("matmul:m=1,n=2147483648,k=1"), HasSubstr("n=2147483648 is impossible"));
  EXPECT_THAT(problem_of_shape("copy:bytes=6"),
              AllOf(HasSubstr("bytes=6"), HasSubstr("multiple of 4"), HasSubstr("f32")));
  EXPECT_THAT(problem_of_shape("copy:bytes=0"), HasSubstr("bytes=0 is impossible"));
  EXPECT_THAT(problem_of_shape("spin:ns=1,threads=1025"), HasSubstr("threads must be from 1 to 1024"));
}

TEST(OperationShape, ImpossibleWindowsSayWhichAndWhy) {
  EXPECT_THAT(problem_of_shape("max_pool:n=1,c=1,hw=3,window=5,pad=0"),
              AllOf(HasSubstr("window=5"), HasSubstr("padded input of 3")));
  EXPECT_THAT(problem_of_shape("avg_pool:n=1,c=1,hw=9,window=3,pad=2"),
              AllOf(HasSubstr("pad=2"), HasSubstr("half of window=3")));
  EXPECT_THAT(problem_of_shape("max_pool:n=1,c=1,hw=9"), HasSubstr("window is missing"));
  EXPECT_THAT(problem_of_shape("max_pool:n=1,c=1,hw=9,window=2,stride=0"),
              HasSubstr("stride=0 is impossible"));
  EXPECT_THAT(problem_of_shape("batch_norm:n=1,c=0,hw=9"), HasSubstr("c=0 is impossible"));
  EXPECT_THAT(problem_of_shape("attention:batch=1,heads=1,queries=1,keys=0,dim=1"),
              HasSubstr("keys=0 is impossible"));
  EXPECT_THAT(problem_of_shape("attention:batch=1,heads=8,kv_heads=3,queries=1,dim=1"),
              HasSubstr("kv_heads=3 does not divide heads=8"));
  EXPECT_THAT(problem_of_shape("attention:batch=1,heads=8,kv_heads=16,queries=1,dim=1"),
              HasSubstr("kv_heads=16 does not divide heads=8"));
  EXPECT_THAT(problem_of_shape("attention:batch=1,heads=8,kv_heads=0,queries=1,dim=1"),
              HasSubstr("kv_heads=0 is impossible"));
}

TEST(OperationShape, HugeOperandsAreRefusedWithoutOverflow) {
  const std::string largest = "2147483647";
  EXPECT_THAT(problem_of_shape("conv2d:n=" + largest + ",c=" + largest + ",hw=" + largest + ",k=" + largest +
                               ",rs=1"),
              HasSubstr("64 TiB"));
  EXPECT_THAT(
      problem_of_shape("conv2d:n=1,c=1,hw=1,k=1,rs=" + largest + ",dilation=" + largest + ",pad=" + largest),
      HasSubstr("filter"));
  EXPECT_THAT(
      problem_of_shape("matmul:m=" + largest + ",n=" + largest + ",k=" + largest + ",batch=" + largest),
      HasSubstr("64 TiB"));
  EXPECT_THAT(problem_of_shape("linear:n=8Mi,in=4Mi,out=1,bias=0,dtype=f16"), HasSubstr("64 TiB"));
  EXPECT_THAT(
      problem_of_shape("attention:batch=" + largest + ",heads=" + largest + ",queries=" + largest + ",dim=1"),
      HasSubstr("64 TiB"));
  EXPECT_THAT(problem_of_shape("max_pool:n=" + largest + ",c=" + largest + ",hw=" + largest + ",window=1"),
              HasSubstr("64 TiB"));
  EXPECT_EQ(problem_of_shape("linear:n=8Mi,in=2Mi,out=1,bias=0,dtype=f16"), "");
  EXPECT_EQ(problem_of_shape("fill:count=1024Gi,dtype=f64"), "");
  EXPECT_THAT(problem_of_shape("fill:count=1025Gi"), HasSubstr("count must be from 1 to 1099511627776"));
}

TEST(OperationShape, ConstructionChecksToo) {
  EXPECT_THAT(usage_message([] { Operation operation(Conv2d{.n = -1}); }), HasSubstr("n=-1 is impossible"));
  EXPECT_THAT(
      usage_message([] { Operation operation(Elementwise{.kind = ElementwiseKind::relu, .count = 0}); }),
      HasSubstr("relu: count=0"));
}

}  // namespace
}  // namespace jitterscope
