// A plan and an error, as one process hands them to another.
#include "worker/worker_plan.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

// Nothing is as it is by default.
MeasureOptions unusual_options() {
  MeasureOptions options;
  options.caches = {CacheState::dirty, CacheState::produced};
  options.loads = {Load::sustained};
  options.queue = QueueMode::eager;
  options.instrument = Instrument::cupti;
  options.precision = 0.0123;
  options.reference_clock = megahertz(1410);
  options.minimum_rounds = 17;
  options.time_limit = seconds(2.5);
  options.sustained_time_limit = seconds(33);
  options.shortest_idle = milliseconds(1);
  options.longest_idle = milliseconds(3);
  options.conditioning_launches = 5;
  options.launches_per_round = 11;
  options.warm_up = false;
  options.data = DataKind::sparse;
  options.locked_clock = megahertz(1500);
  options.placement = 4;
  options.fresh_data = true;
  options.iterations = {1, 10, 1000};
  options.load_probe = true;
  options.kernels = true;
  options.counters = std::vector<std::string>{"dram__bytes_read.sum"};
  options.process_variation = ProcessVariation{.placed = 0.01, .fixed = 0.02, .degrees_of_freedom = 6};
  options.seed = (std::uint64_t{1} << 53) - 1;
  return options;
}

WorkerPlan some_plan() {
  WorkerPlan plan{.device = "virtual:h200,without=noise", .device_seed = 12345, .parent = 678, .plan = {}};
  plan.plan.groups = {{{Operation::parse("add:count=1024"), unusual_options()},
                       {Operation::parse("add:count=2048"), unusual_options()}}};
  plan.plan.verify = true;
  plan.plan.ceilings = false;
  plan.plan.trace_kernels = true;
  plan.plan.links = true;
  return plan;
}

TEST(WorkerPlan, IsReadAsItWasWritten) {
  const WorkerPlan read = read_plan(write_plan(some_plan()));
  EXPECT_EQ(read.device, "virtual:h200,without=noise");
  EXPECT_EQ(read.device_seed, 12345u);
  EXPECT_EQ(read.parent, 678);
  EXPECT_TRUE(read.plan.verify);
  EXPECT_FALSE(read.plan.ceilings);
  EXPECT_TRUE(read.plan.trace_kernels);
  EXPECT_TRUE(read.plan.links);
  ASSERT_EQ(read.plan.groups.size(), 1u);
  ASSERT_EQ(read.plan.groups[0].size(), 2u);
  EXPECT_EQ(*read.plan.groups[0][1].operation(), Operation::parse("add:count=2048"));
  EXPECT_EQ(write_plan(read), write_plan(some_plan()));
}

TEST(WorkerPlan, CarriesEachOption) {
  const MeasureOptions wanted = unusual_options();
  const MeasureOptions read = read_plan(write_plan(some_plan())).plan.groups[0][0].options;
  EXPECT_EQ(read.caches, wanted.caches);
  EXPECT_EQ(read.loads, wanted.loads);
  EXPECT_EQ(read.queue, wanted.queue);
  EXPECT_EQ(read.instrument, wanted.instrument);
  EXPECT_EQ(read.precision, wanted.precision);
  EXPECT_EQ(read.reference_clock, wanted.reference_clock);
  EXPECT_EQ(read.minimum_rounds, wanted.minimum_rounds);
  EXPECT_NEAR(read.time_limit.value(), wanted.time_limit.value(), 1.0);
  EXPECT_NEAR(read.sustained_time_limit.value(), wanted.sustained_time_limit.value(), 1.0);
  EXPECT_NEAR(read.shortest_idle.value(), wanted.shortest_idle.value(), 1.0);
  EXPECT_NEAR(read.longest_idle.value(), wanted.longest_idle.value(), 1.0);
  EXPECT_EQ(read.conditioning_launches, wanted.conditioning_launches);
  EXPECT_EQ(read.launches_per_round, wanted.launches_per_round);
  EXPECT_EQ(read.warm_up, wanted.warm_up);
  EXPECT_EQ(read.data, wanted.data);
  EXPECT_EQ(read.locked_clock, wanted.locked_clock);
  EXPECT_EQ(read.placement, wanted.placement);
  EXPECT_EQ(read.fresh_data, wanted.fresh_data);
  EXPECT_EQ(read.iterations, wanted.iterations);
  EXPECT_EQ(read.load_probe, wanted.load_probe);
  EXPECT_EQ(read.kernels, wanted.kernels);
  EXPECT_EQ(read.counters, wanted.counters);
  ASSERT_TRUE(read.process_variation);
  EXPECT_EQ(read.process_variation->placed, wanted.process_variation->placed);
  EXPECT_EQ(read.process_variation->degrees_of_freedom, 6);
  EXPECT_EQ(read.seed, wanted.seed);
}

