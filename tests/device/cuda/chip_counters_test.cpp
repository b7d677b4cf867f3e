// With CUPTI itself, whose host side needs no GPU: the counters that are read by default are there, and cost
// the passes that the guide says.
#include "device/cuda/cupti/range_profiler.hpp"

#include <gmock/gmock.h>

#include "jitterscope/error.hpp"

namespace jitterscope::cuda {
namespace {

class ChipCountersTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      range_profiler();
    } catch (const MissingError& error) {
      GTEST_SKIP() << error.what();
    }
  }
};

class DefaultSetTest : public ChipCountersTest, public testing::WithParamInterface<const char*> {};

TEST_P(DefaultSetTest, IsThereInFewPasses) {
  CounterHost host(GetParam());
  const std::vector<Counter> counters = ChipCounters(host).default_set();
  std::set<CounterQuantity> quantities;
  for (const Counter& counter : counters) {
    quantities.insert(counter.quantity);
    EXPECT_FALSE(counter.unit.empty()) << counter.name;
    EXPECT_FALSE(counter.description.empty()) << counter.name;
  }
  EXPECT_EQ(quantities.size(), 7u) << "all but other";
  EXPECT_FALSE(quantities.contains(CounterQuantity::other));
  EXPECT_LE(host.schedule(names_of(counters)).passes, 7u);
}
// Data centre chips from Ampere on, and consumer chips, whose names for DRAM differ.
INSTANTIATE_TEST_SUITE_P(Chips, DefaultSetTest,
                         testing::Values("TU102", "GA100", "GA102", "AD102", "GH100", "GB100", "GB202"));

TEST_F(ChipCountersTest, OfAllListedNamesEachIsTaken) {
  CounterHost host("GH100");
  const ChipCounters chip(host);
  const std::vector<Counter> all = chip.all();
  EXPECT_GT(all.size(), 3000u);
  std::vector<std::string> some;
  for (std::size_t i = 0; i < all.size(); i += 97) some.push_back(all[i].name);
  EXPECT_EQ(names_of(chip.find(some)), some);
  for (const std::string& name : some) EXPECT_TRUE(host.properties(name)) << name;
}

TEST_F(ChipCountersTest, OldNamesOfNvprofHaveNoneOfThem) {
  CounterHost host("GH100");
  EXPECT_THROW(ChipCounters(host).find({"dram_read_transactions"}), UsageError);
  EXPECT_THROW(CounterHost("NV1"), MissingError);
}

}  // namespace
}  // namespace jitterscope::cuda
