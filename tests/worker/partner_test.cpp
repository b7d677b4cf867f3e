#include "worker/partner.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

// A worker that answers once it has been listened to so many times; never if that is negative.
class SlowPartner final : public Partner {
 public:
  explicit SlowPartner(int silent) : silent_(silent) {}
  std::string name() const override { return "slow"; }
  std::int64_t parent() const override { return 0; }
  void tell(std::string_view) override {}
  std::optional<std::string> hear(int) override {
    return silent_ != 0 ? (--silent_, std::nullopt) : std::optional<std::string>("answer");
  }
  std::string phase() const override { return "writing"; }

 private:
  int silent_;
};

std::vector<std::unique_ptr<Partner>> partners(int silent) {
  std::vector<std::unique_ptr<Partner>> all;
  all.push_back(std::make_unique<SlowPartner>(0));
  all.push_back(std::make_unique<SlowPartner>(silent));
  return all;
}

TEST(HearAll, AnInterruptionLeavesTimeForAnAnswer) {
  EXPECT_THAT(hear_all(partners(3), seconds(60), [] { return true; }),
              testing::ElementsAre("answer", "answer"));
}

TEST(HearAll, AfterAnInterruptionNobodyIsWaitedForLong) {
  EXPECT_THROW(hear_all(partners(-1), seconds(600), [] { return true; }), InterruptedError);
}

TEST(HearAll, WithoutOneTheSilentIsNamed) {
  EXPECT_THAT([] { hear_all(partners(-1), milliseconds(1), [] { return false; }); },
              testing::ThrowsMessage<FailedError>(testing::HasSubstr("from slow (last at writing)")));
}

}  // namespace
}  // namespace jitterscope
