#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/cpu_device.hpp"
#include "jitterscope/error.hpp"
#include "measure/verify.hpp"
#include "operation/random_operation.hpp"

namespace jitterscope {
namespace {

Device& cpu_device() {
  static const std::unique_ptr<Device> cpu = open_cpu_device();
  return *cpu;
}

struct Case {
  const char* text;
  const char* f32_provider;
};
void PrintTo(const Case& each, std::ostream* stream) { *stream << each.text; }

class NetworkLayer : public ::testing::TestWithParam<Case> {};

TEST_P(NetworkLayer, IsVerifiedInEveryType) {
  const auto queue = cpu_device().make_queue();
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::f16, DataType::bf16}) {
    const Operation operation = Operation::parse(GetParam().text).with_dtype(dtype);
    SCOPED_TRACE(operation.text());
    const auto prepared = cpu_device().prepare(operation, {});
    for (int i = 0; i < 2; ++i) {  // twice: a second launch must not add to the first one's result
      const Verification result = verify(*queue, *prepared);
      EXPECT_TRUE(result.passed) << result.relative_error << " > " << result.tolerance;
      EXPECT_EQ(result.unwritten, 0);
      EXPECT_EQ(result.checked, result.total) << "small enough to be compared whole";
      EXPECT_EQ(result.same_formula, prepared->provider() == "builtin");
    }
    if (dtype == DataType::f32) {
      EXPECT_EQ(prepared->provider(), GetParam().f32_provider);
    }
    if (dtype == DataType::f64) {
      EXPECT_EQ(prepared->provider(), "builtin");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Normalization, NetworkLayer,
    ::testing::Values(Case{"batch_norm:n=4,c=19,h=7,w=9", "onednn"},
                      Case{"batch_norm:n=4,c=19,h=7,w=9,layout=nhwc", "onednn"},
                      Case{"batch_norm:n=4,c=16,h=7,w=9,pass=backward", "onednn"},
                      Case{"batch_norm:n=4,c=19,h=7,w=9,layout=nhwc,pass=backward", "onednn"},
                      Case{"batch_norm:n=4,c=19,h=7,w=9,pass=inference", "onednn"},
                      Case{"batch_norm:n=4,c=16,h=7,w=9,layout=nhwc,pass=inference", "onednn"},
                      Case{"layer_norm:rows=37,columns=96", "onednn"},
                      Case{"layer_norm:rows=137,columns=301", "onednn"},
                      Case{"layer_norm:rows=137,columns=301,pass=backward", "onednn"},
                      Case{"softmax:rows=33,columns=77", "onednn"},
                      Case{"softmax:rows=333,columns=177,pass=backward", "onednn"},
                      Case{"log_softmax:rows=33,columns=77", "onednn"},
                      Case{"log_softmax:rows=33,columns=77,pass=backward", "onednn"}));

INSTANTIATE_TEST_SUITE_P(
    Pooling, NetworkLayer,
    ::testing::Values(
        Case{"max_pool:n=2,c=5,h=13,w=11,window=3,stride=2,pad=1", "builtin"},
        Case{"max_pool:n=2,c=5,h=13,w=11,window=3x2,stride=2x1,pad=1x0,layout=nhwc", "builtin"},
        Case{"max_pool:n=2,c=5,h=43,w=41,window=3,stride=2,pad=1,pass=backward", "builtin"},
        Case{"max_pool:n=2,c=5,h=5,w=4,window=3x2,stride=1,layout=nhwc,pass=backward", "builtin"},
        Case{"avg_pool:n=2,c=5,h=13,w=11,window=3,stride=2,pad=1", "onednn"},
        Case{"avg_pool:n=2,c=16,h=13,w=11,window=3x2,pad=1,layout=nhwc", "onednn"},
        Case{"avg_pool:n=2,c=5,h=13,w=11,window=3,stride=2,pad=1,pass=backward", "onednn"},
        Case{"avg_pool:n=2,c=16,h=13,w=11,window=3x2,stride=2,layout=nhwc,pass=backward", "onednn"},
        Case{"avg_pool:n=2,c=64,hw=7,window=7", "onednn"}));

INSTANTIATE_TEST_SUITE_P(
    Memory, NetworkLayer,
    ::testing::Values(Case{"bias_add:n=3,c=7,h=5,w=6", "builtin"},
                      Case{"bias_add:n=3,c=70,h=15,w=16,layout=nhwc", "builtin"},
                      Case{"embedding:count=50,rows=20,columns=33", "builtin"},
                      Case{"embedding:count=500,rows=200,columns=333", "builtin"},
                      Case{"embedding:count=50,rows=20,columns=33,pass=backward", "builtin"},
                      Case{"embedding:count=500,rows=900,columns=333,pass=backward", "builtin"},
                      Case{"sgd:count=40003", "builtin"}, Case{"momentum:count=40003", "builtin"},
                      Case{"adam:count=40003", "builtin"}, Case{"adamw:count=40003", "builtin"}));

INSTANTIATE_TEST_SUITE_P(
    Attention, NetworkLayer,
    ::testing::Values(
        Case{"attention:batch=2,heads=3,queries=17,keys=13,dim=19", "onednn"},
        Case{"attention:batch=1,heads=3,queries=17,keys=33,dim=16,causal=1", "onednn"},
        Case{"attention:batch=1,heads=3,queries=33,keys=17,dim=16,causal=1", "onednn"},
        Case{"attention:batch=2,heads=3,queries=17,keys=13,dim=19,pass=backward", "onednn"},
        Case{"attention:batch=1,heads=3,queries=33,keys=17,dim=16,causal=1,pass=backward", "onednn"},
        Case{"attention:batch=2,heads=6,kv_heads=2,queries=17,keys=13,dim=19,causal=1", "onednn"},
        Case{"attention:batch=2,heads=6,kv_heads=2,queries=17,keys=13,dim=19,pass=backward", "onednn"},
        Case{"attention:batch=2,heads=4,kv_heads=1,queries=17,keys=33,dim=16,causal=1,pass=backward",
             "onednn"},
        Case{"attention:batch=2,heads=6,kv_heads=2,queries=9,keys=13,dim=7,layout=bshd", "builtin"},
        Case{"attention:batch=2,heads=4,kv_heads=1,queries=9,keys=13,dim=7,layout=sbhd,pass=backward",
             "builtin"},
        Case{"attention:batch=2,heads=3,queries=9,keys=13,dim=7,layout=bshd", "builtin"},
        Case{"attention:batch=2,heads=3,queries=9,keys=13,dim=7,layout=sbhd", "builtin"},
        Case{"attention:batch=2,heads=3,queries=9,keys=13,dim=7,layout=sbhd,pass=backward", "builtin"}));

INSTANTIATE_TEST_SUITE_P(
    Activations, NetworkLayer,
    ::testing::Values(
        Case{"mul:count=40003", "builtin"}, Case{"relu6:count=40003", "onednn"},
        Case{"sigmoid:count=40003", "onednn"}, Case{"tanh:count=40003", "onednn"},
        Case{"silu:count=40003", "onednn"}, Case{"gelu:count=40003", "onednn"},
        Case{"relu_backward:count=40003", "builtin"}, Case{"relu6_backward:count=40003", "onednn"},
        Case{"sigmoid_backward:count=40003", "onednn"}, Case{"tanh_backward:count=40003", "onednn"},
        Case{"silu_backward:count=40003", "onednn"}, Case{"gelu_backward:count=40003", "onednn"}));

TEST(RandomNetworkLayers, AreVerified) {
  const auto queue = cpu_device().make_queue();
  jitterscope::testing::RandomOperation random(41);
  for (int i = 0; i < 40; ++i) {
    for (const Operation& drawn : {Operation(random.batch_norm(9)), Operation(random.pool2d(9)),
                                   Operation(random.bias_add(9)), Operation(random.attention(9))}) {
      const Operation operation = drawn.dtype() == DataType::tf32 ? drawn.with_dtype(DataType::f32) : drawn;
      const auto prepared = cpu_device().prepare(operation, {});
      const Verification result = verify(*queue, *prepared);
      EXPECT_TRUE(result.passed) << operation.text() << " " << result.relative_error;
    }
  }
}

TEST(Verification, OfWhatTheReferenceRunsTooSaysSo) {
  const auto queue = cpu_device().make_queue();
  const auto says_so = [&](const char* text) {
    return verify(*queue, *cpu_device().prepare(Operation::parse(text), {})).same_formula;
  };
  EXPECT_TRUE(says_so("matmul:m=3,n=4,k=5,dtype=f64"));
  EXPECT_TRUE(says_so("add:count=9,dtype=f32"));
  EXPECT_FALSE(says_so("matmul:m=3,n=4,k=5,dtype=f32")) << "by oneDNN";
  EXPECT_FALSE(says_so("copy:bytes=400")) << "compared with what it copies";
}

TEST(NetworkLayerProviders, OwnLoopsNormalizeWithWeightsInBf16) {
  const std::string text = "batch_norm:n=4,c=19,h=7,w=9,dtype=bf16";
  const bool has_bf16 = std::ranges::count(cpu_device().describe().data_types, DataType::bf16) > 0;
  EXPECT_EQ(cpu_device().prepare(Operation::parse(text), {})->provider(), has_bf16 ? "onednn" : "builtin");
  EXPECT_EQ(cpu_device().prepare(Operation::parse(text + ",weights=bf16"), {})->provider(), "builtin");
}

TEST(RandomNetworkLayers, HaveNoTf32) {
  for (const char* text :
       {"batch_norm:n=1,c=1,hw=1", "gelu:count=1", "attention:batch=1,heads=1,queries=1,dim=1", "sgd:count=1",
        "embedding:count=1,rows=1,columns=1"}) {
    EXPECT_THROW(cpu_device().prepare(Operation::parse(text).with_dtype(DataType::tf32), {}), UsageError)
        << text;
  }
}

TEST(NetworkLayerData, IndicesStayInTheirTable) {
  const auto embedding = cpu_device().prepare(Operation::parse("embedding:count=50000,rows=7,columns=1"), {});
  const std::vector<double> indices = embedding->read_operand(0);
  EXPECT_EQ(*std::min_element(indices.begin(), indices.end()), 0.0);
  EXPECT_EQ(*std::max_element(indices.begin(), indices.end()), 6.0);
  for (int row = 0; row < 7; ++row) {
    EXPECT_NEAR(static_cast<double>(std::count(indices.begin(), indices.end(), row)), 50000.0 / 7, 500)
        << row;
  }
}

TEST(NetworkLayerData, VariancesAreNotNegative) {
  const auto norm = cpu_device().prepare(Operation::parse("batch_norm:n=1,c=5000,hw=1,pass=inference"), {});
  const std::vector<double> mean = norm->read_operand(3), variance = norm->read_operand(4);
  EXPECT_LT(*std::min_element(mean.begin(), mean.end()), -1.0);
  EXPECT_GE(*std::min_element(variance.begin(), variance.end()), 0.0);
  EXPECT_GT(*std::max_element(variance.begin(), variance.end()), 1.0);
}

TEST(NetworkLayerData, OutputsBeginPoisoned) {
  const auto pool = cpu_device().prepare(Operation::parse("max_pool:n=1,c=1,hw=8,window=2"), {});
  EXPECT_TRUE(std::isnan(pool->read_operand(1).back()));
  EXPECT_EQ(pool->read_operand(2).back(), -1.0) << "no index";
}

}  // namespace
}  // namespace jitterscope
