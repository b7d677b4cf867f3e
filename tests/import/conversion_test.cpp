#include <gmock/gmock.h>

#include "import/operator_conversion.hpp"
#include "import/recorded_arguments.hpp"
#include "import/recorded_operator.hpp"
#include "jitterscope/error.hpp"
#include "operation/pytorch.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An operator from its text form: aten::mm(f32[4,8],f32[8,2]).
RecordedOperator recorded(const std::string& text) {
  const Operation operation = Operation::parse(text);
  const Aten& aten = std::get<Aten>(operation.parameters());
  RecordedOperator result;
  result.name = aten.name.substr(0, aten.name.find('.'));
  for (const AtenArgument& argument : aten.arguments) result.arguments.push_back({argument});
  result.argument_names = known_argument_names(result.name);
  return result;
}

std::vector<std::string> converted(const std::string& text, bool allow_tf32 = true) {
  ConversionContext context;
  context.allow_tf32 = allow_tf32;
  std::vector<std::string> result;
  for (const ConvertedOperation& one : convert(recorded(text), context))
    result.push_back(one.operation.text());
  return result;
}

TEST(Conversion, MatrixProductsFollowTheStrides) {
  EXPECT_THAT(converted("aten::mm(f32[4,8],f32[8,2])"), ElementsAre("matmul:m=4,n=2,k=8,dtype=f32"));
  EXPECT_THAT(converted("aten::mm(f32[4,8]{1,4},f32[8,2]{1,8})"),
              ElementsAre("matmul:m=4,n=2,k=8,ta=1,tb=1,dtype=f32"));
  EXPECT_THAT(converted("aten::bmm(f16[3,4,8],f16[3,8,2]{16,1,8})"),
              ElementsAre("matmul:m=4,n=2,k=8,batch=3,tb=1,dtype=f16"));
  EXPECT_THAT(converted("aten::addmm(f32[2],f32[4,8],f32[8,2]{1,8},1,1)"),
              ElementsAre("linear:n=4,in=8,out=2,dtype=f32"));
  EXPECT_THAT(converted("aten::addmm(f32[2],f32[4,8],f32[8,2],1,1)"),
              ElementsAre("matmul:m=4,n=2,k=8,bias=1,dtype=f32"));
  EXPECT_THAT(converted("aten::baddbmm(f32[3,4,2],f32[3,4,8],f32[3,8,2],0,1)"),
              ElementsAre("matmul:m=4,n=2,k=8,batch=3,dtype=f32"));
}

TEST(Conversion, OperatorsOfLayersAreReadAsTheSameLayers) {
  std::vector<std::string> layers;
  for (const char* kind :
       {"add", "mul", "relu", "relu6", "sigmoid", "tanh", "silu", "gelu", "relu_backward", "relu6_backward",
        "sigmoid_backward", "tanh_backward", "silu_backward", "gelu_backward"}) {
    layers.push_back(std::string(kind) + ":count=60,dtype=f16");
  }
  for (const char* pass : {"", ",pass=backward"}) {
    for (const char* shape :
         {"softmax:rows=4,columns=6,dtype=bf16", "log_softmax:rows=4,columns=6,dtype=f64",
          "layer_norm:rows=4,columns=6,dtype=f16", "embedding:count=8,rows=9,columns=4,dtype=f32"}) {
      layers.push_back(std::string(shape) + pass);
    }
    for (const char* layout : {"nchw", "nhwc"}) {
      for (const char* shape :
           {"batch_norm:n=2,c=3,hw=4,dtype=bf16", "max_pool:n=2,c=3,h=9,w=8,window=3,stride=2,pad=1",
            "avg_pool:n=2,c=3,h=9,w=8,window=3x2,stride=2,pad=1x0"}) {
        layers.push_back(std::string(shape) + ",layout=" + layout + pass);
      }
    }
  }
  layers.push_back("avg_pool:n=2,c=3,hw=7,window=7");
  layers.push_back("batch_norm:n=2,c=3,hw=4,pass=inference");
  for (const std::string& text : layers) {
    const Operation layer = Operation::parse(text);
    const auto aten = aten_of_layer(layer);
    ASSERT_TRUE(aten) << text;
    EXPECT_THAT(converted(aten->operation.text()), ElementsAre(layer.text()));
  }
}

