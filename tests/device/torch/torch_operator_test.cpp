// Operators of the PyTorch that the build found, against what they must give.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using Values = std::vector<double>;

class TorchOperator : public ::testing::Test {
 protected:
  void SetUp() override { setenv("JITTERSCOPE_TORCH_PLUGIN", JITTERSCOPE_TORCH_PLUGIN_FILE, 1); }
  void TearDown() override { unsetenv("JITTERSCOPE_TORCH_PLUGIN"); }

  std::unique_ptr<PreparedOperation> prepare(const std::string& text, const InputData& data = {}) {
    return cpu_->prepare(Operation::parse(text), data);
  }
  Values output(const std::string& text, std::size_t index = 0, const InputData& data = {}) {
    const auto prepared = prepare(text, data);
    prepared->run(nullptr);
    return prepared->read_operand(index);
  }
  /// Of one output of ones, where the inputs are.
  Values of_ones(const std::string& text, std::size_t index = 0) {
    return output(text, index, {.kind = DataKind::ones, .seed = 1});
  }
  std::string problem(const std::string& text) {
    try {
      prepare(text);
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  }

  std::unique_ptr<Device> cpu_ = open_device("cpu");
};

TEST_F(TorchOperator, NamesItself) {
  const auto prepared = prepare("aten::add(f32[2,3],f32[2,3])");
  EXPECT_EQ(prepared->provider(), "torch");
  EXPECT_EQ(prepared->algorithm(), "aten::add.Tensor");
  EXPECT_EQ(prepared->operation().kind(), "aten");
}

TEST_F(TorchOperator, DrawsNormalNumbersFromTheSeed) {
  const std::string text = "aten::clone(f32[4000])";
  const Values values = output(text);
  double sum = 0.0, squares = 0.0;
  for (const double value : values) sum += value, squares += value * value;
  EXPECT_NEAR(sum / 4000, 0.0, 0.1);
  EXPECT_NEAR(squares / 4000, 1.0, 0.15);
  EXPECT_EQ(output(text), values);
  EXPECT_NE(output(text, 0, {.kind = DataKind::normal, .seed = 2}), values);
}

TEST_F(TorchOperator, EveryKindOfDataIsDrawn) {
  const std::string text = "aten::clone(bf16[1000])";
  EXPECT_THAT(output(text, 0, {.kind = DataKind::zeros, .seed = 1}), Each(0.0));
  EXPECT_THAT(output(text, 0, {.kind = DataKind::ones, .seed = 1}), Each(1.0));
  EXPECT_THAT(output(text, 0, {.kind = DataKind::uniform, .seed = 1}),
              Each(::testing::AllOf(::testing::Ge(-1.0), ::testing::Le(1.0))));
  const Values sparse = output(text, 0, {.kind = DataKind::sparse, .seed = 1});
  EXPECT_NEAR(static_cast<double>(std::count(sparse.begin(), sparse.end(), 0.0)), 500.0, 100.0);
}

TEST_F(TorchOperator, ReluIsNeverNegative) {
  const Values x = output("aten::clone(f32[64])"), y = output("aten::relu(f32[64])");
  ASSERT_EQ(x.size(), y.size());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], std::max(0.0, x[i]));
}

TEST_F(TorchOperator, NamedArgumentsAndDefaultsAreTaken) {
  EXPECT_THAT(of_ones("aten::add.Tensor(f32[4],f32[4],alpha=2.5)"), Each(3.5));
  EXPECT_THAT(of_ones("aten::add.Tensor(f32[4],f32[4])"), Each(2.0));
  EXPECT_THAT(of_ones("aten::add.Tensor(alpha=3,other=f32[4],self=f32[4])"), Each(4.0));
}

TEST_F(TorchOperator, ANumberStandsForATensor) {
  EXPECT_THAT(of_ones("aten::mul.Tensor(f16[4],2.5)"), Each(2.5));
  EXPECT_THAT(of_ones("aten::add(f32[4],2)"), Each(3.0));
}

TEST_F(TorchOperator, ConvolutionSumsItsWindow) {
  const Values y =
      of_ones("aten::convolution(f32[1,3,5,5],f32[2,3,3,3],None,[1,1],[0,0],[1,1],false,[0,0],1)");
  EXPECT_THAT(y, AllOf(SizeIs(2 * 3 * 3), Each(27.0)));
  EXPECT_THAT(of_ones("aten::conv2d(f32[1,3,5,5]{75,1,15,3},f32[2,3,3,3],f32[2],2)"),
              AllOf(SizeIs(2 * 2 * 2), Each(28.0)));
}

TEST_F(TorchOperator, EmbeddingPointsIntoItsTable) {
  EXPECT_THAT(of_ones("aten::embedding(f32[10,4],i64[3,7])"), AllOf(SizeIs(84), Each(1.0)));
  EXPECT_THAT(of_ones("aten::embedding_dense_backward(f32[6,4],i64[6],10,-1,false)"), SizeIs(40));
  EXPECT_THAT(of_ones("aten::index.Tensor(f32[4,5],[i64[6],i64[6]])"), AllOf(SizeIs(6), Each(1.0)));
  EXPECT_THAT(of_ones("aten::index.Tensor(f32[4,5],[None,i64[2]])"), AllOf(SizeIs(8), Each(1.0)));
  EXPECT_THAT(of_ones("aten::gather(f32[4,5],1,i64[4,2])"), AllOf(SizeIs(8), Each(1.0)));
}

