// Kernels of one's own on a GPU, where NVRTC is there to compile them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cuda_test.hpp"
#include "measure/verify.hpp"

namespace jitterscope {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

constexpr const char* kKernels = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void more_numbers(signed char a, unsigned char b, short c, unsigned short d, size_t e,
                                        __nv_bfloat16 f, bool g, double* y) {
  y[0] = a; y[1] = b; y[2] = c; y[3] = d; y[4] = e; y[5] = __bfloat162float(f); y[6] = g;
}
extern "C" __global__ void numbers(int a, unsigned b, long long c, float d, double e, __half f, double* y) {
  y[0] = a; y[1] = b; y[2] = c; y[3] = d; y[4] = e; y[5] = __half2float(f);
}
template <class T>
__global__ void twice(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + x[i];
}
extern "C" __global__ void one_too_many(float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n) y[i] = 1;
}
extern "C" __global__ void one_before(float* y) { y[-1] = 1; }
extern "C" __global__ void nowhere(float** y) { *reinterpret_cast<float*>(0x10) = 1; }
extern "C" __global__ void reversed(const float* x, float* y) {
  extern __shared__ float row[];
  row[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = row[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void sides(int* y) {
  y[0] = gridDim.x; y[1] = gridDim.y; y[2] = gridDim.z; y[3] = blockDim.x; y[4] = blockDim.y; y[5] = blockDim.z;
}
extern "C" __global__ void gather(const float* x, const int* i, const long long* k, float* y) {
  const int at = threadIdx.x;
  y[at] = x[i[at]] + x[k[at]];
}
extern "C" __global__ void many(const float* x, float* y) {
  float kept[100];
  for (int i = 0; i < 100; ++i) kept[i] = x[threadIdx.x + 32 * i];
  for (int k = 0; k < 9; ++k) for (int i = 0; i < 100; ++i) kept[i] = kept[i] * kept[(i + 1) % 100] + x[k];
  for (int i = 0; i < 100; ++i) y[threadIdx.x + 32 * i] = kept[i];
}
extern "C" __global__ void grow(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }
extern "C" __global__ void shrink(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] -= 1; }
extern "C" __global__ void half_of_it(float* y, int n) { if (threadIdx.x < n / 2) y[threadIdx.x] = 1; }
extern "C" __global__ void all_of_it(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 1; }
)";

class CudaKernelTest : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    std::ofstream(file_) << kKernels;
    try {
      kernel("sides,grid=1,block=1,y=out:i32[6]");
    } catch (const MissingError& error) {
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override { std::filesystem::remove(file_); }

  std::unique_ptr<PreparedOperation> kernel(const std::string& launch, const InputData& data = {}) {
    return prepare(fmt::format("cuda:{}:{}", file_, launch), data);
  }
  std::optional<Verification> verification(const std::string& launch) {
    return verify_by_reference(device(), queue(), Operation::parse(fmt::format("cuda:{}:{}", file_, launch)),
                               {});
  }

 private:
  std::string file_ = fmt::format("{}jitterscope_kernels_{}.cu", testing::TempDir(), ::getpid());
};

TEST_F(CudaKernelTest, EachNumberArrivesInItsType) {
  const auto prepared = kernel(
      "numbers,grid=1,block=1,a=-3,b=u32:4000000000,c=i64:-5000000000,d=0.1,e=f64:0.1,f=f16:0.5,y=out:f64[6]");
  EXPECT_EQ(run_and_read(*prepared),
            (std::vector<double>{-3, 4e9, -5e9, static_cast<double>(0.1f), 0.1, 0.5}));
  EXPECT_EQ(prepared->provider(), "nvrtc");
  EXPECT_EQ(run_and_read(*kernel("more_numbers,grid=1,block=1,a=i8:-128,b=u8:255,c=i16:-32768,d=u16:65535,"
                                 "e=u64:1Ti,f=bf16:0.25,g=u8:1,y=out:f64[7]")),
            (std::vector<double>{-128, 255, -32768, 65535, 0x1p40, 0.25, 1}));
}

TEST_F(CudaKernelTest, ATemplateRunsOnEachTypeOfBuffer) {
  for (const auto& [name, type] : std::vector<std::pair<const char*, const char*>>{
           {"float", "f32"}, {"double", "f64"}, {"__half", "f16"}, {"int", "i32"}, {"long long", "i64"}}) {
    const auto prepared =
        kernel(fmt::format("twice<{0}>,grid=n/block,block=128,x={1}[n],y=out:{1}[1003],n=1000", name, type));
    const std::vector<double> x = prepared->read_operand(0), y = run_and_read(*prepared);
    for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(y[i], 2 * x[i]) << type << " " << i;
    for (std::size_t i = 1000; i < 1003; ++i) EXPECT_TRUE(std::isnan(y[i])) << type;
    EXPECT_NE(x[0], x[1]) << type;
  }
}

TEST_F(CudaKernelTest, SidesOfTheLaunchArrive) {
  EXPECT_EQ(run_and_read(*kernel("sides,grid=3x2x4,block=8x4x2,y=out:i32[6]")),
            (std::vector<double>{3, 2, 4, 8, 4, 2}));
}

TEST_F(CudaKernelTest, SharedMemoryMayBeMoreThanTheUsual48KiB) {
  const auto prepared = kernel("reversed,grid=1,block=1024,shared=64Ki,x=f32[1024],y=out:f32[1024]");
  const std::vector<double> x = prepared->read_operand(0), y = run_and_read(*prepared);
  for (std::size_t i = 0; i < 1024; ++i) ASSERT_EQ(y[i], x[1023 - i]);
  EXPECT_THAT(prepared->algorithm(), HasSubstr("64 KiB shared"));
  EXPECT_THAT([&] { kernel("reversed,grid=1,block=1,shared=1Mi,x=f32[1],y=out:f32[1]"); },
              ThrowsMessage<UsageError>(HasSubstr("shared=1048576 is too large")));
}

TEST_F(CudaKernelTest, IndicesFitTheSmallestBuffer) {
  const auto prepared = kernel("gather,grid=1,block=256,x=f32[100],i=i32[256],k=i64[256],y=out:f32[256]");
  const std::vector<double> x = prepared->read_operand(0), i = prepared->read_operand(1),
                            k = prepared->read_operand(2), y = run_and_read(*prepared);
  EXPECT_THAT(i, Each(AllOf(testing::Ge(0), testing::Lt(100))));
  EXPECT_GT(*std::max_element(i.begin(), i.end()), 80);
  for (std::size_t at = 0; at < 256; ++at) {
    const auto sum = static_cast<float>(x[static_cast<std::size_t>(i[at])]) +
                     static_cast<float>(x[static_cast<std::size_t>(k[at])]);
    EXPECT_EQ(y[at], sum);
  }
}

TEST_F(CudaKernelTest, WritesBesideABufferAreNoticed) {
  const auto good = kernel("one_too_many,grid=4,block=256,y=out:f32[1000],n=999", {.placement = 3});
  run_and_read(*good);
  ASSERT_TRUE(good->place_anew());
  run_and_read(*good);
  EXPECT_NO_THROW(good->check_launches());
  const auto bad = kernel("one_too_many,grid=4,block=256,y=out:f32[1000],n=1000", {.placement = 3});
  EXPECT_NO_THROW(bad->check_launches()) << "nothing has run yet";
  run_and_read(*bad);
  EXPECT_THAT(
      [&] { bad->check_launches(); },
      ThrowsMessage<FailedError>(HasSubstr("one_too_many wrote outside of y, behind its 1000 elements")));
  const auto before = kernel("one_before,grid=1,block=1,y=out:f32[1000]");
  run_and_read(*before);
  EXPECT_THAT([&] { before->check_launches(); },
              ThrowsMessage<FailedError>(HasSubstr("one_before wrote outside of y, before its 1000")));
}

TEST_F(CudaKernelTest, ArgumentsThatDoNotFitTheParametersAreRefused) {
  EXPECT_THAT([&] { kernel("sides,grid=1,block=1"); },
              ThrowsMessage<UsageError>(HasSubstr("it has 1 parameters, and 0 arguments are given")));
  EXPECT_THAT([&] { kernel("grow,grid=1,block=1,x=inout:f32[1],n=1,m=1"); },
              ThrowsMessage<UsageError>(HasSubstr("2 parameters, and 3 arguments")));
  EXPECT_THAT([&] { kernel("grow,grid=1,block=1,x=inout:f32[1],n=i64:1"); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("parameter 2 takes 4 bytes, and n has 8"))));
  EXPECT_THAT([&] { kernel("grow,grid=1,block=1,n=1,x=inout:f32[1]"); },
              ThrowsMessage<UsageError>(HasSubstr("parameter 1, float* x, is a pointer, and n is a number")));
}