TEST(Conversion, WhatNoNativeOperationDoesStaysTheOperator) {
  for (const std::string text :
       {"aten::mm(f32[4,8]{16,1},f32[8,2])", "aten::addmm(f32[2],f32[4,8],f32[8,2],0.5,1)",
        "aten::baddbmm(f32[3,4,2],f32[3,4,8],f32[3,8,2],1,1)", "aten::_softmax(f32[4,8],0,false)",
        "aten::hardtanh(f32[8],-1,1)",
        "aten::cudnn_convolution(f32[1,2,3,4,5],f32[2,2,1,1,1],[0,0,0],[1,1,1],"
        "[1,1,1],1,false,false,true)"}) {
    EXPECT_THAT(converted(text), ElementsAre(text));
  }
}

const std::string kFlash = "aten::_scaled_dot_product_flash_attention(";

TEST(Conversion, GroupedAttentionHasItsHeadsOfKeys) {
  // enable_gqa: 32 heads of queries, 8 of keys, each tensor as a linear layer wrote it.
  EXPECT_THAT(
      converted(kFlash + "bf16[2,32,1024,128]{4194304,128,4096,1},bf16[2,8,1024,128]{1048576,128,1024,1},"
                         "bf16[2,8,1024,128]{1048576,128,1024,1},0,true,false)"),
      ElementsAre("attention:batch=2,heads=32,kv_heads=8,queries=1024,dim=128,causal=1,layout=bshd,"
                  "dtype=bf16"));
  // Of one head of keys the order of heads and sequence says nothing: that of the queries counts.
  EXPECT_THAT(converted(kFlash + "f16[2,4,6,8]{192,8,32,1},f16[2,1,6,8]{48,8,8,1},f16[2,1,6,8]{48,48,8,1},0,"
                                 "false,false)"),
              ElementsAre("attention:batch=2,heads=4,kv_heads=1,queries=6,dim=8,layout=bshd,dtype=f16"));
  EXPECT_THAT(
      converted("aten::_scaled_dot_product_cudnn_attention_backward(f16[2,4,6,8],f16[2,4,6,8],f16[2,2,6,8],"
                "f16[2,2,6,8],f16[2,4,6,8],f32[2,4,6,1],i64[],i64[],None,None,None,6,6,0,false)"),
      ElementsAre("attention:batch=2,heads=4,kv_heads=2,queries=6,dim=8,dtype=f16,pass=backward"));
  const std::string uneven = kFlash + "f16[2,4,6,8],f16[2,3,6,8],f16[2,3,6,8],0,false,false)";
  EXPECT_THAT(converted(uneven), ElementsAre(uneven));
}

// Of one query, as a model writes its next word, the order of heads and sequence says nothing either.
TEST(Conversion, AttentionOfOneQueryLiesAsItsKeys) {
  EXPECT_THAT(
      converted(kFlash + "f16[2,4,1,8],f16[2,4,6,8]{192,8,32,1},f16[2,4,6,8]{192,8,32,1},0,false,false)"),
      ElementsAre("attention:batch=2,heads=4,queries=1,keys=6,dim=8,layout=bshd,dtype=f16"));
}

// FlashAttention 2 lets the last query see all keys, as causal_lower_right asks for; PyTorch's other kernels
// let the first query see one.
TEST(Conversion, ACausalMaskAtTheLastKeyStaysTheOperator) {
  const std::string tensors = "f16[2,4,3,8],f16[2,4,6,8],f16[2,4,6,8],";
  const std::string flash = kFlash + tensors + "0,true,false)";
  EXPECT_THAT(converted(flash), ElementsAre(flash));
  EXPECT_THAT(converted("aten::_scaled_dot_product_efficient_attention(" + tensors + "None,true,0,true)"),
              ElementsAre("attention:batch=2,heads=4,queries=3,keys=6,dim=8,causal=1,dtype=f16"));
  EXPECT_THAT(converted("aten::_scaled_dot_product_flash_attention_for_cpu(" + tensors + "0,true)"),
              ElementsAre("attention:batch=2,heads=4,queries=3,keys=6,dim=8,causal=1,dtype=f16"));
}

