#include <gmock/gmock.h>

#include "import/import.hpp"
#include "import/log_data.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using namespace jitterscope::testing;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model import_cublas(std::string_view text) { return import_cublas_log(text, "cublas.log"); }

// D = Aᵀ·B of 512×1000 and 512×16, by columns.
const std::string kGemmEx =
    R"(I! cuBLAS (v13.1.0) function cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*) called:
i!  handle: type=cublasHandle_t; val=POINTER (IN HEX:0x0xb850e50)
i!  transa: type=cublasOperation_t; val=CUBLAS_OP_T(1)
i!  transb: type=cublasOperation_t; val=CUBLAS_OP_N(0)
i!  m: type=int; val=1000
i!  n: type=int; val=16
i!  k: type=int; val=512
i!  alpha: type=void; val=POINTER (IN HEX:0x0x7f55b02f3490)
i!  A: type=void; val=POINTER (IN HEX:0x0x7f54c9230200)
i!  Atype: type=cudaDataType_t; val=CUDA_R_32F(0)
i!  lda: type=int; val=512
i!  B: type=void; val=POINTER (IN HEX:0x0x7f54c9250c00)
i!  Btype: type=cudaDataType_t; val=CUDA_R_32F(0)
i!  ldb: type=int; val=512
i!  beta: type=void; val=POINTER (IN HEX:0x0x7f55b02f34a0)
i!  C: type=void; val=POINTER (IN HEX:0x0x7f54c9230400)
i!  Ctype: type=cudaDataType_t; val=CUDA_R_32F(0)
i!  ldc: type=int; val=1000
i!  computeType: type=cublasComputeType_t; val=CUBLAS_COMPUTE_32F(68)
i!  algo: type=SOME TYPE; val=CUBLAS_GEMM_DEFAULT_TENSOR_OP(99)
i! Time: 2026-11-21T08:01:11 elapsed from start 0.050000 minutes or 3.000000 seconds
i!Process=456; Thread=140289468474112; GPU=0; Handle=POINTER (IN HEX:0x0xb850e50); StreamId=POINTER (IN HEX:0x(nil)) (defaultStream); MathMode=CUBLAS_DEFAULT_MATH
i! COMPILED WITH: GNU GCC/G++ / 8.5.0 20210514 (Red Hat 8.5.0-26)
)";

TEST(CublasLog, GemmEx) {
  const Model model = import_cublas(test_data("conv_linear_cublas.log.gz") + kGemmEx + kGemmEx);
  EXPECT_THAT(operation_texts(model), ElementsAre("matmul:m=16,n=1000,k=512,tb=1,dtype=f32"));
  EXPECT_THAT(model.layers[0].names, ElementsAre("line 44", "line 67"));
  EXPECT_EQ(model.layers[0].source, "cublasGemmEx");
  EXPECT_TRUE(model.untimed.empty());
  EXPECT_THAT(notes_of(model), AllOf(HasSubstr("addresses in place of alpha and beta"),
                                     HasSubstr("does not name the algorithm")));
}

TEST(CublasLog, TheHandlesMathModeAllowsTf32) {
  EXPECT_THAT(
      operation_texts(import_cublas(replaced(kGemmEx, "CUBLAS_DEFAULT_MATH", "CUBLAS_TF32_TENSOR_OP_MATH"))),
      ElementsAre(HasSubstr("dtype=tf32")));
  std::string half = kGemmEx;
  for (const char* name : {"Atype", "Btype", "Ctype"}) {
    half = replaced(half, std::string(name) + ": type=cudaDataType_t; val=CUDA_R_32F(0)",
                    std::string(name) + ": type=cudaDataType_t; val=CUDA_R_16F(2)");
  }
  EXPECT_THAT(
      operation_texts(import_cublas(replaced(half, "CUBLAS_DEFAULT_MATH", "CUBLAS_TF32_TENSOR_OP_MATH"))),
      ElementsAre(HasSubstr("dtype=f16")));
}

TEST(CublasLog, NamesSayTypesAndBatches) {
  EXPECT_THAT(operation_texts(import_cublas(replaced(kGemmEx, "cublasGemmEx", "cublasSgemm_v2"))),
              ElementsAre(HasSubstr("dtype=f32")));
  std::string text = replaced(replaced(kGemmEx, "cublasGemmEx", "cublasDgemm_v2_64"),
                              "i!  computeType: type=cublasComputeType_t; val=CUBLAS_COMPUTE_32F(68)\n", "");
  EXPECT_THAT(operation_texts(import_cublas(text)), ElementsAre(HasSubstr("dtype=f64")));
  text = replaced(kGemmEx, "cublasGemmEx", "cublasGemmStridedBatchedEx");
  text = replaced(text, "i!  computeType",
                  "i!  strideA: type=int; val=512000\ni!  strideB: type=int; val=8192\n"
                  "i!  strideC: type=int; val=16000\ni!  batchCount: type=int; val=12\ni!  computeType");
  EXPECT_THAT(operation_texts(import_cublas(text)),
              ElementsAre("matmul:m=16,n=1000,k=512,batch=12,tb=1,dtype=f32"));
}

TEST(CublasLog, WhatIsNoMatmulIsUntimed) {
  const auto untimed = [](std::string_view from, std::string_view to) {
    const Model model = import_cublas(replaced(kGemmEx, from, to) + kGemmEx);
    return model.untimed.empty() ? std::string("none")
                                 : model.untimed[0].name + ": " + model.untimed[0].reason;
  };
  EXPECT_THAT(untimed("cublasGemmEx", "cublasGemmBatchedEx"),
              HasSubstr("cublasGemmBatchedEx: its matrices lie anywhere"));
  EXPECT_THAT(untimed("cublasGemmEx", "cublasSgemv_v2"), HasSubstr("cublasSgemv_v2: of cuBLAS's functions"));
  EXPECT_THAT(untimed("lda: type=int; val=512", "lda: type=int; val=600"),
              HasSubstr("A is part of a larger matrix"));
  EXPECT_THAT(untimed("beta: type=void; val=POINTER (IN HEX:0x0x7f55b02f34a0)", "beta: type=void; val=1"),
              HasSubstr("adds its product"));
  EXPECT_THAT(untimed("CUBLAS_OP_T(1)", "CUBLAS_OP_X(7)"), HasSubstr("OP_X"));
  EXPECT_THAT(untimed("cublasGemmEx", "cublasSetStream_v2"), "none");
}

TEST(DamagedCublasLog, IsReadAsFarAsItGoes) {
  const Model model = import_cublas(replaced(kGemmEx, "i!  k: type=int; val=512\n", "") + kGemmEx);
  EXPECT_EQ(model.calls.size(), 1u);
  EXPECT_THAT(notes_of(model), HasSubstr("on line 1, lacks k"));
  EXPECT_THAT(notes_of(import_cublas(kGemmEx + kGemmEx.substr(0, kGemmEx.find("i!Process")))),
              HasSubstr("without its end"));
}

TEST(DamagedCublasLog, WithoutOperationsSaysHowToRecordOne) {
  EXPECT_THAT(
      usage_message([] { import_cublas(test_data("conv_linear_cublas.log.gz")); }),
      AllOf(HasSubstr("cublas.log holds no product"), HasSubstr("CUBLAS_LOGINFO_DBG=1 CUBLAS_LOGDEST_DBG=")));
}

}  // namespace
}  // namespace jitterscope