TEST_F(TorchOperator, SoftmaxRowsSumToOne) {
  const Values y = output("aten::_softmax(f32[3,8],-1,false)");
  for (std::size_t row = 0; row < 3; ++row) {
    const auto begin = y.begin() + static_cast<std::ptrdiff_t>(8 * row);
    EXPECT_NEAR(std::accumulate(begin, begin + 8, 0.0), 1.0, 1e-6);
  }
}

TEST_F(TorchOperator, LayerNormHasThreeOutputs) {
  const std::string text = "aten::native_layer_norm(f32[4,16],[16],None,None,1e-05)";
  const Values y = output(text), mean = output(text, 1);
  EXPECT_THAT(y, SizeIs(64));
  EXPECT_THAT(mean, SizeIs(4));
  EXPECT_THAT(output(text, 2), SizeIs(4));
  EXPECT_NEAR(std::accumulate(y.begin(), y.begin() + 16, 0.0), 0.0, 1e-4);
  EXPECT_THAT(output("aten::layer_norm(f32[4,16],[16],f32[16],f32[16])"), SizeIs(64));
}

TEST_F(TorchOperator, LayerNormBackwardGivesWhatItsMaskAsksFor) {
  const auto prepared = prepare(
      "aten::native_layer_norm_backward(f32[4,16],f32[4,16],[16],f32[4,1],f32[4,1],f32[16],f32[16],[true,"
      "true,false])");
  prepared->run(nullptr);
  EXPECT_THAT(prepared->read_operand(0), SizeIs(64));
  EXPECT_THAT(prepared->read_operand(1), SizeIs(16));
  EXPECT_THROW(prepared->read_operand(2), UsageError);
}

TEST_F(TorchOperator, ProductsAndListsOfTensors) {
  EXPECT_THAT(of_ones("aten::mm(f32[2,7],f32[7,3]{1,7})"), AllOf(SizeIs(6), Each(7.0)));
  EXPECT_THAT(of_ones("aten::cat([f32[2,3],f32[4,3]],0)"), AllOf(SizeIs(18), Each(1.0)));
  EXPECT_THAT(of_ones("aten::split.Tensor(f32[6],2)", 2), AllOf(SizeIs(2), Each(1.0)));
}

TEST_F(TorchOperator, LossesAndIndicesOfPooling) {
  EXPECT_THAT(of_ones("aten::nll_loss_forward(f32[8,5],i64[8],None,1,-100)"), Each(-1.0));
  EXPECT_THAT(
      output("aten::max_pool2d_with_indices_backward(f32[1,2,2,2],f32[1,2,4,4],[2,2],[2,2],[0,0],[1,1],false,"
             "i64[1,2,2,2])"),
      SizeIs(32));
}

// One place in each window, as pooling left it: a gradient that is read from elsewhere skips most of dy.
TEST_F(TorchOperator, IndicesOfPoolingPointAtTheMaximaOfTheirWindows) {
  for (const std::string indices : {"i64[1,2,4,4]", "i64[1,2,4,4]{32,1,8,2}"}) {
    const Values gradient = of_ones(
        "aten::max_pool2d_with_indices_backward(f32[1,2,4,4],f32[1,2,8,8],[2,2],[2,2],[0,0],[1,1],false," +
        indices + ")");
    ASSERT_THAT(gradient, SizeIs(128));
    for (std::size_t window = 0; window < 32; ++window) {
      const std::size_t corner = window / 4 * 16 + window % 4 * 2;
      EXPECT_EQ(gradient[corner] + gradient[corner + 1] + gradient[corner + 8] + gradient[corner + 9], 1.0);
    }
  }
}

TEST_F(TorchOperator, InPlaceOperatorsKeepTheirArgument) {
  const auto prepared = prepare("aten::add_.Tensor(f32[4],f32[4])", {.kind = DataKind::ones, .seed = 1});
  prepared->run(nullptr);
  const double before = prepared->read_operand(0).front();
  prepared->run(nullptr);
  EXPECT_EQ(prepared->read_operand(0).front(), before + 1.0);
}

TEST_F(TorchOperator, OperatorsThatChangeAShapeFindItUnchanged) {
  const auto squeezed = prepare("aten::squeeze_.dim(f32[1,1,4],0)");
  for (int i = 0; i < 4; ++i) squeezed->run(nullptr);
  EXPECT_THAT(squeezed->read_operand(0), SizeIs(4));
  const auto transposed = prepare("aten::t_(f32[2,3])");
  for (int i = 0; i < 3; ++i) transposed->run(nullptr);
  EXPECT_THAT(output("aten::resize_(f32[0],[2,5],None)"), SizeIs(10));
}