// mm.dtype: halves are read and f32 (6) is written.
TEST(Conversion, ProductsThatWriteAnotherTypeStayTheOperator) {
  const auto with_overload = [](const std::string& text, const std::string& overload) {
    RecordedOperator one = recorded(text);
    one.overload = overload;
    ConversionContext context;
    return convert(one, context).at(0).operation.text();
  };
  EXPECT_EQ(with_overload("aten::mm(f16[8,16],f16[16,32],6)", "dtype"),
            "aten::mm.dtype(f16[8,16],f16[16,32],6)");
  EXPECT_EQ(with_overload("aten::mm(f16[8,16],f16[16,32],f16[8,32])", "out"),
            "matmul:m=8,n=32,k=16,dtype=f16");
  EXPECT_THAT(converted("aten::bmm(f16[2,8,16],f16[2,16,32],6)"),
              ElementsAre("aten::bmm.dtype(f16[2,8,16],f16[2,16,32],6)"));
  EXPECT_THAT(converted("aten::addmm(f16[32],f16[8,16],f16[16,32],6,1,1)"),
              ElementsAre("aten::addmm.dtype(f16[32],f16[8,16],f16[16,32],6,1,1)"));
}

const std::string kConvolutionRest = "[1,1],[1,1],[1,1],1,false,false,";

TEST(Conversion, ConvolutionsTakeTheLayoutThatPyTorchGivesCudnn) {
  const std::string problem = "conv2d:n=2,c=8,hw=4,k=16,rs=3,pad=1,dtype=tf32,layout=";
  const std::string x = "f32[2,8,4,4]", w = "f32[16,8,3,3]", x_last = x + "{128,1,32,8}",
                    w_last = w + "{72,1,24,8}";
  for (const auto& [data, weight, layout] : {std::tuple(x, w, "nchw"), std::tuple(x_last, w_last, "nhwc"),
                                             std::tuple(x, w_last, "nhwc"), std::tuple(x_last, w, "nhwc")}) {
    EXPECT_THAT(
        converted("aten::cudnn_convolution(" + data + "," + weight + "," + kConvolutionRest + "true)"),
        ElementsAre(problem + layout + ",direction=fprop"));
  }
  // Doubles are never in channels_last.
  EXPECT_THAT(converted("aten::cudnn_convolution(f64[2,8,4,4]{128,1,32,8},f64[16,8,3,3]," + kConvolutionRest +
                        "true)"),
              ElementsAre(HasSubstr("dtype=f64,layout=nchw")));
  EXPECT_THAT(converted("aten::cudnn_convolution(" + x + "," + w + "," + kConvolutionRest + "false)"),
              ElementsAre(HasSubstr("dtype=f32")));
}

// is_channels_last_strides_2d: sizes of one are told apart by their strides.
TEST(Conversion, StridesOfSizesOfOneDecideTheLayout) {
  const auto layout = [](std::vector<std::int64_t> shape, std::vector<std::int64_t> strides) {
    AtenArgument tensor;
    tensor.kind = AtenArgument::Kind::tensor;
    tensor.shape = std::move(shape), tensor.strides = std::move(strides);
    return suggested_layout(tensor);
  };
  EXPECT_EQ(layout({8, 1, 4, 4}, {16, 16, 4, 1}), Layout::nchw);
  EXPECT_EQ(layout({8, 1, 4, 4}, {16, 1, 4, 1}), Layout::nhwc);
  EXPECT_EQ(layout({8, 4, 1, 1}, {4, 1, 1, 1}), Layout::nchw);
  EXPECT_EQ(layout({8, 4, 1, 1}, {4, 1, 4, 4}), Layout::nhwc);
  EXPECT_EQ(layout({8, 1, 1, 1}, {1, 1, 1, 1}), Layout::nchw);
}

