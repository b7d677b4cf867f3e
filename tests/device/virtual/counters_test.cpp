// What the model of a simulated GPU counts, against what its caches are known to do.
#include <gmock/gmock.h>

#include "device/virtual/gpus.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// Of one launch, prepared as for times.
CounterReading counted(Bench& bench, PreparedOperation& operation, CacheState cache,
                       const std::vector<std::string>& names = {}) {
  const auto reader = bench.device->count(names);
  return reader->read(
      [&] {
        bench.queue->launch(operation);
        bench.queue->set_cache(cache, operation);
        bench.queue->wait();
      },
      [&] {
        bench.queue->launch(operation);
        bench.queue->wait();
      });
}

std::optional<double> value_of(const CounterReading& reading, CounterQuantity quantity) {
  for (const CounterValue& value : reading.values) {
    if (value.quantity == quantity) return value.value;
  }
  ADD_FAILURE() << "not read: " << to_string(quantity);
  return std::nullopt;
}

// 4 KiB are read and 4 KiB written, and all of it fits the cache.
constexpr const char* kSmall = "relu:count=1024";

TEST(VirtualCounters, AWarmLaunchHitsAndAColdOneReadsItsInputOnce) {
  Bench bench;
  const auto relu = bench.prepare(kSmall);
  const CounterReading warm = counted(bench, *relu, CacheState::warm);
  EXPECT_EQ(warm.passes, 1);
  EXPECT_EQ(value_of(warm, CounterQuantity::dram_bytes_read), 0.0);
  EXPECT_EQ(value_of(warm, CounterQuantity::l2_hit_rate), 100.0);
  const CounterReading cold = counted(bench, *relu, CacheState::cold);
  EXPECT_EQ(value_of(cold, CounterQuantity::dram_bytes_read), 4096.0);
  EXPECT_EQ(value_of(cold, CounterQuantity::dram_bytes_written), 0.0);
  EXPECT_EQ(value_of(cold, CounterQuantity::l2_hit_rate), 50.0);
}

TEST(VirtualCounters, OthersModifiedLinesAreWrittenByWhoNeedsTheirPlace) {
  physics::Parameters gpu = plain_gpu();
  gpu.off[static_cast<std::size_t>(physics::Mechanism::dirty_lines)] = false;
  Bench bench(gpu);
  const auto relu = bench.prepare(kSmall);
  EXPECT_EQ(value_of(counted(bench, *relu, CacheState::dirty), CounterQuantity::dram_bytes_written), 8192.0);
}

TEST(VirtualCounters, TensorUnitsWorkForProductsOfTypesThatTheyTake) {
  Bench bench;
  const auto tensor = [&](const char* operation) {
    const auto prepared = bench.prepare(operation);
    return value_of(counted(bench, *prepared, CacheState::warm), CounterQuantity::tensor_active).value();
  };
  EXPECT_EQ(tensor(kSmall), 0.0);
  EXPECT_EQ(tensor("matmul:m=2048,n=2048,k=2048,dtype=f32"), 0.0);
  const double half = tensor("matmul:m=2048,n=2048,k=2048,dtype=f16");
  EXPECT_GT(half, 30.0);
  EXPECT_LE(half, 100.0);
}

TEST(VirtualCounters, NamedOnesComeInTheirOrderAndAgreeWithTheTruth) {
  Bench bench;
  const auto relu = bench.prepare(kSmall);
  const CounterReading reading =
      counted(bench, *relu, CacheState::cold, {"gpu__time_duration.sum", "sm__cycles_elapsed.avg"});
  ASSERT_EQ(reading.values.size(), 2u);
  EXPECT_EQ(reading.values[0].unit, "nanosecond");
  EXPECT_EQ(reading.values[0].value, bench.ran.back().time().value());
  EXPECT_EQ(reading.values[1].value, bench.ran.back().cycles.value());
}

TEST(VirtualCounters, NothingIsCountedOutsideOfALaunch) {
  Bench bench;
  const auto relu = bench.prepare(kSmall);
  const auto reader = bench.device->count({"sm__cycles_elapsed.avg", "lts__t_sector_hit_rate.pct"});
  bench.queue->launch(*relu);  // still to run when the reading begins
  const CounterReading reading = reader->read([&] { bench.queue->launch(*relu); }, [] {});
  EXPECT_EQ(reading.values[0].value, 0.0);
  EXPECT_EQ(reading.values[1].value, std::nullopt) << "a share of nothing";
}

TEST(VirtualCounters, AnUnknownNameNamesTheNearest) {
  Bench bench;
  try {
    bench.device->check_counters({"dram__bytes_raed.sum"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("(did you mean 'dram__bytes_read.sum'?)"));
  }
  EXPECT_THROW(bench.device->count({"nonsense"}), UsageError);
  EXPECT_EQ(bench.device->list_counters().size(), 6u);
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
