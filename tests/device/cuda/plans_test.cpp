// The plans of layers that are too large for a test to run.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "device/cuda/kernel_plan.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

/// Has no memory for operands, and needs none.
class DryPlan : public KernelPlan {
 public:
  DeviceAddress operand(std::size_t) const override { return 0; }
  DeviceAddress workspace(Bytes) override { return 0; }
  void add_zero(const ZeroStep&) override {}
  const KernelStep& first() const { return steps_.front(); }

 protected:
  void add_step(KernelStep step) override { steps_.push_back(std::move(step)); }

 private:
  std::vector<KernelStep> steps_;
};

template <class Shape>
DryPlan planned(void (*plan_layer)(KernelPlan&, const Shape&), const std::string& text) {
  DryPlan plan;
  plan_layer(plan, std::get<Shape>(Operation::parse(text).parameters()));
  return plan;
}
DryPlan pool(const std::string& text) { return planned(plan_pool, text); }

TEST(PoolPlan, RefusesPlanesThat32BitsCannotNumber) {
  EXPECT_NO_THROW(pool("max_pool:n=1,c=1,h=65535,w=32768,window=2"));
  EXPECT_THROW(pool("max_pool:n=1,c=1,hw=65536,window=2"), UsageError);
  EXPECT_NO_THROW(pool("avg_pool:n=1,c=1,h=1,w=1073741823,window=1x2"));
  EXPECT_THROW(pool("avg_pool:n=1,c=1,h=1,w=1073741822,window=1x2,pad=0x1"), UsageError);
}

TEST(PoolPlan, WarpsShareLargeWindowsWhereThereAreFew) {
  EXPECT_EQ(pool("avg_pool:n=2,c=64,hw=7,window=7").first().blocks, 1u);
  EXPECT_EQ(pool("avg_pool:n=2,c=64,hw=8,window=8").first().blocks, 128u * 32 / 256);
  EXPECT_EQ(pool("avg_pool:n=2048,c=1024,hw=8,window=8").first().blocks, 2048u * 1024 / 256);
}

// A GPU takes 2^31-1 blocks, and no launch more.
TEST(LayerPlans, GridsStayWithinWhatAGpuTakes) {
  EXPECT_EQ(planned(plan_softmax, "softmax:rows=2147483647,columns=2").first().blocks, 2147483647u);
  EXPECT_EQ(planned(plan_batch_norm, "batch_norm:n=1048576,c=8192,h=1,w=2").first().blocks, 1u << 20);
  EXPECT_EQ(planned(plan_batch_norm, "batch_norm:n=8192,c=1048576,hw=1").first().blocks, 32768u);
  EXPECT_EQ(planned(plan_elementwise, "relu:count=64Gi,dtype=f16").first().blocks, 1u << 25);
}

TEST(LayerPlans, AConversionTakesTilesWhereElementsMove) {
  const auto first = [](const char* shape) {
    return planned(plan_convert, std::string("convert:n=32,") + shape).first();
  };
  const KernelStep square = first("c=64,hw=56,to=nhwc,dtype=f16");
  EXPECT_EQ(square.kernel, "transpose_f16_f16");
  EXPECT_EQ(square.blocks, 32u * 1 * 49);  // of 64x64 elements
  EXPECT_EQ(first("c=64,hw=56,to=nhwc,dtype=tf32").blocks, 32u * 2 * 98);
  EXPECT_EQ(first("c=64,hw=56,to=nhwc,dtype=tf32").kernel, "transpose_f32_f32");
  // Of 4 rows and 256 columns, not of 32 rows of which 3 are there.
  EXPECT_EQ(first("c=3,hw=224,to=nhwc").blocks, 32u * 196);
  EXPECT_EQ(first("c=3,hw=224,from=nhwc,to=nchw").blocks, 32u * 196);
  EXPECT_EQ(first("c=64,hw=1,to=nhwc").kernel, "convert_f32_f32");
  EXPECT_EQ(first("c=1,hw=56,to=nhwc,to_dtype=f16").kernel, "convert_f32_f16");
  EXPECT_EQ(first("c=8,hw=4,to_dtype=f16").blocks, 32u * 8 * 16 / 4 / 256);
}

TEST(LayerPlans, RowsHaveWholeWarpsOfThreads) {
  const auto threads = [](const char* shape) {
    return planned(plan_softmax, std::string("softmax:rows=2,") + shape).first().threads;
  };
  EXPECT_EQ(threads("columns=1"), 32u);
  EXPECT_EQ(threads("columns=128"), 32u);            // vectors of four
  EXPECT_EQ(threads("columns=130"), 160u);           // one by one
  EXPECT_EQ(threads("columns=768,dtype=f16"), 96u);  // of eight
  EXPECT_EQ(threads("columns=50257,dtype=f16"), 512u);
}

}  // namespace
}  // namespace jitterscope::cuda
