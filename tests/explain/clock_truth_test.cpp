// Pairs of simulated GPUs whose clocks alone differ, so that the truth of the clock's part is the whole
// change.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "device/virtual/virtual_device.hpp"
#include "explain/account.hpp"
#include "measure/trials.hpp"
#include "physics/preset.hpp"

namespace jitterscope::explain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

physics::Parameters h200() { return physics::find_preset("h200"); }

// As a preset with `[governor] maximum_clock_mhz = 1500`.
physics::Parameters capped_clock() {
  physics::Parameters parameters = h200();
  parameters.governor.maximum_clock = megahertz(1500);
  return parameters;
}

physics::Parameters capped_power() {
  physics::Parameters parameters = h200();
  parameters.power.cap = Watts(330);
  return parameters;
}

// The first two are bound by memory, the next three by computing or by what feeds it, the last by its launch.
const std::vector<std::string> kNetwork = {"relu:count=16Mi,dtype=bf16",
                                           "add:count=4Mi",
                                           "matmul:m=4096,n=4096,k=4096,dtype=bf16",
                                           "matmul:m=2048,n=2048,k=2048,dtype=tf32",
                                           "conv2d:n=32,c=128,hw=28,k=128,rs=3,pad=1,dtype=tf32",
                                           "relu:count=1024"};
const std::vector<std::string> kFew = {kNetwork[2], kNetwork[0]};

RunRecord measured_on(const physics::Parameters& gpu, const std::vector<std::string>& operations, Load load,
                      std::uint64_t seed) {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {load};
  options.time_limit = seconds(1.5);
  options.sustained_time_limit = seconds(20);
  options.seed = seed;
  const auto device = virtual_gpu::make_virtual_device(gpu, seed);
  Session session(*device);
  std::vector<Operation> parsed;
  for (const std::string& operation : operations) parsed.push_back(Operation::parse(operation));
  RunRecord record;
  record.device = device->describe();
  for (Outcome& outcome : measure_trials(session, trials_of(parsed, options), false)) {
    RunEntry& entry = record.entries.emplace_back();
    entry.layers = {operations[record.entries.size() - 1]};
    entry.count = 2;
    entry.result = std::move(outcome.result);
  }
  return record;
}

const RatioEstimate* clock_of(const auto& account) {
  const auto found = std::ranges::find(account.parts, "clock", [](const auto& part) { return part.name; });
  return found == account.parts.end() || !found->ratio ? nullptr : &*found->ratio;
}

// Nothing differs but the clock: its interval holds the change, but for what is not known of the change, and
// nothing is left.
bool is_true(const auto& account) {
  const RatioEstimate* clock = clock_of(account);
  const bool holds = clock == nullptr || (clock->low <= account.time.high && account.time.low <= clock->high);
  return holds && account.is_explained();
}

void expect_truth_of_all(const physics::Parameters& first, Load first_load, const physics::Parameters& second,
                         Load second_load) {
  // Settling under load is long to simulate.
  const bool is_loaded = first_load == Load::sustained || second_load == Load::sustained;
  const std::vector<std::string> operations = is_loaded ? kFew : kNetwork;
  const std::uint64_t seeds = is_loaded ? 2 : 6;
  std::vector<std::string> wrong;
  std::size_t all = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const RunRecord a = measured_on(first, operations, first_load, seed),
                    b = measured_on(second, operations, second_load, seed + 50);
    for (const auto& accounts : {account_for(a, b), account_for(b, a)}) {
      ASSERT_EQ(accounts.size(), operations.size());
      for (const Account& account : accounts) {
        ++all;
        if (!is_true(account)) wrong.push_back(name_of(account) + ", seed " + std::to_string(seed));
      }
      EXPECT_TRUE(is_true(*total_of(accounts))) << "all, seed " << seed;
    }
  }
  // Of 95 % intervals of the time as many miss it, where the clock does nothing at all.
  EXPECT_LE(wrong.size(), all / 20) << testing::PrintToString(wrong);
}

TEST(ClockTruth, AnotherMaximumClockAccountsForAll) {
  expect_truth_of_all(h200(), Load::burst, capped_clock(), Load::burst);
}

TEST(ClockTruth, UnderSustainedLoadToo) {
  expect_truth_of_all(h200(), Load::sustained, capped_clock(), Load::sustained);
}

TEST(ClockTruth, APowerLimitAccountsForAllByTheClock) {
  expect_truth_of_all(h200(), Load::sustained, capped_power(), Load::sustained);
}

TEST(ClockTruth, ALoadThatHeatsAccountsForAllByTheClock) {
  expect_truth_of_all(h200(), Load::burst, h200(), Load::sustained);
}

TEST(ClockTruth, WhatIsBoundByMemoryIsKnownToIgnoreTheClock) {
  const std::vector<std::string> relu = {"relu:count=16Mi,dtype=bf16"};
  const Account account = account_for(measured_on(h200(), relu, Load::burst, 1),
                                      measured_on(capped_clock(), relu, Load::burst, 2))
                              .front();
  const RatioEstimate* clock = clock_of(account);
  ASSERT_NE(clock, nullptr);
  EXPECT_LT(clock->high, 1.2) << "its own fits say more than that the clock may do all that it can, 32 %";
}

TEST(ClockTruth, TheMaximumClockIsNamedFirst) {
  const RunRecord a = measured_on(h200(), kFew, Load::burst, 1),
                  b = measured_on(capped_clock(), kFew, Load::burst, 2);
  const std::vector<std::string> said = conclusions_of(account_for(a, b));
  EXPECT_THAT(said.at(1), AllOf(HasSubstr("maximum clock 1980 MHz, then 1500 MHz"),
                                Not(HasSubstr("may come")), Not(HasSubstr("stays"))));
  EXPECT_THAT(said.at(2), HasSubstr("maximum clock 1980 MHz, then 1500 MHz"));
}

}  // namespace
}  // namespace jitterscope::explain
