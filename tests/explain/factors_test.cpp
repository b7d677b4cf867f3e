// Each factor sets what it says and nothing else, and says where it cannot be switched.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "explain/factor.hpp"

namespace jitterscope::explain {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

FactorContext gpu() {
  FactorContext context{.operation = Operation(Matmul{.m = 64, .n = 64, .k = 64})};
  context.device.power_limit = Watts(700);
  context.device.last_level_cache = Bytes(60 << 20);
  context.engines = {"engine 1", "engine 2"};
  return context;
}

Factor factor(const std::string& id, const FactorContext& context = gpu()) {
  const std::vector<Factor> all = all_factors(context);
  return *std::ranges::find(all, id, &Factor::id);
}

Treatment with(const std::string& id, std::size_t dose) {
  Treatment treatment;
  factor(id).doses.at(dose).apply(treatment);
  return treatment;
}

TEST(Factors, EveryOneCanBeSwitchedOnAGpu) {
  std::set<std::string> ids;
  for (const Factor& each : all_factors(gpu())) {
    EXPECT_THAT(each.not_available, IsEmpty()) << each.id;
    EXPECT_FALSE(each.doses.empty()) << each.id;
    EXPECT_FALSE(each.cause.empty() || each.usual.empty() || each.remedy.empty()) << each.id;
    EXPECT_TRUE(ids.insert(each.id).second) << each.id;
  }
  EXPECT_EQ(factor_ids().size(), ids.size());
}

TEST(Factors, NoDoseLeavesTheLoopAsItIs) {
  for (const Factor& each : all_factors(gpu())) {
    for (const Dose& dose : each.doses) {
      Treatment treatment;
      dose.apply(treatment);
      EXPECT_NE(treatment, Treatment()) << each.id << ": " << dose.text;
    }
  }
}

TEST(Factors, DosesThatGrowDoSo) {
  EXPECT_LT(with("idle", 0).idle, with("idle", 2).idle);
  EXPECT_LT(with("load", 0).load, with("load", 2).load);
  EXPECT_LT(with("traffic", 0).traffic, with("traffic", 2).traffic);
  EXPECT_EQ(with("traffic", 2).traffic, Bytes(60 << 20));
  EXPECT_LT(with("host_delay", 0).host_delay, with("host_delay", 2).host_delay);
  for (const char* id : {"idle", "load", "traffic", "host_delay"}) EXPECT_TRUE(factor(id).doses_grow) << id;
}

TEST(Factors, OthersAreSwitchedToWhatTheySay) {
  EXPECT_EQ(with("cache", 0).cache, CacheState::cold);
  EXPECT_EQ(with("cache", 1).cache, CacheState::dirty);
  EXPECT_EQ(with("queue", 1).queue, QueueMode::saturated);
  EXPECT_TRUE(with("synchronization", 0).waits_for_each);
  EXPECT_EQ(with("launches", 2).launches, 1);
  EXPECT_EQ(with("data", 1).data, DataKind::zeros);
  EXPECT_EQ(with("engine", 0).engine, "engine 2");
  EXPECT_TRUE(with("instrument", 0).is_own_reading);
}

TEST(Factors, SayWhereTheyCannotBeSwitched) {
  FactorContext cpu = gpu();
  cpu.device.capabilities.is_host = true;
  cpu.device.capabilities.launches_return_early = false;
  cpu.device.power_limit.reset();
  cpu.device.last_level_cache = Bytes(0);
  cpu.engines.clear();
  for (const char* id : {"idle", "load", "traffic", "queue", "host_delay", "synchronization", "engine"}) {
    EXPECT_FALSE(factor(id, cpu).not_available.empty()) << id;
  }
  FactorContext waits = gpu();
  waits.may_be_gated = false;
  EXPECT_THAT(factor("queue", waits).not_available, HasSubstr("waits"));
  FactorContext spin{.operation = Operation(Spin{})};
  EXPECT_THAT(factor("data", spin).not_available, HasSubstr("no data"));
}

TEST(Factors, PowerAndHeatAreNamedTogether) {
  EXPECT_THAT(factor("load").not_told_from, testing::ElementsAre("power", "temperature"));
}

}  // namespace
}  // namespace jitterscope::explain