TEST(WorkerPlan, WhatWasNotAskedForStaysSo) {
  WorkerPlan plan{.device = "cpu", .plan = {}};
  plan.plan.groups = {{{Operation::parse("add:count=8"), MeasureOptions()}}};
  const WorkerPlan read = read_plan(write_plan(plan));
  const MeasureOptions& options = read.plan.groups[0][0].options;
  EXPECT_FALSE(options.instrument || options.reference_clock || options.launches_per_round ||
               options.locked_clock || options.placement || options.process_variation);
  EXPECT_EQ(options.caches, MeasureOptions().caches);
  EXPECT_FALSE(read.plan.verify);
  EXPECT_TRUE(read.plan.ceilings);
}

TEST(WorkerPlan, HoldsAnyOperation) {
  for (const char* text :
       {"conv2d:n=2,c=6,hw=8,k=4,rs=3,stride=2,pad=1,dtype=f16,layout=nhwc,direction=wgrad",
        "matmul:m=64,n=32,k=16,batch=3,dtype=bf16,ta=1", "spin:ns=1000", "copy:bytes=4096",
        "conv2d:n=2,c=6,hw=8,k=4,rs=3,engine=pytorch", "aten::add.Tensor(f32[8,16],f32[8,16]{1,8},alpha=2)",
        "aten::index.Tensor(f32[4,4],[None,i64[2]])",
        "aten::gelu(bf16[2,0,3],approximate=\"ta\\\"nh\\\\\\x0a\\xff\")",
        "aten::masked_fill.Scalar(f32[4],bool[4],-inf)"}) {
    WorkerPlan plan = some_plan();
    try {
      plan.plan.groups = {{{Operation::parse(text), MeasureOptions()}}};
    } catch (const Error& error) {
      ADD_FAILURE() << text << ": " << error.what();
      continue;
    }
    EXPECT_EQ(*read_plan(write_plan(plan)).plan.groups[0][0].operation(), Operation::parse(text)) << text;
  }
}

