// Fused chains on a GPU give what their steps give, by each of the three ways.
#include <algorithm>

#include "cuda_test.hpp"
#include "jitterscope/error.hpp"
#include "measure/verify.hpp"

namespace jitterscope {
namespace {

class CudaFusedChain : public CudaTest {
 protected:
  void expect_right(const std::string& steps, std::initializer_list<DataType> types,
                    const std::string& provider) {
    for (const DataType dtype : types) {
      const Operation chain = Operation::parse("chain:" + steps + ",fused=1").with_dtype(dtype);
      const auto prepared = prepare(chain.text());
      EXPECT_EQ(prepared->provider(), provider) << chain.text();
      const Verification verification = verify(queue(), *prepared);
      EXPECT_TRUE(verification.passed)
          << chain.text() << ": " << verification.relative_error << " by " << prepared->algorithm();
    }
  }
};

TEST_F(CudaFusedChain, ByAGeneratedKernel) {
  for (
      const char* steps :
      {"[relu:count=1001]*2", "[add:count=64Ki][gelu:count=64Ki][mul:count=64Ki][tanh:count=64Ki]",
       "[bias_add:n=2,c=5,hw=7][silu:count=490][sigmoid:count=490],lanes=3",
       "[relu6:count=490][bias_add:n=2,c=5,hw=7,layout=nhwc]",
       "[relu:count=1024][max_pool:n=1,c=4,hw=16,window=3,stride=2,pad=1]",
       "[add:count=1024][relu:count=1024][avg_pool:n=1,c=4,hw=16,window=9,stride=4,pad=2,layout=nhwc]",
       "[max_pool:n=1,c=4,hw=16,window=2,stride=2,layout=nhwc][bias_add:n=1,c=4,hw=8,layout=nhwc][relu:count=256]",
       "[avg_pool:n=1,c=4,hw=16,window=16,stride=1][mul:count=4]"}) {
    expect_right(steps, {DataType::f64, DataType::f32, DataType::f16, DataType::bf16}, "nvrtc");
  }
}

TEST_F(CudaFusedChain, ByTheEpilogueOfAProduct) {
  for (const char* steps : {"[linear:n=256,in=512,out=128][relu:count=32Ki]",
                            "[matmul:m=256,n=128,k=512][relu:count=32Ki],lanes=2",
                            "[matmul:m=256,n=128,k=512][bias_add:n=256,c=128,hw=1]",
                            "[matmul:m=256,n=128,k=512][bias_add:n=256,c=128,hw=1][relu:count=32Ki]"}) {
    expect_right(steps, {DataType::f32, DataType::tf32, DataType::f16, DataType::bf16}, "cublaslt");
  }
  expect_right("[linear:n=256,in=512,out=128][gelu:count=32Ki]", {DataType::f16, DataType::bf16}, "cublaslt");
}

TEST_F(CudaFusedChain, ByAGraphOfAConvolution) {
  for (
      const char* steps :
      {"[conv2d:n=4,c=64,hw=14,k=64,rs=3,pad=1,layout=nhwc][bias_add:n=4,c=64,hw=14,layout=nhwc][relu:count=49Ki]",
       "[conv2d:n=4,c=64,hw=14,k=64,rs=3,pad=1,layout=nhwc][bias_add:n=4,c=64,hw=14,layout=nhwc]",
       "[conv2d:n=4,c=64,hw=14,k=64,rs=1,layout=nhwc][add:count=49Ki][silu:count=49Ki]"}) {
    expect_right(steps, {DataType::f16, DataType::bf16}, "cudnn");
  }
}

TEST_F(CudaFusedChain, WhatThereIsNoWayForIsRefused) {
  EXPECT_THROW(prepare("chain:[relu:count=64][softmax:rows=8,columns=8],fused=1"), UsageError);
  EXPECT_THROW(prepare("chain:[linear:n=8,in=8,out=8][gelu:count=64],fused=1"), UsageError);
}

}  // namespace
}  // namespace jitterscope