const std::string kGradients = "[0],[2,2],[1,1],[1,1],false,[0,0],1,";

TEST(Conversion, AConvolutionsGradientsAreTwoOperationsByTheMask) {
  const std::string problem =
      "conv2d:n=2,c=8,hw=8,k=16,rs=3,stride=2,pad=1,dtype=tf32,layout=nchw,direction=";
  const std::string tensors = "aten::convolution_backward(f32[2,16,4,4],f32[2,8,8,8],f32[16,8,3,3],";
  EXPECT_THAT(converted(tensors + kGradients + "[true,true,true])"),
              ElementsAre(problem + "dgrad", problem + "wgrad"));
  EXPECT_THAT(converted(tensors + kGradients + "[false,true,false])"), ElementsAre(problem + "wgrad"));
  EXPECT_THAT(converted(tensors + kGradients + "[true,false,false])", false),
              ElementsAre(HasSubstr("dtype=f32,layout=nchw,direction=dgrad")));
}

TEST(Conversion, ABiasGradientThatIsTimedApartIsNotTimedTwice) {
  const std::string tensors =
      "aten::convolution_backward(f32[2,4,8,8,8],f32[2,3,8,8,8],f32[4,3,3,3,3],[4],[1,1,1],[1,1,1],[1,1,1],"
      "false,[0,0,0],1,";
  RecordedOperator three_axes = recorded(tensors + "[true,true,true])");
  EXPECT_TRUE(leave_bias_gradient_out(three_axes));
  ConversionContext context;
  EXPECT_EQ(convert(three_axes, context).at(0).operation.text(), tensors + "[true,true,false])");
  RecordedOperator bias = recorded(tensors + "[false,false,true])");
  EXPECT_FALSE(leave_bias_gradient_out(bias));
}

TEST(Conversion, ATransposedConvolutionIsAnInputGradient) {
  EXPECT_THAT(
      converted("aten::cudnn_convolution_transpose(f32[2,16,4,4],f32[16,8,2,2],[0,0],[0,0],[2,2],[1,1],1,"
                "false,false,true)"),
      ElementsAre("conv2d:n=2,c=8,hw=8,k=16,rs=2,stride=2,dtype=tf32,layout=nchw,direction=dgrad"));
  const std::string problem = "conv2d:n=2,c=8,hw=8,k=16,rs=2,stride=2,dtype=tf32,layout=nchw,direction=";
  EXPECT_THAT(
      converted("aten::convolution_backward(f32[2,8,8,8],f32[2,16,4,4],f32[16,8,2,2],[0],[2,2],[0,0],[1,1],"
                "true,[0,0],1,[true,true,false])"),
      ElementsAre(problem + "fprop", problem + "wgrad"));
}

TEST(Conversion, DepthwiseGradientsInNchwAreNotCudnns) {
  const std::string text =
      "aten::convolution_backward(f32[2,8,4,4],f32[2,8,4,4],f32[8,1,3,3],[0],[1,1],[1,1],[1,1],false,[0,0],8,"
      "[true,true,false])";
  EXPECT_THAT(converted(text), ElementsAre(text));
}

TEST(Conversion, OneDimensionIsTheSecondOfTwo) {
  const std::string problem =
      "conv2d:n=4,c=80,h=1,w=150,k=128,r=1,s=3,stride=1x2,pad=0x1,dtype=tf32,layout=nchw,";
  EXPECT_THAT(
      converted("aten::convolution_backward(f32[4,128,75],f32[4,80,150]{12000,1,80},f32[128,80,3],[128],"
                "[2],[1],[1],false,[0],1,[true,true,false])"),
      ElementsAre(problem + "direction=dgrad", problem + "direction=wgrad"));
  const std::string depthwise =
      "aten::convolution_backward(f32[4,80,150],f32[4,80,150],f32[80,1,3],[80],[1],[1],[1],false,[0],80,"
      "[true,true,false])";
  EXPECT_THAT(converted(depthwise), ElementsAre(depthwise));
  const std::string norm = "aten::cudnn_batch_norm(f32[8,100,50],f32[100],f32[100],f32[100],f32[100],";
  EXPECT_THAT(converted(norm + "true,0.1,1e-05)"),
              ElementsAre("batch_norm:n=8,c=100,h=50,w=1,dtype=f32,layout=nchw"));
}

