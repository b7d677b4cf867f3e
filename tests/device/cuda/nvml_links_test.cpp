#include "device/cuda/nvml_links.hpp"

#include <gmock/gmock.h>

#include <cstdlib>

#include "support/stand_in_nvml.hpp"

namespace jitterscope::cuda {

// gtest prints a value that it does not know as bytes.
void PrintTo(const GpuPair& pair, std::ostream* out) { *out << words_of(pair); }

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class NvmlLinksTest : public testing::Test {
 protected:
  void SetUp() override {
    setenv("JITTERSCOPE_NVML", STAND_IN_NVML_LIBRARY, 1);
    setenv(stand_in::kGpus, "2", 1);
    std::string problem;
    gpus_ = NvmlDevice::all(&problem);
    ASSERT_THAT(gpus_, SizeIs(2)) << problem;
  }
  void TearDown() override {
    unsetenv(stand_in::kMissing);
    unsetenv(stand_in::kGpus);
  }
  static std::vector<std::string> lines_of(const std::vector<Property>& properties) {
    std::vector<std::string> lines;
    for (const Property& property : properties) lines.push_back(property.key + " " + property.value);
    return lines;
  }
  std::vector<NvmlDevice> gpus_;
};

TEST_F(NvmlLinksTest, PropertiesSayWhatLinksThereAreAndWhatTheyAreNow) {
  EXPECT_THAT(lines_of(link_properties(gpus_[0])),
              ElementsAre("nvlinks 4", "nvlinks_active 3", "nvlink_version 4", "nvlink_replay_errors 46",
                          "pcie_generation 1", "pcie_width 8", "pcie_maximum_generation 5",
                          "pcie_maximum_width 16", "fabric_state ready"));
  EXPECT_EQ(link_properties(gpus_[1]).back().value, "failed (Insufficient Permissions)");
}

TEST_F(NvmlLinksTest, WhatOldLibrariesLackIsLeftOut) {
  setenv(stand_in::kMissing,
         "nvmlDeviceGetNvLinkState,nvmlDeviceGetGpuFabricInfo,nvmlDeviceGetCurrPcieLinkGeneration,"
         "nvmlDeviceGetMaxPcieLinkGeneration,nvmlDeviceGetMaxPcieLinkWidth",
         1);
  EXPECT_THAT(lines_of(link_properties(gpus_[0])), ElementsAre("pcie_width 8"));
  setenv(stand_in::kMissing, "nvmlDeviceGetNvLinkErrorCounter,nvmlDeviceGetNvLinkVersion", 1);
  const auto links = nv_links(gpus_[0]);
  ASSERT_TRUE(links);
  EXPECT_EQ(links->active, 3);
  EXPECT_FALSE(links->version || links->replay_errors);
}

TEST_F(NvmlLinksTest, APairCountsTheLinksThatLeadToIt) {
  const GpuPair direct = describe_pair(gpus_[0], gpus_[1]);
  EXPECT_EQ(
      direct,
      (GpuPair{
          .nvlinks = 2, .reads = "ok", .writes = "switched_off", .atomics = "unknown", .meet_at = "node"}));
  EXPECT_EQ(words_of(direct), "NV2");
  EXPECT_EQ(describe_pair(gpus_[1], gpus_[0]).nvlinks, 4) << "a switch leads to every GPU";
}

TEST_F(NvmlLinksTest, APairWithoutNvLinkMeetsAtTheHost) {
  setenv(stand_in::kMissing, "nvmlDeviceGetNvLinkState", 1);
  EXPECT_EQ(words_of(describe_pair(gpus_[0], gpus_[1])), "node");
  EXPECT_EQ(words_of({.reads = "chipset", .meet_at = "system"}), "system, no peer access");
  setenv(stand_in::kMissing,
         "nvmlDeviceGetNvLinkState,nvmlDeviceGetP2PStatus,nvmlDeviceGetTopologyCommonAncestor", 1);
  EXPECT_EQ(words_of(describe_pair(gpus_[0], gpus_[1])), "unknown");
}

}  // namespace
}  // namespace jitterscope::cuda
