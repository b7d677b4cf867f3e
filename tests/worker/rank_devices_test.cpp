#include "worker/rank_devices.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "worker/fresh_processes.hpp"
#include "worker/simulated_pair.hpp"

namespace jitterscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Ranks that have told of their devices before this one, which is the last.
class LastOfRanks final : public Ranks {
 public:
  int rank() const override { return static_cast<int>(others.size()); }
  int count() const override { return rank() + 1; }
  std::vector<std::string> exchange(const std::string& own) override {
    said = own;
    std::vector<std::string> all = others;
    all.push_back(own);
    return all;
  }

  std::vector<std::string> others;
  std::string said;
};

DeviceDescription gpu(const std::string& id, const std::string& uuid) {
  DeviceDescription device;
  device.id = id;
  device.uuid = uuid;
  return device;
}

// What a rank with this device says.
std::string told_by(const DeviceDescription& device) {
  LastOfRanks alone;
  require_device_of_its_own(alone, device);
  return alone.said;
}

TEST(DevicesOfRanks, AreTheirOwn) {
  LastOfRanks ranks;
  ranks.others = {told_by(gpu("cuda:0", "GPU-a")), told_by(gpu("cuda:1", "GPU-b"))};
  EXPECT_NO_THROW(require_device_of_its_own(ranks, gpu("cuda:0", "GPU-c"))) << "a number of another host";
  try {
    require_device_of_its_own(ranks, gpu("cuda:0", "GPU-b"));
    FAIL() << "two ranks have one GPU";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("GPU-b (cuda:0), is also that of rank 1 ("), HasSubstr("cuda:1)"),
                      HasSubstr("--gpus-per-task=1"), HasSubstr("CUDA_VISIBLE_DEVICES")));
  }
}

TEST(DevicesOfRanks, ThatAreSimulatedHaveNoUuid) {
  LastOfRanks ranks;
  ranks.others = {told_by(gpu("virtual:h200", ""))};
  EXPECT_NO_THROW(require_device_of_its_own(ranks, gpu("virtual:h200", "")));
}

TEST(DevicesOfRanks, AreToldByEach) {
  LastOfRanks ranks;
  ranks.others = {"2.28.9"};
  EXPECT_THROW(require_device_of_its_own(ranks, gpu("cuda:0", "GPU-a")), FailedError);
}

// Before anything is measured, collective or not.
TEST(CarryOut, ComparesTheDevicesOfItsRanks) {
  LastOfRanks ranks;
  ranks.others = {"nothing"};
  WorkerListeners listeners = test::kNoListeners;
  listeners.ranks = &ranks;
  EXPECT_THROW(carry_out(test::pair_of("add:count=1Mi", "mul:count=1Mi", 3), listeners), FailedError);
  EXPECT_THAT(ranks.said, testing::StartsWith("the comparison of their devices\n"));
}

}  // namespace
}  // namespace jitterscope