TEST_F(CudaKernelTest, RegistersAndSpillsAreReported) {
  const std::string launch = "many,grid=1,block=32,x=f32[3200],y=out:f32[3200]";
  const auto usual = kernel(launch), few = kernel(launch + ",registers=32");
  EXPECT_THAT(usual->algorithm(), testing::ContainsRegex("^[0-9]+ registers, [0-9]+ % occupancy"));
  EXPECT_THAT(usual->algorithm(), Not(HasSubstr("local")));
  EXPECT_THAT(few->algorithm(), AllOf(HasSubstr("32 registers"), HasSubstr("B local memory a thread")));
  EXPECT_EQ(run_and_read(*usual).size(), run_and_read(*few).size());
  EXPECT_THAT([&] { kernel("many,grid=1,block=1024,registers=128,x=f32[1],y=out:f32[1]"); },
              ThrowsMessage<UsageError>(HasSubstr("a block of 1024 threads cannot be launched")));
}

// 8 blocks of 128 threads leave each thread 64 registers.
TEST_F(CudaKernelTest, LaunchBoundsLimitRegisters) {
  const std::string launch = "many,grid=1,block=128,x=f32[3296],y=out:f32[3296]";
  const auto usual = kernel(launch), bounded = kernel(launch + ",min_blocks=8");
  EXPECT_THAT(bounded->algorithm(), AllOf(HasSubstr("bytes spill stores"), Not(HasSubstr("(0 bytes"))));
  EXPECT_NE(bounded->algorithm(), usual->algorithm());
  EXPECT_EQ(run_and_read(*usual).size(), run_and_read(*bounded).size());
  EXPECT_THAT(
      [&] { kernel(launch + ",min_blocks=32"); },
      ThrowsMessage<UsageError>(AllOf(HasSubstr("min_blocks=32 of 128 threads"), HasSubstr("at most"))));
}

