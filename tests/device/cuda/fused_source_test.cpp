// Generated kernels: what stands in their text, and that NVRTC compiles them. No GPU is needed.
#include "device/cuda/operations/fused_source.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>  // setenv

#include "device/compiler/nvrtc.hpp"

namespace jitterscope::cuda {
namespace {

using testing::HasSubstr;
using testing::Not;

FusedSource source_of(const std::string& steps, DataType dtype = DataType::f32) {
  const Operation chain = Operation::parse("chain:" + steps + ",fused=1").with_dtype(dtype);
  return fused_source(std::get<Chain>(chain.parameters()));
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

constexpr const char* kChains[] = {
    "[relu:count=1001]*2",
    "[add:count=1000][gelu:count=1000][mul:count=1000][tanh:count=1000]",
    "[bias_add:n=2,c=5,hw=7][silu:count=490][sigmoid:count=490]",
    "[relu6:count=490][bias_add:n=2,c=5,hw=7,layout=nhwc]",
    "[relu:count=1024][max_pool:n=1,c=4,hw=16,window=3,stride=2,pad=1]",
    "[add:count=1024][relu:count=1024][avg_pool:n=1,c=4,hw=16,window=9,stride=4,pad=2,layout=nhwc]",
    "[max_pool:n=1,c=4,hw=16,window=2,stride=2,layout=nhwc][bias_add:n=1,c=4,hw=8,layout=nhwc][relu:count=256]",
    "[avg_pool:n=1,c=4,hw=16,window=16,stride=1][mul:count=4]",
    "[relu:count=4Gi]*2"};

class FusedSourceTest : public testing::Test {
 protected:
  // The toolkit's, whatever else is installed.
  static void SetUpTestSuite() { ::setenv("JITTERSCOPE_LIBRARY_PATH", JITTERSCOPE_NVRTC_FOLDER, 1); }
};

TEST_F(FusedSourceTest, CompilesForEveryChainInEveryType) {
  for (const char* steps : kChains) {
    for (const DataType dtype :
         {DataType::f64, DataType::f32, DataType::tf32, DataType::f16, DataType::bf16}) {
      const FusedSource source = source_of(steps, dtype);
      const CompiledKernel kernel = compile_kernel(
          {.source = source.text, .file = "generated", .kernel = kFusedKernel, .architecture = 90});
      EXPECT_EQ(kernel.symbol, kFusedKernel);
      EXPECT_THAT(kernel.image, HasSubstr(kFusedKernel)) << source.text;
    }
  }
}

// Each input is read, each output written in one place, and nothing else is in memory.
TEST_F(FusedSourceTest, HasNoOtherMemoryThanTheOperands) {
  for (const char* steps : kChains) {
    const Operation chain = Operation::parse(std::string("chain:") + steps + ",fused=1");
    const std::string text = source_of(steps).text;
    const std::string kernel = text.substr(text.find("extern \"C\""));
    const std::string parameters = kernel.substr(0, kernel.find('{'));
    EXPECT_EQ(count_of(parameters, "__restrict__ p"), chain.operands().size()) << text;
    for (std::size_t i = 0; i < chain.operands().size(); ++i) {
      const bool is_output = chain.operands()[i].role == OperandRole::output;
      const std::string name = "__restrict__ p" + std::to_string(i);
      EXPECT_EQ(count_of(parameters, (is_output ? "T* " : "const T* ") + name) +
                    count_of(parameters, "long long* " + name),
                1u)
          << text;
    }
    EXPECT_THAT(text, Not(HasSubstr("__shared__")));
  }
}

TEST_F(FusedSourceTest, AThreadHas16BytesOrOneWindow) {
  EXPECT_EQ(source_of("[relu:count=1001]*2").threads, 251);
  EXPECT_EQ(source_of("[relu:count=1001]*2", DataType::bf16).threads, 126);
  EXPECT_EQ(source_of("[relu:count=1001]*2", DataType::f64).threads, 501);
  EXPECT_EQ(source_of("[relu:count=1024][max_pool:n=1,c=4,hw=16,window=2,stride=2]").threads, 256);
}

TEST_F(FusedSourceTest, IndicesAreAsWideAsTheyMustBe) {
  EXPECT_THAT(source_of("[relu:count=1Gi]*2").text, HasSubstr("typedef unsigned Index;"));
  EXPECT_THAT(source_of("[relu:count=4Gi]*2").text, HasSubstr("typedef unsigned long long Index;"));
}

TEST_F(FusedSourceTest, WindowsAreOnlyCheckedWhereThereIsPadding) {
  EXPECT_THAT(source_of("[relu:count=1024][max_pool:n=1,c=4,hw=16,window=2,stride=2]").text,
              Not(HasSubstr("continue")));
  EXPECT_THAT(source_of("[relu:count=1024][max_pool:n=1,c=4,hw=16,window=2,stride=2,pad=1]").text,
              HasSubstr("if (row < 0 || row >= 16) continue;"));
}

}  // namespace
}  // namespace jitterscope::cuda
