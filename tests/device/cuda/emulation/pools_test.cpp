// Pooling of sizes at the limits; and which kernel a shape gets.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "emulated_plan.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

constexpr std::int64_t kResident = 2;

// More elements than 32 bits number, all but one of them padding.
TEST(AveragePools, DivideByWindowsOfAnySize) {
  const Operation operation = Operation::parse("avg_pool:n=1,c=1,hw=1,window=131072,stride=1,pad=65536");
  emulation::EmulatedPlan plan(operation, kResident);
  plan.write(0, {1.0});
  plan_pool(plan, std::get<Pool2d>(operation.parameters()));
  plan.run();
  EXPECT_EQ(plan.read(1), std::vector<double>(4, std::exp2(-34)));
}

/// Keeps the name of the kernel, and needs no memory for operands.
class NamePlan : public KernelPlan {
 public:
  DeviceAddress operand(std::size_t) const override { return 0; }
  DeviceAddress workspace(Bytes) override { return 0; }
  std::int64_t resident_blocks(const KernelName&, unsigned) override { return 1; }
  void add_zero(const ZeroStep&) override {}
  const std::string& name() const { return name_; }

 protected:
  void add_step(KernelStep step) override { name_ = step.kernel.name; }

 private:
  std::string name_;
};

std::string kernel_of(const std::string& text) {
  NamePlan plan;
  plan_pool(plan, std::get<Pool2d>(Operation::parse(text).parameters()));
  return plan.name();
}

TEST(PoolPlan, AveragesWholePlanesByGroups) {
  EXPECT_EQ(kernel_of("avg_pool:n=2,c=6,hw=7,window=7"), "average_planes8_f32");
  EXPECT_EQ(kernel_of("avg_pool:n=2,c=6,hw=28,window=28"), "average_planes32_f32");
  EXPECT_EQ(kernel_of("avg_pool:n=2,c=6,hw=112,window=112,dtype=f16"), "average_planes256_f16");
  EXPECT_EQ(kernel_of("avg_pool:n=2,c=6,hw=7,window=7,layout=nhwc"), "average_forward_single_window0_f32");
  EXPECT_EQ(kernel_of("avg_pool:n=2,c=6,hw=7,window=9,pad=1"), "average_forward_single_window0_f32");
}

TEST(PoolPlan, RefusesPlanesThat32BitsCannotNumber) {
  EXPECT_NO_THROW(kernel_of("max_pool:n=1,c=1,h=65535,w=32768,window=2"));
  EXPECT_THROW(kernel_of("max_pool:n=1,c=1,hw=65536,window=2"), UsageError);
  EXPECT_NO_THROW(kernel_of("avg_pool:n=1,c=1,h=1,w=1073741823,window=1x2"));
  EXPECT_THROW(kernel_of("avg_pool:n=1,c=1,h=1,w=1073741822,window=1x2,pad=0x1"), UsageError);
}

}  // namespace
}  // namespace jitterscope::cuda
