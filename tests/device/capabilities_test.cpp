#include <gtest/gtest.h>

#include "device/can_run.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

// What comes before anything is prepared must be what preparing says: both are asked.
std::string refusal_by_description(Device& device, const std::string& operation) {
  try {
    check_can_run(Operation::parse(operation), device.describe());
  } catch (const UsageError&) {
    return "refused";
  }
  return "accepted";
}

std::string refusal_by_preparing(Device& device, const std::string& operation) {
  try {
    device.prepare(Operation::parse(operation), {});
  } catch (const UsageError&) {
    return "refused";
  }
  return "accepted";
}

TEST(Capabilities, ADescriptionRefusesWhatPreparingRefuses) {
  for (const char* name : {"cpu", "virtual:h200", "virtual:laptop"}) {
    const auto device = open_device(name);
    for (const char* kind :
         {"add:count=64", "matmul:m=8,n=8,k=8", "linear:n=4,in=8,out=8", "softmax:rows=4,columns=8",
          "layer_norm:rows=4,columns=8", "bias_add:rows=4,columns=8", "embedding:count=4,rows=8,columns=8",
          "pool2d:n=1,c=8,hw=8,rs=2,stride=2", "convert:n=1,c=8,hw=8,from=nchw,to=nhwc",
          "convert:count=64,to_dtype=bf16", "convert:count=64,to_dtype=f64"}) {
      for (const char* type : {"f64", "f32", "tf32", "f16", "bf16"}) {
        const std::string operation = std::string(kind) + ",dtype=" + type;
        EXPECT_EQ(refusal_by_description(*device, operation), refusal_by_preparing(*device, operation))
            << name << ' ' << operation;
      }
    }
    for (const char* kernel : {"cuda:@saxpy:saxpy,grid=1,block=1,n=1,a=2.5,x=f32[1],y=inout:f32[1]",
                               "cuda:@nothing:f,grid=1,block=1", "cuda:not/there.cu:f,grid=1,block=1",
                               "cuda:@saxpy:f,grid=1,block=1,x=f64[1Ti]"}) {
      const bool can =
          std::string_view(name) != "cpu" && std::string_view(kernel).starts_with("cuda:@saxpy:saxpy,");
      EXPECT_EQ(refusal_by_description(*device, kernel), can ? "accepted" : "refused") << name << kernel;
      EXPECT_EQ(refusal_by_preparing(*device, kernel), can ? "accepted" : "refused") << name << kernel;
    }
    EXPECT_EQ(refusal_by_description(*device, "add:count=1Ti"), "refused") << name;
    EXPECT_EQ(refusal_by_preparing(*device, "add:count=1Ti"), "refused") << name;
  }
}

TEST(Capabilities, AllocatorsAndHostMemoryThatADeviceLacksAreRefused) {
  const auto expect = [](const char* name, const char* operation, const char* expected) {
    const auto device = open_device(name);
    EXPECT_EQ(refusal_by_description(*device, operation), expected) << name << ' ' << operation;
    EXPECT_EQ(refusal_by_preparing(*device, operation), expected) << name << ' ' << operation;
  };
  for (const char* by : {"malloc", "cache", "preallocated", "pool", "pool_kept", "expandable"}) {
    const std::string operation = std::string("allocation:bytes=4Ki,by=") + by;
    const std::string_view word = by;
    const bool on_cpu = word == "malloc" || word == "cache" || word == "preallocated";
    expect("cpu", operation.c_str(), on_cpu ? "accepted" : "refused");
    expect("virtual:h200", operation.c_str(), "refused");
  }
  expect("cpu", "allocation:bytes=1Ti,count=3", "refused");
  expect("cpu", "allocation:pattern=/no/such/file", "refused");
  for (const char* memory : {"pinned", "pageable", "registered"}) {
    expect("virtual:h200", (std::string("copy:bytes=4Ki,kind=h2d,memory=") + memory).c_str(), "accepted");
  }
  expect("virtual:h200", "copy:bytes=4Ki,kind=d2h,memory=registered_anew", "refused");
  expect("virtual:h200", "copy:bytes=4Ki,kind=d2h,memory=mapped", "refused");
}

TEST(Capabilities, TheHostSaysWhatNoGpuIs) {
  const DeviceCapabilities host = open_device("cpu")->describe().capabilities;
  EXPECT_TRUE(host.is_host);
  EXPECT_FALSE(host.is_simulated || host.launches_return_early || host.launches_have_blocks ||
               host.marks_on_device || host.traces_kernels || host.owns_last_level_cache ||
               host.copies_depend_on_data || host.operator_outputs_stay || host.chains_have_streams);
  EXPECT_EQ(host.fast_layout, Layout::nchw);
  EXPECT_EQ(host.pytorch_device, "cpu");
}

TEST(Capabilities, ASimulatedGpuIsAGpuButForPytorch) {
  const DeviceCapabilities gpu = open_device("virtual:h200")->describe().capabilities;
  EXPECT_TRUE(gpu.is_simulated && gpu.launches_return_early && gpu.launches_have_blocks &&
              gpu.marks_on_device && gpu.traces_kernels && gpu.owns_last_level_cache &&
              gpu.copies_depend_on_data && gpu.operator_outputs_stay && gpu.chains_have_streams);
  EXPECT_FALSE(gpu.is_host);
  EXPECT_EQ(gpu.pytorch_device, "cpu") << "PyTorch has none, and trains on the host";
}

TEST(Capabilities, CollectivesAreOfDevicesWithLinks) {
  EXPECT_TRUE(open_device("virtual:cluster-2xh200")->describe().capabilities.has_collectives);
  EXPECT_FALSE(open_device("virtual:h200")->describe().capabilities.has_collectives);
  const auto host = open_device("cpu");
  EXPECT_FALSE(host->describe().capabilities.has_collectives);
  try {
    host->prepare(Operation::parse("all_reduce:count=8"), {});
    FAIL() << "processors have no links";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("cpu has no collectives; take GPUs"), std::string::npos);
  }
}

TEST(Capabilities, AProductThatShowsTheCeilingIsSmallWhereItIsSlow) {
  const LargeWork host = open_device("cpu")->describe().large_work;
  const LargeWork gpu = open_device("virtual:h200")->describe().large_work;
  EXPECT_EQ(host.slow_type, DataType::f64);
  EXPECT_EQ(gpu.slow_type, DataType::f32);
  EXPECT_LT(host.product_in_slow_type, host.product);
  EXPECT_LT(gpu.product_in_slow_type, gpu.product);
  EXPECT_LT(host.copy, gpu.copy);
}

}  // namespace
}  // namespace jitterscope
