#include "base/names.hpp"

#include <gtest/gtest.h>

namespace jitterscope {
namespace {

TEST(KernelName, MangledAndDemangledNamesAreOne) {
  EXPECT_EQ(kernel_identity("_ZN5cudnn6kernelIfLi2EEEvPKf"),
            kernel_identity("void cudnn::kernel<float, 2>(float const*)"));
  EXPECT_NE(kernel_identity("_ZN5cudnn6kernelIfLi2EEEvPKf"),
            kernel_identity("void cudnn::kernel<float, 4>(float const*)"));
}

TEST(KernelName, MemsetsAndCopiesAreOneWordEach) {
  EXPECT_EQ(kernel_identity("Memset (Device)"), kernel_identity("memset"));
  EXPECT_EQ(kernel_identity("Memcpy DtoD (Device -> Device)"), "memcpy");
  EXPECT_NE(kernel_identity("Memset (Device)"), kernel_identity("memcpy"));
}

TEST(KernelName, OtherNamesStayAsTheyAre) {
  EXPECT_EQ(kernel_identity("sm90_xmma_gemm_f32f32"), "sm90_xmma_gemm_f32f32");
  EXPECT_EQ(kernel_identity("_Znot_mangled"), "_Znot_mangled");
  EXPECT_EQ(kernel_identity(""), "");
  EXPECT_EQ(kernel_identity("m"), "m");
}

}  // namespace
}  // namespace jitterscope
