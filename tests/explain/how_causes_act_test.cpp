// By which way causes act, on a scripted GPU whose clock is known.
#include "explain/how_causes_act.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "support/scripted_device.hpp"

namespace jitterscope::explain {
namespace {

// The clock that this GPU has at a time, and a launch of as many cycles as 100 us have at the highest clock.
class ClockThatClimbs : public testing::Test {
 protected:
  static constexpr double kHighest = 1980.0;  // MHz

  static scripted::Script script(const Nanoseconds& since, Nanoseconds climb) {
    scripted::Script script;
    script.clock = [&since, climb](Nanoseconds time) {
      const double share = std::clamp((time - since) / climb, 0.0, 1.0);
      return megahertz(kHighest * (0.7 + 0.3 * share));
    };
    script.launch_time = [](const scripted::LaunchContext& launch) {
      return microseconds(100.0 * kHighest / (launch.clock.value() / 1e6));
    };
    return script;
  }

  // The effect of nothing, from when the clock begins to climb.
  std::optional<RestedEffect> effect_of_nothing(Nanoseconds climb, Nanoseconds time_limit) {
    Nanoseconds since;
    scripted::ScriptedDevice device(script(since, climb));
    Session session(device);
    TreatedLoop bench(session, Operation::parse("relu:count=1Mi"), 1);
    since = device.host_time();
    Random random(1);
    return effect_at_low_duty(bench, Treatment(), time_limit, random,
                              {[] { return false; }, [](const std::string&, double) {}});
  }
};

TEST_F(ClockThatClimbs, NoPairIsTakenBeforeItIsSteady) {
  const auto effect = effect_of_nothing(milliseconds(200), seconds(1));
  ASSERT_TRUE(effect && effect->clock);
  EXPECT_NEAR(effect->clock->ratio, 1.0, 1e-6);
  EXPECT_LT(effect->clock->high - effect->clock->low, 1e-6) << "each pair has the same clock";
}

TEST_F(ClockThatClimbs, OneThatClimbsAllTheTimeTellsNothing) {
  EXPECT_FALSE(effect_of_nothing(seconds(2), milliseconds(100)));
}

}  // namespace
}  // namespace jitterscope::explain
