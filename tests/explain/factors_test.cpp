// Each factor sets what it says and nothing else, and says where it cannot be switched.
#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <set>

#include "device/operands.hpp"
#include "explain/factors.hpp"

namespace jitterscope::explain {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

FactorContext gpu() {
  FactorContext context;
  context.device.power_limit = Watts(700);
  context.device.last_level_cache = Bytes(60 << 20);
  context.engines = {"engine 1", "engine 2"};
  context.alignment = Bytes(2);
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

TEST(Factors, ShortLoopsNeedATimerThatIsFineEnough) {
  FactorContext context = gpu();
  context.launch_time = microseconds(4);
  context.timer_grain = Nanoseconds(32);
  EXPECT_EQ(factor("launches", context).doses.size(), 3u);
  context.timer_grain = Nanoseconds(120);  // 3 % of a launch: of three launches 1.7 %
  EXPECT_EQ(factor("launches", context).doses.size(), 2u);
  EXPECT_THAT(factor("launches", context).note, HasSubstr("too coarse"));
  context.timer_grain = microseconds(1);
  EXPECT_EQ(factor("launches", context).doses.size(), 1u);  // the longer one
  context.launch_time = milliseconds(10);
  EXPECT_EQ(factor("launches", context).usual, "a loop of 10");
}

TEST(Factors, DosesThatGrowDoSo) {
  EXPECT_LT(with("idle", 0).idle, with("idle", 2).idle);
  EXPECT_EQ(with("load", 0).load, with("load", 1).load);
  EXPECT_LT(with("load", 0).load_duty, with("load", 1).load_duty);
  EXPECT_LT(with("load", 1).load, with("load", 2).load);
  EXPECT_LT(with("traffic", 0).traffic, with("traffic", 2).traffic);
  EXPECT_EQ(with("traffic", 2).traffic, Bytes(60 << 20));
  EXPECT_LT(with("host_delay", 0).host_delay, with("host_delay", 2).host_delay);
  EXPECT_EQ(with("host_scheduling", 0).core_shared, 0.0);
  EXPECT_EQ(with("host_scheduling", 3).core_shared, 1.0);
  for (const char* id : {"neighbour_kernels", "neighbour_memory", "neighbour_link"}) {
    EXPECT_LT(with(id, 0).neighbour->duty, with(id, 1).neighbour->duty) << id;
    EXPECT_EQ(with(id, 2).neighbour->duty, 1.0) << id;
    EXPECT_FALSE(with(id, 2).companion) << id;
  }
  EXPECT_EQ(with("neighbour_memory", 2).neighbour->work, CompanionWork::memory);
  EXPECT_GT(with("heap", 0).heap_piece, with("heap", 1).heap_piece);
  EXPECT_EQ(with("heap", 2).heap_piece, 1);
  for (const char* id : {"contention_kernels", "contention_memory", "contention_link"}) {
    EXPECT_LT(with(id, 0).companion->duty, with(id, 1).companion->duty) << id;
    EXPECT_EQ(with(id, 2).companion->duty, 1.0) << id;
    EXPECT_EQ(with(id, 0).companion->work, with(id, 2).companion->work) << id;
  }
  for (const char* id : {"idle", "load", "traffic", "host_delay", "host_scheduling", "contention_memory",
                         "data", "heap", "neighbour_kernels"}) {
    EXPECT_TRUE(factor(id).doses_grow) << id;
  }
}

TEST(Factors, OthersAreSwitchedToWhatTheySay) {
  EXPECT_EQ(with("cache", 0).cache, CacheState::cold);
  EXPECT_EQ(with("cache", 1).cache, CacheState::produced);
  EXPECT_EQ(with("cache", 2).cache, CacheState::dirty);
  EXPECT_EQ(with("queue", 1).queue, QueueMode::saturated);
  EXPECT_EQ(with("synchronization", 0).wait, WaitBehindEach::usual);
  EXPECT_EQ(with("synchronization", 1).wait, WaitBehindEach::polling);
  EXPECT_EQ(with("synchronization", 2).wait, WaitBehindEach::asleep);
  EXPECT_EQ(with("allocator", 0).allocator, MemorySource::driver);
  EXPECT_EQ(with("allocator", 1).allocator, MemorySource::pool);
  EXPECT_EQ(with("launches", 2).launches, 1);
  EXPECT_EQ(with("row_stride", 0).rows, RowStride{.padding = 8});
  EXPECT_EQ(with("row_stride", 1).rows, RowStride{.padding = 64});
  EXPECT_EQ(with("row_stride", 2).rows, RowStride{.power_of_two = true});
  EXPECT_EQ(with("data", 0).data, DataKind::uniform);
  EXPECT_EQ(with("data", 1).data, DataKind::sparse);
  EXPECT_EQ(with("data", 2).data, DataKind::zeros);
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
  cpu.device.capabilities.allocates_memory = false;
  cpu.device.capabilities.runs_queues_beside = false;
  for (const char* id :
       {"idle", "load", "traffic", "queue", "host_delay", "synchronization", "engine", "allocator",
        "contention_kernels", "contention_memory", "contention_link", "neighbour_link"}) {
    EXPECT_FALSE(factor(id, cpu).not_available.empty()) << id;
  }
  FactorContext waits = gpu();
  waits.launches_wait = true;
  EXPECT_THAT(factor("queue", waits).not_available, HasSubstr("waits"));
  FactorContext simulated = gpu();
  simulated.device.capabilities.is_simulated = true;
  simulated.alignment.reset();
  EXPECT_THAT(factor("host_scheduling", simulated).not_available, HasSubstr("simulated host"));
  EXPECT_THAT(factor("alignment", simulated).not_available, HasSubstr("no addresses"));
  for (const char* id : {"neighbour_kernels", "neighbour_memory", "neighbour_link"}) {
    EXPECT_THAT(factor(id, simulated).not_available, HasSubstr("lives in one process")) << id;
  }
  EXPECT_THAT(factor("heap", simulated).not_available, IsEmpty());
  simulated.has_row_strides = false;
  EXPECT_THAT(factor("row_stride", simulated).not_available, HasSubstr("no addresses"));
  FactorContext alone = gpu();
  alone.starts_processes = false;
  EXPECT_THAT(factor("neighbour_kernels", alone).not_available, HasSubstr("from here"));
  EXPECT_THAT(factor("neighbour_kernels", cpu).not_available, IsEmpty());
  FactorContext layer = gpu();
  layer.has_row_strides = layer.lies_in_pages = false;
  EXPECT_THAT(factor("row_stride", layer).not_available, HasSubstr("only a product"));
  EXPECT_THAT(factor("heap", layer).not_available, HasSubstr("where others put them"));
  FactorContext large = gpu();
  large.operand_memory = Bytes((std::int64_t{4} << 30) + 1);
  EXPECT_THAT(factor("heap", large).not_available, HasSubstr("4 GiB"));
  FactorContext pass = gpu();
  pass.fits_queue = false;
  EXPECT_EQ(factor("queue", pass).doses.size(), 1u);
  pass.launch_time = milliseconds(30);
  EXPECT_EQ(factor("launches", pass).doses.size(), 2u);
  FactorContext spin = gpu();
  spin.reads_data = false;
  EXPECT_THAT(factor("data", spin).not_available, HasSubstr("no data"));
}

TEST(Factors, OperandsAreMovedOnlyWhereKernelsCopeWithIt) {
  const auto offsets = [](Bytes alignment) {
    FactorContext context = gpu();
    context.alignment = alignment;
    std::vector<std::int64_t> found;
    for (const Dose& dose : factor("alignment", context).doses) {
      Treatment treatment;
      dose.apply(treatment);
      found.push_back(treatment.offset.value());
    }
    return found;
  };
  EXPECT_THAT(offsets(Bytes(2)), testing::ElementsAre(256, 128, 64, 32, 16, 8, 4, 2));
  EXPECT_THAT(offsets(Bytes(32)), testing::ElementsAre(256, 128, 64, 32));
  EXPECT_THAT(offsets(Bytes(512)), IsEmpty());
}

// What a wire does that carries one value of f32 after the other.
double bits_that_toggle(DataKind kind) {
  constexpr int kValues = 200'000;
  Random random(1);
  std::int64_t toggled = 0;
  std::uint32_t before = 0;
  for (int i = 0; i < kValues; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(draw_value(kind, random)));
    toggled += std::popcount(bits ^ before);
    before = bits;
  }
  return static_cast<double>(toggled) / kValues;
}

TEST(Factors, EachDoseOfDataTogglesFewerBits) {
  double last = bits_that_toggle(DataKind::normal);
  EXPECT_NEAR(last, 13.6, 0.05);
  for (const Dose& dose : factor("data").doses) {
    Treatment treatment;
    dose.apply(treatment);
    const double bits = bits_that_toggle(treatment.data);
    EXPECT_LT(bits, last) << dose.text;
    last = bits;
  }
  EXPECT_NEAR(bits_that_toggle(DataKind::uniform), 13.1, 0.05);
  EXPECT_NEAR(bits_that_toggle(DataKind::sparse), 12.3, 0.05);
  EXPECT_EQ(bits_that_toggle(DataKind::zeros), 0.0);
}

// What leaves the process changed comes behind all that is compared without it.
TEST(Factors, ASecondQueueIsTriedLast) {
  bool is_last = false;
  for (const Factor& each : all_factors(gpu())) {
    EXPECT_GE(each.is_tried_last, is_last) << each.id;
    is_last = each.is_tried_last;
  }
  EXPECT_TRUE(is_last);
}

TEST(Factors, HowOftenAnEngineIsTakenIsKept) {
  FactorContext context = gpu();
  context.engine_note = "of 12 choices, engine 1 was taken 12 times";
  EXPECT_EQ(factor("engine", context).note, context.engine_note);
}

TEST(Factors, PowerAndHeatAreNamedTogether) {
  EXPECT_THAT(factor("load").not_told_from, testing::ElementsAre("power", "temperature"));
}

}  // namespace
}  // namespace jitterscope::explain
