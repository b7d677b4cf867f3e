#include <gmock/gmock.h>

#include "device/virtual/virtual_device.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::virtual_gpu {
namespace {

using testing::HasSubstr;

std::string problem(std::string_view name) {
  try {
    open_device(name);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

std::string property(const DeviceDescription& description, std::string_view key) {
  for (const Property& each : description.properties) {
    if (each.key == key) return each.value;
  }
  return "";
}

TEST(OpenVirtualDevice, TakesAPresetAndMechanismsToLeaveOut) {
  const DeviceDescription description = open_device("virtual:quiet,without=noise+spikes", 5)->describe();
  EXPECT_EQ(description.id, "virtual:quiet,without=noise+spikes");
  EXPECT_EQ(property(description, "mechanisms_off"), "noise+spikes");
  EXPECT_EQ(property(description, "seed"), "5");
  EXPECT_EQ(property(open_device("virtual,without=drift")->describe(), "mechanisms_off"), "drift");
}

TEST(OpenVirtualDevice, IsAnH200UnlessAnotherIsNamed) {
  EXPECT_EQ(open_device("virtual")->describe().name, open_device("virtual:h200")->describe().name);
}

TEST(OpenVirtualDevice, OpensEveryPresetThatItNames) {
  for (const char* preset : {"h200", "a100", "laptop", "quiet", "hostile", "shared"}) {
    EXPECT_THAT(open_device(std::string("virtual:") + preset)->describe().name, HasSubstr("(simulated)"));
    EXPECT_THAT(virtual_device_summary(), HasSubstr(preset));
  }
}

TEST(OpenVirtualDevice, NamesTheNearest) {
  EXPECT_THAT(problem("virtual:h20"), HasSubstr("h200"));
  EXPECT_THAT(problem("virtual:h200,without=noize"), HasSubstr("did you mean 'noise'?"));
  EXPECT_THAT(problem("virtual:h200,witout=noise"), HasSubstr("without="));
  EXPECT_THAT(problem("virtual:"), HasSubstr("h200"));
  EXPECT_THAT(problem("virtua"), HasSubstr("'virtual'"));
  EXPECT_THAT(problem("virtual:/nonexistent/gpu.toml"), HasSubstr("/nonexistent/gpu.toml"));
}

TEST(OpenVirtualDevice, IsListed) {
  std::vector<std::string> ids;
  for (const DeviceListing& device : list_devices()) ids.push_back(device.id);
  EXPECT_THAT(ids, testing::Contains("virtual"));
}

TEST(OpenVirtualDevice, IsNeverTakenForAutomaticChoice) {
  EXPECT_THAT(open_device("auto")->describe().id, testing::Not(HasSubstr("virtual")));
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