std::string refusal_of_plan(const std::string& text) {
  try {
    read_plan(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "read";
}

std::string changed(const std::string& pointer, const json& value) {
  json document = json::parse(write_plan(some_plan()));
  document[json::json_pointer(pointer)] = value;
  return document.dump();
}

TEST(WorkerPlan, DamageIsNamedByItsPlace) {
  EXPECT_THAT(refusal_of_plan(changed("/groups/0/1/options/seed", -1)),
              testing::StartsWith("plan: groups[0][1].options.seed: a whole number"));
  EXPECT_THAT(refusal_of_plan(changed("/groups/0/0/operation", "add:count=0")),
              testing::StartsWith("plan: groups[0][0].operation: "));
  EXPECT_THAT(refusal_of_plan(changed("/groups/0/0/options/caches/1", "luke")),
              HasSubstr("groups[0][0].options.caches[1]: unknown word 'luke'"));
  EXPECT_THAT(refusal_of_plan(changed("/groups/0/0", 3)), HasSubstr("plan: groups[0][0]: an object"));
  EXPECT_THAT(refusal_of_plan(changed("/device", json::array())), HasSubstr("plan: device: "));
  EXPECT_THAT(refusal_of_plan(changed("/groups", json::array())), HasSubstr("groups is empty"));
  EXPECT_THAT(refusal_of_plan(changed("/groups/0", json::array())), HasSubstr("a group has no trial"));
  EXPECT_THAT(refusal_of_plan(changed("/groups/0/1/options/caches", {"warm"})),
              HasSubstr("different numbers of cache states"));
  json without = json::parse(write_plan(some_plan()));
  without.erase("device");
  EXPECT_THAT(refusal_of_plan(without.dump()), HasSubstr("plan: device: a value was expected"));
}

TEST(WorkerPlan, OptionsThatCannotBeMeasuredWithAreRefused) {
  for (const json& counts : {json::array({0}), json::array({10, -1})}) {
    EXPECT_EQ(refusal_of_plan(changed("/groups/0/1/options/iterations", counts)),
              "plan: groups[0][1].options: MeasureOptions: iterations are 1 to 1000000 each");
  }
  EXPECT_THAT(refusal_of_plan(changed("/groups/0/0/options/precision", 0)),
              testing::StartsWith("plan: groups[0][0].options: MeasureOptions: precision"));
}

TEST(WorkerPlan, OnlyAPlanOfThisProgramIsRead) {
  EXPECT_THAT(refusal_of_plan(changed("/format", "jitterscope-record")), HasSubstr("its format is not"));
  EXPECT_THAT(refusal_of_plan(changed("/version", 2)), HasSubstr("of another version than 1"));
  // A newer plan may have anything anywhere.
  json newer = json::parse(changed("/version", 2));
  newer["groups"] = "elsewhere";
  EXPECT_THAT(refusal_of_plan(newer.dump()), HasSubstr("of another version than 1"));
  for (const json& odd : {json(3), json(nullptr), json::array(), json::object()}) {
    EXPECT_THAT(refusal_of_plan(changed("/format", odd)), HasSubstr("its format is not"));
    EXPECT_THAT(refusal_of_plan(changed("/version", odd)),
                odd == 3 ? HasSubstr("another version") : HasSubstr("of another version than 1"));
  }
  for (const char* text : {"", "{", "[]", "null", "3", "\"plan\"", "{}", "hello"}) {
    EXPECT_THAT(refusal_of_plan(text), testing::StartsWith("plan: ")) << text;
  }
  const std::string whole = write_plan(some_plan());
  EXPECT_THAT(refusal_of_plan(whole.substr(0, whole.size() / 2)), HasSubstr("ends in the middle"));
}

template <class Thrown>
std::string rethrown(const Error& error) {
  try {
    rethrow_written_error(write_error(error));
  } catch (const Thrown& thrown) {
    EXPECT_EQ(thrown.kind(), error.kind());
    return thrown.what();
  }
  return "not thrown";
}

TEST(WrittenError, ComesBackAsItsKind) {
  EXPECT_EQ(rethrown<UsageError>(UsageError("a \"quoted\"\nword")), "a \"quoted\"\nword");
  EXPECT_EQ(rethrown<MissingError>(MissingError("no GPU")), "no GPU");
  EXPECT_EQ(rethrown<FailedError>(FailedError("out of memory")), "out of memory");
  EXPECT_EQ(rethrown<FailedError>(HoldTimeoutError("the gate")), "the gate");
  EXPECT_EQ(rethrown<InterruptedError>(InterruptedError()), "interrupted");
}

TEST(WrittenError, NothingElseIsOne) {
  for (const char* text : {"", "{", "[]", "{}", "null", "3", "hello", R"({"format": 3})",
                           R"({"format": null})", R"({"format": "jitterscope-record"})"}) {
    EXPECT_NO_THROW(rethrow_written_error(text)) << text;
  }
}

}  // namespace
}  // namespace jitterscope
