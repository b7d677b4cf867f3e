// What runs without a GPU; that a product runs by the algorithm named, matmul_test.cpp shows on one.
#include "device/cuda/operations/cublas.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "import/import.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

class CublasLtAlgorithm : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      cublaslt();
    } catch (const MissingError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  // What is left of a tag's parts after cuBLASLt has held them. Its number needs a GPU and becomes 0.
  static std::string held(std::string_view tag) {
    cublasLtMatmulAlgo_t algorithm{};
    configure(algorithm, tag);
    return algorithm_tag(algorithm);
  }
  static std::string numbered_zero(std::string_view tag) {
    return "algo0" + std::string(tag.substr(std::min(tag.find('_'), tag.size())));
  }
};

TEST_F(CublasLtAlgorithm, KeepsWhatATagSays) {
  for (const std::string_view tag :
       {"algo11", "algo21_tile=128x128_stages=16x4_splitk=2_reduction=2",
        "algo43_tile=128x64_stages=32xAUTO_splitk=-1_reduction=2_cluster=1x5x1",
        "algo66_tile=256x512_stages=768xAUTO_swizzle=1_custom=5_inner=MMA16816_cluster=3x4x1"}) {
    EXPECT_EQ(held(tag), numbered_zero(tag));
  }
  EXPECT_EQ(held("algo6_inner=4"), "algo0_inner=MMA16816");
  EXPECT_EQ(held("algo6_tile=id20_splitk=1"), "algo0_tile=128x128");
}

// PyTorch's own logs: each algorithm in them can be pinned.
TEST_F(CublasLtAlgorithm, KeepsThoseOfRealLogs) {
  for (const char* name : {"bert_cublaslt.log", "mobilenet_v2_cublaslt_heur.log",
                           "resnet18_cublaslt_heur.log", "conv_linear_cublaslt.log.gz"}) {
    const Model model = import_file(std::string(JITTERSCOPE_TEST_DATA) + "/" + name, {});
    ASSERT_FALSE(model.layers.empty()) << name;
    for (const Layer& layer : model.layers) {
      const std::string text = layer.operation.text();
      const std::size_t engine = text.find("engine=");
      ASSERT_NE(engine, std::string::npos) << name << ": " << text;
      const std::string tag = text.substr(engine + 7, text.find(',', engine) - engine - 7);
      EXPECT_EQ(held(tag), numbered_zero(tag)) << name;
    }
  }
}

TEST_F(CublasLtAlgorithm, NamesThePartThatIsNone) {
  cublasLtMatmulAlgo_t algorithm{};
  for (const std::string_view part :
       {"tile=7x7", "splitk=two", "cluster", "colour=3", "splitk=99999999999"}) {
    const std::string tag = "algo21_stages=16x4_" + std::string(part);
    try {
      configure(algorithm, tag);
      ADD_FAILURE() << tag;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("'" + std::string(part) + "' is not part"));
    }
  }
}

TEST_F(CublasLtAlgorithm, OfCublassOwnLogCanBePinned) {
  const std::string tag = algorithm_tag_of_log(
      "algo=[algoId=66 tile=MATMUL_TILE_64x256 stages=MATMUL_STAGES_64xAUTO ctaSwizzling=1 numSplitsK=-1 "
      "innerShape=MATMUL_INNER_SHAPE_MMA16816 clusterShape=CLUSTER_SHAPE_1x5x1] workSpace=0X0");
  EXPECT_EQ(tag, "algo66_tile=64x256_stages=64xAUTO_splitk=-1_swizzle=1_inner=MMA16816_cluster=1x5x1");
  EXPECT_EQ(held(tag), numbered_zero(tag));
}

}  // namespace
}  // namespace jitterscope::cuda