TEST_F(CudaKernelTest, EachLevelOfOptimizationComputesTheSame) {
  const std::string launch = "twice<float>,grid=8,block=128,x=f32[1000],y=out:f32[1000],n=1000";
  const std::vector<double> full = run_and_read(*kernel(launch));
  for (const char* level : {"optimize=0", "optimize=1", "optimize=0,architecture=75"}) {
    EXPECT_EQ(run_and_read(*kernel(fmt::format("{},{}", launch, level))), full) << level;
  }
}

TEST_F(CudaKernelTest, CodeForAnOlderGpuRunsAndIsNamed) {
  const std::string launch = "many,grid=1,block=32,x=f32[3200],y=out:f32[3200]";
  const auto usual = kernel(launch), older = kernel(launch + ",architecture=75");
  EXPECT_THAT(older->algorithm(), HasSubstr(", code for 7.5"));
  EXPECT_THAT(usual->algorithm(), Not(HasSubstr("code for")));
  EXPECT_EQ(run_and_read(*usual).size(), run_and_read(*older).size());
  EXPECT_THAT([&] { kernel(launch + ",architecture=999"); },
              ThrowsMessage<UsageError>(HasSubstr("architecture=999 is newer than this GPU")));
}

TEST_F(CudaKernelTest, IsVerifiedWithItsReferenceOnFreshOperands) {
  const auto same = verification("grow,reference=grow,grid=1,block=64,x=inout:f32[64],n=60");
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->passed);
  EXPECT_EQ(same->relative_error, 0.0);
  EXPECT_EQ(same->checked, 64);
  EXPECT_FALSE(verification("grow,reference=shrink,grid=1,block=64,x=inout:f32[64],n=60")->passed);
  const auto half = verification("half_of_it,reference=all_of_it,grid=1,block=64,y=out:f32[64],n=60");
  EXPECT_EQ(half->unwritten, 30);
  EXPECT_FALSE(half->passed);
  EXPECT_FALSE(verification("grow,grid=1,block=64,x=inout:f32[64],n=60"));
}

TEST_F(CudaKernelTest, WhatTheProgramCarriesIsRight) {
  for (
      const char* text :
      {"cuda:@saxpy:saxpy,reference=saxpy_reference,n=100001,a=2.5,x=f32[n],y=inout:f32[n],block=256,grid=n/block",
       "cuda:@bodies:bodies<float>,reference=bodies<double>,n=4Ki,x=f32[n],y=f32[n],z=f32[n],force=out:f32[n],"
       "block=128,grid=n/block"}) {
    const auto found = verify_by_reference(device(), queue(), Operation::parse(text), {});
    ASSERT_TRUE(found) << text;
    EXPECT_TRUE(found->passed) << text << ": " << found->relative_error;
  }
}

// In a process of its own: nothing more runs in it afterwards.
TEST_F(CudaKernelTest, AnIllegalAddressIsASentence) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [&] {
    try {
      const auto prepared = kernel("nowhere,grid=1,block=1,y=inout:f32[8]");
      queue().launch(*prepared);
      queue().wait();
    } catch (const FailedError& error) {
      std::fputs(error.what(), stderr);
      std::_Exit(7);
    }
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(7), "compute-sanitizer says where");
}

}  // namespace
}  // namespace jitterscope
