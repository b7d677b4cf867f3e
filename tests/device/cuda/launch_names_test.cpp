// Against a driver that stands in for NVIDIA's; CUPTI itself is not called.
#include "device/cuda/cupti/cupti.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "support/stand_in_cuda.hpp"

namespace jitterscope::cuda {
namespace {

class LaunchNamesTest : public testing::Test {
 protected:
  // The driver is opened by its name, libcuda.so.1, which is then in the process already.
  static void SetUpTestSuite() { ASSERT_NE(dlopen(STAND_IN_CUDA_LIBRARY, RTLD_NOW), nullptr) << dlerror(); }

  void launch(std::uint32_t correlation, std::uintptr_t function,
              CUpti_ApiCallbackSite site = CUPTI_API_ENTER) {
    cuLaunchKernel_params parameters{};
    parameters.f = reinterpret_cast<CUfunction>(function);  // NOLINT
    call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, &parameters, correlation, site);
  }
  void launch_extended(std::uint32_t correlation, std::uintptr_t function) {
    cuLaunchKernelEx_params parameters{};
    parameters.f = reinterpret_cast<CUfunction>(function);  // NOLINT
    call(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, &parameters, correlation, CUPTI_API_ENTER);
  }

  LaunchNames names_;

 private:
  void call(CUpti_CallbackId id, const void* parameters, std::uint32_t correlation,
            CUpti_ApiCallbackSite site) {
    CUpti_CallbackData data{};
    data.callbackSite = site;
    data.functionParams = parameters;
    data.correlationId = correlation;
    data.symbolName = "what_cupti_says";
    names_.note(id, &data);
  }
};

TEST_F(LaunchNamesTest, AreTheDriversForFunctionsAndForKernelsOfLibraries) {
  launch(7, stand_in::kKernel);
  launch(8, stand_in::kFunction);
  launch_extended(9, stand_in::kKernel);
  EXPECT_EQ(names_.find(7), stand_in::kKernelName);
  EXPECT_EQ(names_.find(8), stand_in::kFunctionName);
  EXPECT_EQ(names_.find(9), stand_in::kKernelName);
}

TEST_F(LaunchNamesTest, AreEmptyWhereNothingIsKnown) {
  launch(7, 0x3000);
  launch(8, stand_in::kKernel, CUPTI_API_EXIT);
  EXPECT_EQ(names_.find(7), "");
  EXPECT_EQ(names_.find(8), "");
  EXPECT_EQ(names_.find(9), "");
}

TEST_F(LaunchNamesTest, AreForgottenWithTheTrace) {
  launch(7, stand_in::kKernel);
  names_.clear();
  EXPECT_EQ(names_.find(7), "");
  launch(7, stand_in::kFunction);
  EXPECT_EQ(names_.find(7), stand_in::kFunctionName);
}

}  // namespace
}  // namespace jitterscope::cuda
