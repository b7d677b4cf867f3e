#include "import/operator_selection.hpp"

#include <gmock/gmock.h>

namespace jitterscope {
namespace {

using ::testing::ElementsAre;

using enum OperatorRole;

TEST(Selection, TakesTheLowestOperatorsThatWork) {
  const std::vector<OperatorNode> nodes = {
      {"aten::conv2d"},   {"aten::_convolution", 0}, {"aten::cudnn_convolution", 1},
      {"aten::empty", 2}, {"aten::add_", 1},         {"aten::view", 0}};
  EXPECT_THAT(select_operators(nodes), ElementsAre(nothing, nothing, timed, nothing, timed, nothing));
}

TEST(Selection, FillsBeneathAnOperatorArePartOfIt) {
  const std::vector<OperatorNode> nodes = {
      {"aten::some_loss_backward"}, {"aten::zero_", 0}, {"aten::fill_", 1}};
  EXPECT_THAT(select_operators(nodes), ElementsAre(timed, part, part));
  EXPECT_THAT(owners(nodes, select_operators(nodes)), ElementsAre(0, 0, 0));
}

TEST(Selection, OperatorsThatOnlyCallWorkWhereTheyCallNothing) {
  EXPECT_THAT(select_operators({{"aten::linear"}}), ElementsAre(timed));
  EXPECT_THAT(select_operators({{"aten::linear"}, {"aten::addmm", 0}}), ElementsAre(nothing, timed));
  EXPECT_THAT(select_operators({{"aten::to"}}), ElementsAre(nothing));
  EXPECT_THAT(select_operators({{"aten::to"}, {"aten::_to_copy", 0}, {"aten::copy_", 1}}),
              ElementsAre(nothing, nothing, timed));
}

// In records without kernels nothing but their names says that they have work of their own.
TEST(Selection, OperatorsWithKernelsOfTheirOwnAreTimedWhole) {
  for (const auto& [name, beneath] : {std::pair("aten::mse_loss", "aten::mean"),
                                      {"aten::binary_cross_entropy", "aten::mean"},
                                      {"aten::index", "aten::nonzero"},
                                      {"aten::masked_select", "aten::sum"},
                                      {"aten::_unique2", "aten::sort"},
                                      {"aten::_embedding_bag", "aten::sub"},
                                      {"aten::_fft_r2c", "aten::mul_"},
                                      {"aten::_cudnn_rnn", "aten::cat"}}) {
    EXPECT_THAT(select_operators({{name}, {beneath, 0}}), ElementsAre(timed, part)) << name;
  }
}

TEST(Selection, AQuestionIsNoWork) {
  EXPECT_THAT(select_operators({{"aten::lstm"}, {"aten::cudnn_is_acceptable", 0}, {"aten::_cudnn_rnn", 0}}),
              ElementsAre(nothing, nothing, timed));
  EXPECT_FALSE(runs_on_gpu_alone("aten::cudnn_is_acceptable"));
  EXPECT_TRUE(runs_on_gpu_alone("aten::cudnn_convolution") && runs_on_gpu_alone("aten::_cudnn_rnn"));
}

TEST(Selection, ABiasGradientStandsBesideTheConvolutions) {
  const std::vector<OperatorNode> nodes = {{"aten::convolution_backward"}, {"aten::sum", 0}};
  EXPECT_THAT(select_operators(nodes), ElementsAre(timed, timed));
  EXPECT_THAT(with_timed_sums(nodes, select_operators(nodes)), ElementsAre(true, false));
  const std::vector<OperatorNode> deeper = {
      {"aten::convolution_backward"}, {"aten::sum", 0}, {"aten::sum", 1}};
  EXPECT_THAT(with_timed_sums(deeper, select_operators(deeper)), ElementsAre(true, false, false));
}

TEST(Selection, TheRecordSaysWhetherAnOperatorLaunches) {
  const std::vector<OperatorNode> calling = {{"aten::unheard_of"}, {"aten::mul", 0}};
  EXPECT_THAT(select_operators(calling), ElementsAre(nothing, timed));
  EXPECT_THAT(select_operators({{"aten::unheard_of", kNoParent, true}, {"aten::mul", 0}}),
              ElementsAre(timed, part));
}

TEST(Selection, KnowsWhatIsNotPyTorchs) {
  EXPECT_THAT(select_operators({{"AddBackward0"},
                                {"torch::autograd::AccumulateGrad"},
                                {"Optimizer.step#SGD.step"},
                                {"c10d::allreduce_"},
                                {"nccl:all_reduce", 3},
                                {"record_param_comms"}}),
              ElementsAre(nothing, nothing, nothing, nothing, foreign, foreign));
}

}  // namespace
}  // namespace jitterscope
