// Switching one mechanism off changes its own effect and nothing else.
#include <gtest/gtest.h>

#include <algorithm>

#include "physics/kernel_time.hpp"
#include "physics/power_and_clocks.hpp"
#include "physics/preset.hpp"
#include "physics_support.hpp"

namespace jitterscope::physics {
namespace {

constexpr std::uint64_t kSeed = 21;

std::vector<Mechanism> mechanisms() {
  std::vector<Mechanism> all;
  for (std::size_t i = 0; i < kMechanisms; ++i) all.push_back(static_cast<Mechanism>(i));
  return all;
}

/// What one stream gives, by the mechanisms that it belongs to.
struct Values {
  std::vector<Mechanism> owners;
  std::vector<double> values;
};

std::vector<Values> values_of(const Parameters& p) {
  const auto collect = [](auto draw) {
    std::vector<double> values;
    for (int i = 0; i < 300; ++i) values.push_back(draw(i));
    return values;
  };
  LaunchNoise noise(p, kSeed);
  WanderingClock wandering(p, kSeed);
  OtherProcess other(p, kSeed);
  HostCosts host(p, kSeed);
  Timers timers(p, kSeed);
  Machine machine(p, kSeed);

  return {
      {{Mechanism::noise, Mechanism::spikes, Mechanism::drift, Mechanism::process_effect,
        Mechanism::device_effect},
       collect([&](int i) { return noise.draw(milliseconds(i)); })},
      {{Mechanism::clock_states}, collect([&](int) {
         const double dwell = wandering.busy_time_left().value();
         wandering.spend(wandering.busy_time_left());
         return dwell;
       })},
      {{Mechanism::contention},
       collect([&](int i) { return other.is_active(milliseconds(100.0 * i)) ? 1.0 : 0.0; })},
      {{Mechanism::host_gaps},
       collect([&](int) { return host.launch().value() + host.synchronize().value(); })},
      {{Mechanism::instrument, Mechanism::timer_grain},
       collect([&](int i) { return timers.read_mark(microseconds(i)).value(); })},
      {{Mechanism::placement}, collect([&](int) { return machine.draw_placement(); })},
  };
}

TEST(RandomStreams, OthersStayAsTheyWere) {
  const Parameters p = find_preset("hostile");
  const std::vector<Values> with = values_of(p);
  for (const Mechanism off : mechanisms()) {
    const std::vector<Values> without = values_of(p.without(off));
    for (std::size_t i = 0; i < with.size(); ++i) {
      const auto& owners = with[i].owners;
      const bool own = std::find(owners.begin(), owners.end(), off) != owners.end();
      EXPECT_EQ(with[i].values != without[i].values, own) << to_string(off) << " and stream " << i;
    }
  }
}

TEST(RandomStreams, APartOfTheNoiseGoesAlone) {
  const Parameters p = find_preset("hostile");
  LaunchNoise all(p, kSeed), no_spikes(p.without(Mechanism::spikes), kSeed),
      no_noise(p.without(Mechanism::noise), kSeed),
      neither(p.without(Mechanism::noise).without(Mechanism::spikes), kSeed);
  for (int i = 0; i < 1000; ++i) {
    const Nanoseconds now = microseconds(130.0 * i);
    // Factors: what the spikes multiply by is the same with and without the noise.
    EXPECT_NEAR(all.draw(now) / no_spikes.draw(now), no_noise.draw(now) / neither.draw(now), 1e-12);
  }
}

TEST(RandomStreams, TheSameCallsGiveTheSameTimes) {
  const Parameters p = find_preset("hostile");
  const auto ends = [&](std::uint64_t seed) {
    Machine machine(p, seed);
    KernelWork work = cycles_work(1e5, 0.9);
    work.accesses = {{machine.allocate(Bytes(1'000'000)), Bytes(1'000'000), true}};
    std::vector<double> values;
    for (const Execution& execution : run_until(machine, work, seconds(1))) {
      values.push_back(execution.end.value());
    }
    return values;
  };
  EXPECT_EQ(ends(kSeed), ends(kSeed));
  EXPECT_NE(ends(kSeed), ends(kSeed + 1));
}

TEST(Mechanisms, HaveDifferentNames) {
  std::vector<std::string_view> names;
  for (const Mechanism mechanism : mechanisms()) {
    EXPECT_EQ(std::count(names.begin(), names.end(), to_string(mechanism)), 0);
    names.push_back(to_string(mechanism));
    EXPECT_FALSE(names.back().empty());
  }
}

}  // namespace
}  // namespace jitterscope::physics
