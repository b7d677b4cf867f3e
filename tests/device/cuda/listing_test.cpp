#include <gtest/gtest.h>

#include <cstring>

#include "device/cuda/cuda_device.hpp"
#include "device/cuda/kernels.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

TEST(CudaBuild, TheFatBinaryIsEmbedded) {
  const std::span<const std::byte> binary = kernels_binary();
  ASSERT_GT(binary.size(), 10000u);
  std::uint32_t magic = 0;
  std::memcpy(&magic, binary.data(), sizeof(magic));
  EXPECT_EQ(magic, 0xba55ed50u);  // of every fat binary of nvcc
}

TEST(CudaListing, GivesAReasonOrANameForEachDevice) {
  const std::vector<DeviceListing> devices = list_cuda_devices();
  for (const DeviceListing& device : devices) {
    EXPECT_TRUE(device.id.starts_with("cuda:"));
    EXPECT_NE(device.name.empty(), device.problem.empty()) << device.name << device.problem;
  }
}

TEST(CudaListing, AGpuThatIsNotThereIsMissing) {
  try {
    open_cuda_device(1000);
    FAIL() << "opened cuda:1000";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::missing);
    const std::string text = error.what();
    EXPECT_TRUE(text.find("cuda:1000") != std::string::npos || text.find("NVIDIA") != std::string::npos)
        << text;
  }
}

}  // namespace
}  // namespace jitterscope::cuda
