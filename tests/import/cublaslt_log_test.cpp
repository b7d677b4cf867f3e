#include <gmock/gmock.h>

#include <algorithm>

#include "import/import.hpp"
#include "import/log_data.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using namespace jitterscope::testing;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model import_cublaslt(std::string_view text) { return import_cublaslt_log(text, "lt.log"); }

// y = x·Wᵀ + b of 16×512 and 1000×512, by columns.
const std::string kLinear =
    "[2026-11-21 08:44:43][cublasLt][393][Trace][cublasLtMatmul] A=0X1 Adesc=[type=R_32F rows=512 cols=1000 "
    "ld=512] "
    "B=0X2 Bdesc=[type=R_32F rows=512 cols=16 ld=512] C=0X3 Cdesc=[type=R_32F rows=1000 cols=16 ld=1000] "
    "D=0X3 "
    "Ddesc=[type=R_32F rows=1000 cols=16 ld=1000] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F "
    "transa=OP_T "
    "epilogue=EPILOGUE_BIAS biasPointer=0x7] algo=[algoId=20 tile=MATMUL_TILE_64x64 stages=MATMUL_STAGES_8x5 "
    "reductionScheme=REDUCTION_SCHEME_COMPUTE_TYPE numSplitsK=8] workSpace=0X8 workSpaceSizeInBytes=1048576 "
    "beta=0 "
    "outOfPlace=0 stream=0X0\n";
// The same without bias.
const std::string kProduct = replaced(kLinear, " epilogue=EPILOGUE_BIAS biasPointer=0x7", "");

std::string only_operation(const std::string& text) {
  const Model model = import_cublaslt(text);
  EXPECT_EQ(model.calls.size(), 1u);
  return operation_texts(model)[0];
}

TEST(CublasLtLog, LinearWithItsAlgorithm) {
  EXPECT_EQ(only_operation(kLinear),
            "linear:n=16,in=512,out=1000,dtype=f32,engine=algo20_tile=64x64_stages=8x5_splitk=8_reduction=2");
  // What it says is what the tool reads.
  EXPECT_EQ(Operation::parse(only_operation(kLinear)).text(), only_operation(kLinear));
}

TEST(CublasLtLog, ProductsChangePlacesBetweenColumnsAndRows) {
  EXPECT_THAT(only_operation(kProduct), HasSubstr("matmul:m=16,n=1000,k=512,tb=1,dtype=f32"));
  std::string text = replaced(kProduct, "transa=OP_T", "transb=OP_T");
  text = replaced(text, "Adesc=[type=R_32F rows=512 cols=1000 ld=512]",
                  "Adesc=[type=R_32F rows=1000 cols=512 ld=1000]");
  text = replaced(text, "Bdesc=[type=R_32F rows=512 cols=16 ld=512]",
                  "Bdesc=[type=R_32F rows=16 cols=512 ld=16]");
  EXPECT_THAT(only_operation(text), HasSubstr("matmul:m=16,n=1000,k=512,ta=1,dtype=f32"));
}

TEST(CublasLtLog, Batches) {
  std::string text = kProduct;
  for (const auto& [from, to] :
       {std::pair("ld=512]", "ld=512 batchCount=12 stridedBatchOffset=512000]"),
        std::pair("cols=16 ld=512]", "cols=16 ld=512 batchCount=12 stridedBatchOffset=8192]"),
        std::pair("ld=1000] computeDesc", "ld=1000 batchCount=12 stridedBatchOffset=16000] computeDesc")}) {
    text = replaced(text, from, to);
  }
  EXPECT_THAT(only_operation(text), HasSubstr("matmul:m=16,n=1000,k=512,batch=12,tb=1"));
}

TEST(CublasLtLog, TypesFollowTheirArithmetic) {
  EXPECT_THAT(only_operation(replaced(kLinear, "COMPUTE_32F", "COMPUTE_32F_FAST_TF32")),
              HasSubstr("dtype=tf32"));
  for (const auto& [type, dtype] : {std::pair("R_16F", "f16"), std::pair("R_16BF", "bf16")}) {
    std::string text = kLinear;
    for (int i = 0; i < 4; ++i)
      text = replaced(text, "type=R_32F rows", "type=" + std::string(type) + " rows");
    EXPECT_THAT(only_operation(text), HasSubstr("dtype=" + std::string(dtype)));
  }
}

TEST(CublasLtLog, AlgorithmsNameWhatIsNotUsual) {
  const auto engine = [](std::string_view algorithm) {
    const std::string text = replaced(
        kLinear, kLinear.substr(kLinear.find("algoId"), kLinear.find("] workSpace") - kLinear.find("algoId")),
        algorithm);
    const std::string operation = only_operation(text);
    return operation.substr(operation.find("engine=") + 7);
  };
  EXPECT_EQ(engine("algoId=6"), "algo6");
  EXPECT_EQ(
      engine("algoId=66 tile=MATMUL_TILE_128x128 stages=MATMUL_STAGES_64xAUTO numSplitsK=-1 ctaSwizzling=1 "
             "customOption=5 innerShape=MATMUL_INNER_SHAPE_MMA16816 clusterShape=CLUSTER_SHAPE_2x1x1"),
      "algo66_tile=128x128_stages=64xAUTO_splitk=-1_swizzle=1_custom=5_inner=MMA16816_cluster=2x1x1");
  EXPECT_EQ(
      engine("algoId=1 tile=MATMUL_TILE_UNDEFINED stages=MATMUL_STAGES_UNDEFINED numSplitsK=1 customOption=0 "
             "reductionScheme=REDUCTION_SCHEME_NONE clusterShape=CLUSTER_SHAPE_AUTO"),
      "algo1");
}

