#include "device/virtual/kernel_work.hpp"

#include <gtest/gtest.h>

#include "device/virtual/gpus.hpp"

namespace jitterscope::virtual_gpu {
namespace {

physics::KernelWork work_of(std::string_view text, DataKind data = DataKind::normal) {
  return kernel_work(plain_gpu(), Operation::parse(text), {10, 11, 12, 13, 14, 15, 16, 17, 18}, data);
}

// In tiles of 64 x 64 or less, as many as fill 100 processors whole; 100,000 FLOPs per cycle at 90 %.
TEST(VirtualKernelWork, OfAProductFollowsItsFlops) {
  const physics::KernelWork work = work_of("matmul:m=640,n=1600,k=1024,dtype=bf16");
  EXPECT_NEAR(work.compute.value(), 2.0 * 640 * 1600 * 1024 / 1e5 / 0.9, 1);
  EXPECT_EQ(work.fixed, microseconds(1));
  EXPECT_NEAR(work.activity, 1.0, 1e-9);
  ASSERT_EQ(work.accesses.size(), 3u);
  EXPECT_EQ(work.accesses[1].buffer, 11u);
  EXPECT_EQ(work.accesses[1].bytes, Bytes(2 * 1600 * 1024));
  EXPECT_FALSE(work.accesses[1].writes);
  EXPECT_TRUE(work.accesses[2].writes);
}

TEST(VirtualKernelWork, OfASmallProductLeavesProcessorsIdle) {
  const physics::KernelWork work = work_of("linear:n=64,in=128,out=64,dtype=f16,bias=0");
  EXPECT_NEAR(work.compute.value(), 2.0 * 64 * 8 * 128 / 1e3 / 0.9, 1)
      << "8 tiles of 64 x 8 take as long as one";
  EXPECT_NEAR(work.activity, 8.0 / 100.0, 1e-9);
}

TEST(VirtualKernelWork, OfAProductHasWhatItsTypeTakes) {
  physics::Parameters gpu = plain_gpu();
  const auto compute_of = [&](const char* text) {
    return kernel_work(gpu, Operation::parse(text), {1, 2, 3, 4}, DataKind::normal).compute.value();
  };
  const char* small = "matmul:m=64,n=64,k=1024,dtype=f16";
  const double alone = compute_of(small);
  gpu.product_f16.tile = microseconds(2);
  gpu.product_f16.step = Nanoseconds(3);
  EXPECT_NEAR(compute_of(small), 2000 + 3 * 1024, 1) << "at 1 GHz; a step is longer than its FLOPs";
  EXPECT_GT(2000 + 3 * 1024, alone);
  gpu.product_f16.split = microseconds(1);
  gpu.product_f16.piece = Nanoseconds(0);
  EXPECT_LT(compute_of(small), 2000 + 3 * 1024) << "in pieces of the sum";
  gpu = plain_gpu();
  gpu.product_f16.feed = 10e9;
  gpu.compute.unaligned_feed = 1e9;
  EXPECT_NEAR(compute_of("matmul:m=64,n=8,k=1024,dtype=f16"), 72 * 2 / 10.0 * 1024, 1);
  EXPECT_NEAR(compute_of("matmul:m=64,n=8,k=1025,dtype=f16"), 72 * 2 / 2.0 * 1040, 1)
      << "rows begin at 2 bytes";
  gpu.product_f16.bias = microseconds(1);
  const Operation linear = Operation::parse("linear:n=64,in=64,out=64,dtype=f16");
  EXPECT_EQ(kernel_work(gpu, linear, {1, 2, 3, 4}, DataKind::normal).fixed, microseconds(2));
}

TEST(VirtualKernelWork, OfAConvolutionInChannelsFirstIsBroughtIntoTheOther) {
  physics::Parameters gpu = plain_gpu();
  gpu.compute.conversion = microseconds(1);
  gpu.compute.conversion_bandwidth = 1e12;
  const auto fixed_of = [&](const char* text) {
    return kernel_work(gpu, Operation::parse(text), {1, 2, 3}, DataKind::normal).fixed;
  };
  EXPECT_EQ(fixed_of("conv2d:n=2,c=64,hw=8,k=64,rs=1,dtype=f16,layout=nhwc"), microseconds(1));
  const double bytes = 2.0 * (2 * 64 * 64 * 2 + 64 * 64);
  EXPECT_NEAR(fixed_of("conv2d:n=2,c=64,hw=8,k=64,rs=1,dtype=f16").value(), 4000 + 2 * bytes / 1000, 1e-6);
  EXPECT_EQ(fixed_of("conv2d:n=2,c=64,hw=8,k=64,rs=1,dtype=f32"), microseconds(1)) << "no units for matrices";
}

TEST(VirtualKernelWork, OfAConvolutionIsAlikeInAllDirections) {
  for (const char* direction : {"fprop", "dgrad", "wgrad"}) {
    const physics::KernelWork work =
        work_of(std::string("conv2d:n=64,c=640,hw=5,k=640,rs=1,dtype=f32,direction=") + direction);
    EXPECT_NEAR(work.compute.value(), 2.0 * 1600 * 640 * 640 / 1e4 / 0.9 / 0.5, 0.6e5) << direction;
    EXPECT_EQ(work.accesses.size(), 3u);
  }
}

TEST(VirtualKernelWork, OfElementwiseWorkIsMemoryOnly) {
  for (const char* text : {"fill:count=1000", "add:count=1000", "relu:count=1000", "copy:bytes=4000"}) {
    const physics::KernelWork work = work_of(text);
    EXPECT_EQ(work.compute, Cycles(0)) << text;
    EXPECT_EQ(work.accesses.size(), Operation::parse(text).operands().size()) << text;
    EXPECT_EQ(work.activity, 0.3) << text;
  }
}

TEST(VirtualKernelWork, OfAFusedChainIsThatOfItsStepsWithoutWhatTheyHandOn) {
  const std::string product = "matmul:m=1000,n=1000,k=1024,dtype=bf16";
  const physics::KernelWork alone = work_of(product);
  const physics::KernelWork fused = work_of("chain:[" + product + "][relu:count=1000000,dtype=bf16],fused=1");
  EXPECT_EQ(fused.compute, alone.compute);
  EXPECT_EQ(fused.activity, alone.activity);
  EXPECT_EQ(fused.fixed, alone.fixed) << "one launch";
  ASSERT_EQ(fused.accesses.size(), 3u) << "two factors and the result of the last step";
  EXPECT_EQ(fused.accesses[2].bytes, Bytes(2'000'000));
  EXPECT_TRUE(fused.accesses[2].writes);
}

TEST(VirtualKernelWork, OfAUsersKernelIsItsBuffersOnceAndInoutsTwice) {
  const physics::KernelWork work =
      work_of("cuda:@saxpy:saxpy,grid=1,block=1,n=1000,y=inout:f32[n],z=out:f64[n],x=f16[n]");
  EXPECT_EQ(work.compute, Cycles(0));
  ASSERT_EQ(work.accesses.size(), 3u);
  EXPECT_EQ(work.accesses[0].bytes, Bytes(8000));
  EXPECT_EQ(work.accesses[1].bytes, Bytes(2000));
  EXPECT_EQ(work.accesses[2].bytes, Bytes(8000));
  EXPECT_TRUE(work.accesses[2].writes);
}

TEST(VirtualKernelWork, OfAttentionFollowsItsFlops) {
  const physics::KernelWork work =
      work_of("attention:batch=10,heads=10,queries=128,dim=64,dtype=bf16,pass=backward");
  EXPECT_NEAR(work.compute.value(), 10.0 * 100 * 128 * 128 * 64 / 1e5 / 0.9 / 0.3, 1);
  EXPECT_EQ(work.accesses.size(), 9u);
  EXPECT_TRUE(work.accesses[6].writes);
  EXPECT_FALSE(work.accesses[5].writes);
  const physics::KernelWork grouped =
      work_of("attention:batch=10,heads=10,kv_heads=2,queries=128,dim=64,dtype=bf16,pass=backward");
  EXPECT_EQ(grouped.compute, work.compute);
  EXPECT_EQ(grouped.accesses[1].bytes, work.accesses[1].bytes) << "queries";
  for (const std::size_t of_keys : {2u, 3u, 7u, 8u}) {
    EXPECT_EQ(grouped.accesses[of_keys].bytes * 5, work.accesses[of_keys].bytes) << of_keys;
  }
}

TEST(VirtualKernelWork, OfOtherLayersIsMemoryOnly) {
  for (const char* text : {"batch_norm:n=2,c=3,hw=4", "max_pool:n=1,c=2,hw=8,window=2",
                           "softmax:rows=2,columns=9", "layer_norm:rows=2,columns=9,pass=backward",
                           "bias_add:n=1,c=2,hw=3", "adamw:count=1000", "gelu_backward:count=1000"}) {
    const physics::KernelWork work = work_of(text);
    const Operation operation = Operation::parse(text);
    EXPECT_EQ(work.compute, Cycles(0)) << text;
    EXPECT_EQ(work.activity, 0.3) << text;
    Bytes moved;
    for (const physics::Access& access : work.accesses) moved += access.bytes;
    EXPECT_EQ(moved, operation.bytes()) << text;
  }
}

TEST(VirtualKernelWork, OfAnEmbeddingReadsTheRowsThatItNeeds) {
  const physics::KernelWork work = work_of("embedding:count=4,rows=1000,columns=8");
  EXPECT_EQ(work.accesses[1].bytes, Bytes(4 * 8 * 4));
  EXPECT_EQ(work.accesses[2].bytes, Bytes(4 * 8 * 4));
}

TEST(VirtualKernelWork, OfASpinIsWhatWasAskedFor) {
  EXPECT_EQ(work_of("spin:ns=5000").fixed, microseconds(6));
  EXPECT_EQ(work_of("spin:ns=5000,blocks=1100").fixed, microseconds(8)) << "1000 more blocks of 2 ns";
  EXPECT_EQ(work_of("spin:cycles=5000").compute, Cycles(5000));
  EXPECT_EQ(work_of("spin:cycles=5000").fixed, microseconds(1));
}

TEST(VirtualKernelWork, OfACopyOverTheBusFollowsTheHostsMemory) {
  EXPECT_NEAR(work_of("copy:bytes=50000000,kind=h2d").fixed.value(), 1'001'000, 1);
  EXPECT_NEAR(work_of("copy:bytes=50000000,kind=d2h,memory=pageable").fixed.value(), 5'001'000, 1);
}

TEST(VirtualKernelWork, DataChangeThePower) {
  const auto activity = [](DataKind data) {
    return work_of("matmul:m=64,n=64,k=64,dtype=f16", data).activity;
  };
  EXPECT_DOUBLE_EQ(activity(DataKind::zeros) / activity(DataKind::normal), 0.6);
  // In the order of the bits that toggle from one value to the next.
  EXPECT_LT(activity(DataKind::uniform), activity(DataKind::normal));
  EXPECT_LT(activity(DataKind::sparse), activity(DataKind::uniform));
  EXPECT_LT(activity(DataKind::zeros), activity(DataKind::sparse));
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