TEST_F(TorchOperator, TensorsOfEveryTypeAndWithoutElements) {
  for (const char* type :
       {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool", "c64", "c128"}) {
    EXPECT_THAT(output("aten::clone(" + std::string(type) + "[2,3])"), SizeIs(6)) << type;
    EXPECT_THAT(output("aten::clone(" + std::string(type) + "@cpu[2,0])"), SizeIs(0)) << type;
    EXPECT_THAT(output("aten::clone(" + std::string(type) + "[])"), SizeIs(1)) << type;
  }
  EXPECT_THAT(output("aten::empty_strided([2,3],[3,1],6,0,\"cuda:0\",false)"),
              SizeIs(6));  // the device is ours
  EXPECT_THAT(output("aten::sum(f32[4,5]{0,1})"), SizeIs(1));
}

TEST_F(TorchOperator, MemoryIsThatOfInputsAndOutputs) {
  std::vector<std::int64_t> sizes;
  for (const MemoryRegion& region : prepare("aten::add.Tensor(f32[8],f32[8]{2})")->memory())
    sizes.push_back(region.size.value());
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{32, 60, 32}));
  EXPECT_THAT(prepare("aten::add_.Tensor(f32[8],f32[8])")->memory(), SizeIs(2));
}

TEST_F(TorchOperator, ProducedInputsKeepTheirValues) {
  const auto prepared = prepare("aten::clone(f32[8]{2})");
  const Values before = prepared->read_operand(0);
  EXPECT_TRUE(prepared->produce_inputs(nullptr));
  prepared->run(nullptr);
  EXPECT_EQ(prepared->read_operand(0), before);
}

TEST_F(TorchOperator, InputsOfEveryTypeAreProduced) {
  for (const char* type :
       {"f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool", "c64", "c128"}) {
    const auto prepared = prepare("aten::clone(" + std::string(type) + "[8])");
    const Values before = prepared->read_operand(0);
    EXPECT_TRUE(prepared->produce_inputs(nullptr)) << type;
    prepared->run(nullptr);
    EXPECT_EQ(prepared->read_operand(0), before) << type;
  }
}

// PyTorch looks them up in a table without asking whether they are in it.
TEST_F(TorchOperator, NumbersOfNoElementTypeAreRefused) {
  for (const char* text : {"aten::_to_copy(f32[4],dtype=-1)", "aten::zeros([4],dtype=-1)",
                           "aten::sum.dim_IntList(f32[4],[0],false,dtype=-5)", "aten::zeros([4],dtype=500)"})
    EXPECT_THAT(problem(text), AllOf(HasSubstr("dtype"), HasSubstr("element types"))) << text;
  EXPECT_THAT(output("aten::zeros([4],dtype=6)"), SizeIs(4));
}

TEST_F(TorchOperator, WhatDoesNotFitIsSaid) {
  EXPECT_THAT(problem("aten::rellu(f32[1])"), AllOf(HasSubstr("no such operator"), HasSubstr("aten::relu")));
  EXPECT_THAT(problem("aten::add.Tensors(f32[1])"),
              AllOf(HasSubstr("no such overload"), HasSubstr("aten::add.Tensor")));
  EXPECT_THAT(problem("aten::relu(f32[1],2)"), HasSubstr("takes"));
  EXPECT_THAT(problem("aten::add.Tensor(f32[1],f32[1],beta=1)"), HasSubstr("no argument beta"));
  EXPECT_THAT(problem("aten::add.Tensor(f32[1])"), HasSubstr("other is missing"));
  EXPECT_THAT(problem("aten::add.Tensor(f32[1],\"x\")"),
              AllOf(HasSubstr("other is a Tensor"), HasSubstr("a text")));
  EXPECT_THAT(problem("aten::mm(f32[2,3],f32[2,3])"),
              AllOf(HasSubstr("aten::mm"), HasSubstr("PyTorch says")));
  EXPECT_THAT(
      problem("aten::cudnn_convolution(f32[1,1,3,3],f32[1,1,3,3],[0,0],[1,1],[1,1],1,false,false,true)"),
      HasSubstr("no kernel"));
  EXPECT_THAT(problem("aten::relu(f32[100000000000])"), HasSubstr("GiB"));
}

// Both bring a oneDNN of their own.
TEST_F(TorchOperator, RunsBesideOnednn) {
  const auto own =
      cpu_->prepare(Operation::parse("conv2d:n=1,c=3,hw=5,k=2,rs=3"), {.kind = DataKind::ones, .seed = 1});
  own->run(nullptr);
  EXPECT_THAT(own->read_operand(2), Each(27.0));
  EXPECT_THAT(of_ones("aten::mkldnn_convolution(f32[1,3,5,5],f32[2,3,3,3],None,[0,0],[1,1],[1,1],1)"),
              Each(27.0));
  own->run(nullptr);
  EXPECT_THAT(own->read_operand(2), Each(27.0));
}

}  // namespace
}  // namespace jitterscope