TEST(CublasLtLog, WhatIsNoMatmulIsUntimedWithItsReason) {
  const auto reason = [](std::string_view from, std::string_view to) {
    const Model model = import_cublaslt(replaced(kLinear, from, to) + kLinear);
    EXPECT_EQ(model.calls.size(), 1u) << to;
    return model.untimed.empty() ? std::string("none")
                                 : model.untimed[0].name + ": " + model.untimed[0].reason;
  };
  EXPECT_THAT(reason("EPILOGUE_BIAS", "EPILOGUE_GELU_AUX_BIAS"),
              HasSubstr("cublasLtMatmul: its epilogue GELU_AUX_BIAS"));
  EXPECT_THAT(reason("beta=0", "beta=1"), HasSubstr("adds its product to C"));
  EXPECT_THAT(reason("rows=512 cols=16 ld=512", "rows=512 cols=16 ld=1024"),
              HasSubstr("B is part of a larger matrix"));
  EXPECT_THAT(reason("type=R_32F rows", "type=R_8F_E4M3 rows"), HasSubstr("R_8F_E4M3"));
  EXPECT_THAT(reason("COMPUTE_32F", "COMPUTE_32F_FAST_16BF"), HasSubstr("COMPUTE_32F_FAST_16BF"));
  EXPECT_THAT(reason("rows=512 cols=16", "rows=511 cols=16"), HasSubstr("do not fit"));
  EXPECT_THAT(reason("ld=512]", "ld=512 order=ORDER_COL32]"), HasSubstr("ORDER_COL32"));
  EXPECT_THAT(reason("ld=1000] comp", "ld=1000 batchCount=2] comp"), HasSubstr("batch"));
  EXPECT_THAT(reason("[cublasLtMatmul]", "[cublasLtMatrixTransform]"),
              HasSubstr("cublasLtMatrixTransform: "));
}

TEST(CublasLtLog, RealLogs) {
  const Model bert = import_cublaslt(test_data("bert_cublaslt.log"));
  EXPECT_EQ(bert.layers.size(), 9u);
  EXPECT_EQ(bert.calls.size(), 72u);
  ASSERT_EQ(bert.untimed.size(), 1u);
  EXPECT_EQ(bert.untimed[0].count, 2);
  EXPECT_THAT(operation_texts(bert),
              Contains("linear:n=1024,in=768,out=3072,dtype=f32,engine=algo55_tile=64x64_stages=8x3"));
  EXPECT_THAT(notes_of(bert), HasSubstr("the calls of cublasLtSSSMatmul"));
  expect_consistent(bert);

  const Model mobilenet = import_cublaslt(test_data("mobilenet_v2_cublaslt_heur.log"));
  EXPECT_EQ(mobilenet.calls.size(), 188u);
  EXPECT_TRUE(mobilenet.untimed.empty());
  EXPECT_THAT(notes_of(mobilenet), HasSubstr("within its convolutions"));
  expect_consistent(mobilenet);

  const Model resnet = import_cublaslt(test_data("resnet18_cublaslt_heur.log"));
  EXPECT_EQ(resnet.layers.size(), 3u);
  EXPECT_EQ(resnet.calls.size(), 6u);
}

TEST(CublasLtLog, LinesOfOtherLevelsAreCounted) {
  const Model model = import_cublaslt(test_data("conv_linear_cublaslt.log.gz"));
  EXPECT_THAT(
      operation_texts(model),
      ElementsAre("linear:n=64,in=512,out=1000,dtype=f32,engine=algo10_tile=32x32_splitk=4_reduction=1"));
  EXPECT_THAT(model.layers[0].names, ElementsAre("line 56"));
  EXPECT_THAT(notes_of(model), HasSubstr("53 Api, 7 Info"));
}

TEST(DamagedCublasLtLog, EveryTruncationIsDamageOrTheWholeCall) {
  const std::size_t whole = kLinear.find(" outOfPlace");
  for (std::size_t length = 1; length < kLinear.size(); ++length) {
    const Model model = import_cublaslt(kLinear + kLinear.substr(0, length));
    const bool is_whole = length >= whole;
    EXPECT_EQ(model.calls.size(), is_whole ? 2u : 1u) << length;
    EXPECT_EQ(
        notes_of(model).find("1 damaged record is left out; the first, on line 2,") == std::string::npos,
        is_whole)
        << length << notes_of(model);
  }
}

TEST(DamagedCublasLtLog, WithoutOperationsSaysHowToRecordOne) {
  const auto problem = [](std::string_view text) { return usage_message([&] { import_cublaslt(text); }); };
  EXPECT_THAT(problem(""), AllOf(HasSubstr("lt.log holds no traced product"),
                                 HasSubstr("CUBLASLT_LOG_LEVEL=2 CUBLASLT_LOG_FILE=")));
  EXPECT_THAT(problem("a\nb\n"), AllOf(HasSubstr("2 damaged records"), HasSubstr("line 1")));
  EXPECT_THAT(problem(std::string(10'000'000, '[')), HasSubstr("1 damaged record"));
  EXPECT_THAT(problem(replaced(kLinear, "beta=0", "beta=1")), HasSubstr("adds its product to C"));
}

}  // namespace
}  // namespace jitterscope
