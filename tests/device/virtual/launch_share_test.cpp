#include "device/virtual/virtual_chain.hpp"

#include <gtest/gtest.h>

#include "device/virtual/gpus.hpp"

namespace jitterscope::virtual_gpu {
namespace {

double share_of(std::string_view text) { return share_of_processors(plain_gpu(), Operation::parse(text)); }

// 100 processors, each with a tile of 128 x 128 or as many smaller ones.
TEST(LaunchShare, OfAProductFollowsItsTiles) {
  EXPECT_NEAR(share_of("matmul:m=512,n=256,k=2"), 0.08, 1e-9);
  EXPECT_NEAR(share_of("matmul:m=100,n=100,k=1000"), 0.01, 1e-9);
  EXPECT_EQ(share_of("matmul:m=4096,n=4096,k=4096"), 1.0);
}

// 100 processors of 2048 threads, each with 16 bytes.
TEST(LaunchShare, OfOthersFollowsTheirBytes) {
  EXPECT_NEAR(share_of("relu:count=409600"), 0.5, 1e-9);
  EXPECT_NEAR(share_of("relu:count=409600,dtype=f16"), 0.25, 1e-9);
  EXPECT_EQ(share_of("relu:count=16Mi"), 1.0);
  EXPECT_NEAR(share_of("relu:count=1"), 1.0 / 800, 1e-9) << "one block of eight on a processor";
  EXPECT_NEAR(share_of("spin:ns=100,blocks=50"), 0.5, 1e-9);
  EXPECT_NEAR(share_of("cuda:@saxpy:saxpy,grid=400,block=256,x=f32[1Mi]"), 0.5, 1e-9);
}

TEST(LaunchShare, CopiesFromAndToTheHostHaveEngines) {
  const auto engine = [](std::string_view text) { return engine_of(Operation::parse(text)); };
  EXPECT_EQ(engine("copy:bytes=4Ki,kind=h2d"), Engine::copy_to_device);
  EXPECT_EQ(engine("copy:bytes=4Ki,kind=d2h"), Engine::copy_to_host);
  EXPECT_EQ(engine("copy:bytes=4Ki"), Engine::processors);
  EXPECT_EQ(engine("relu:count=8"), Engine::processors);
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