std::string copied_on_a_gpu(const std::string& text) {
  RecordedOperator copy = recorded(text);
  for (RecordedArgument& argument : copy.arguments) argument.device = "cuda:0";
  ConversionContext context;
  return convert(copy, context).at(0).operation.text();
}

TEST(Conversion, CopiesThatNoOperationCountsStayTheOperator) {
  EXPECT_EQ(copied_on_a_gpu("aten::copy_(f16[28],f16[28],false)"), "copy:bytes=56,kind=d2d");
  EXPECT_EQ(copied_on_a_gpu("aten::copy_(f16[27],f16[27],false)"), "aten::copy_(f16[27],f16[27],false)");
}

TEST(Conversion, AddsABiasPerChannel) {
  EXPECT_THAT(converted("aten::add_(f32[2,8,4,4],f32[1,8,1,1],1)"),
              ElementsAre("bias_add:n=2,c=8,hw=4,dtype=f32,layout=nchw"));
}

TEST(Conversion, ImpossibleShapesAreRefusedWithTheirReason) {
  ConversionContext context;
  RecordedOperator huge = recorded("aten::mm(f32[4,8],f32[8,2])");
  huge.arguments[0].value.shape = {std::int64_t{1} << 62, std::int64_t{1} << 62};
  huge.arguments[1].value.shape = {std::int64_t{1} << 62, -5};
  EXPECT_THAT(testing::usage_message([&] { convert(huge, context); }), HasSubstr("impossible"));
}

TEST(Schema, NamesOverloadAndDefaults) {
  const OperatorSchema schema = parse_schema(
      "aten::max_pool2d.x(Tensor self, int[2] stride=[1, 1], *, Tensor(a!)[] out=(1, 2), bool ceil=False) -> "
      "(Tensor)");
  EXPECT_EQ(schema.overload, "x");
  EXPECT_THAT(schema.argument_names, ElementsAre("self", "stride", "out", "ceil"));
  EXPECT_THAT(schema.has_default, ElementsAre(false, true, true, true));
}

TEST(Schema, OverloadsFollowFromTheArguments) {
  EXPECT_EQ(known_overload(recorded("aten::add(f32[1],f32[1],1)")), "Tensor");
  EXPECT_EQ(known_overload(recorded("aten::add_(f32[1],2,1)")), "Scalar");
  EXPECT_EQ(known_overload(recorded("aten::sum(f32[1],[0],true)")), "dim_IntList");
  EXPECT_EQ(known_overload(recorded("aten::pow(f32[1],2)")), "Tensor_Scalar");
  EXPECT_EQ(known_overload(recorded("aten::relu(f32[1])")), "");
}

TEST(Concrete, ReadsValuesAsTheProfilerWritesThem) {
  EXPECT_EQ(parse_concrete("-100")->integer, -100);
  EXPECT_EQ(parse_concrete("1.0000000000000001e-05")->real, 1e-05);
  EXPECT_EQ(parse_concrete("0.")->kind, AtenArgument::Kind::real);
  EXPECT_TRUE(parse_concrete("True")->boolean);
  EXPECT_EQ(parse_concrete("[1, 2, 3]")->elements.size(), 3u);
  EXPECT_EQ(parse_concrete("[]")->elements.size(), 0u);
  EXPECT_FALSE(parse_concrete("[1, 2, ...]").has_value());
  EXPECT_FALSE(parse_concrete("").has_value());
}

}  // namespace
}  // namespace jitterscope
