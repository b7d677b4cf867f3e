// A record beside what PyTorch recorded of the same layer.
#include <gmock/gmock.h>

#include <cmath>

#include "explain/account.hpp"
#include "explain/accounts.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::explain {
namespace {

using test::has_part;
using test::measured;
using test::part;
using test::record_with;
using testing::HasSubstr;
using testing::Not;

// Returns a trace by PyTorch that holds three calls of one layer, each of this time.
Model trace_of(Nanoseconds call) {
  Layer layer{.names = {"l1", "l2", "l3"}, .operation = Operation::parse("add:count=1024")};
  layer.recorded_times = {call, call, call};
  Model model;
  model.name = "trace.json";
  model.layers = {layer};
  model.recorded_device = "NVIDIA H200";
  return model;
}

// A capture has the times of all steps, and the layers are those of one.
TEST(TraceAccount, OneCallIsTheMeanOfAllThatWereRecorded) {
  Layer layer{.names = {"a", "b"}, .operation = Operation::parse("add:count=8")};
  EXPECT_FALSE(recorded_time_of(layer));
  for (const double time : {10.0, 12.0, 10.0, 12.0, 10.0, 12.0})
    layer.recorded_times.push_back(microseconds(time));
  const TimeEstimate one = *recorded_time_of(layer);
  EXPECT_NEAR(one.median.value(), 11'000.0, 1e-6);
  EXPECT_NEAR((one.high - one.low).value() / 2.0, 2.571 * 1095.4 / std::sqrt(6.0), 1.0);
  // Neighbours that are alike do not make the interval narrower.
  Layer slow{.names = {"a"}, .operation = Operation::parse("add:count=8")};
  for (int i = 0; i < 1000; ++i) slow.recorded_times.push_back(microseconds(i < 500 ? 10.0 : 12.0));
  const TimeEstimate unlike = *recorded_time_of(slow);
  EXPECT_GT((unlike.high - unlike.low).value(), 1000.0);
  EXPECT_EQ(one.rounds, 6);
}

TEST(TraceAccount, ALayerIsSlowerInItsNetworkThanAlone) {
  RunRecord record = record_with({measured(microseconds(100), megahertz(1000))});
  const TimeEstimate placed{microseconds(120), microseconds(119.5), microseconds(120.5), 12};
  record.sequence.emplace();
  record.sequence->calls.push_back({.name = "l1", .layer = 0, .time = placed});
  const Account account = account_for(record, trace_of(microseconds(120.3))).front();
  EXPECT_EQ(account.count, 3);
  EXPECT_NEAR(account.time.ratio, 1.203, 1e-3);
  EXPECT_NEAR(part(account, "kernel before").ratio->ratio, 1.2, 0.001);
  EXPECT_NEAR(effect_of_place(account)->ratio, 1.2, 0.001);
  EXPECT_TRUE(account.is_explained());
  EXPECT_THAT(conclusions_of({account}).front(), HasSubstr("kernel before accounts for +20"));
}

TEST(TraceAccount, InSequenceTheNearestCacheStateIsAPartAndTheRestBeginsInPlace) {
  RunRecord record = record_with({measured(microseconds(100), megahertz(1000)),
                                  measured(microseconds(120), megahertz(1000), CacheState::cold)});
  record.sequence.emplace();
  const TimeEstimate placed{microseconds(121), microseconds(120.9), microseconds(121.1), 12};
  record.sequence->calls.push_back({.name = "l1", .layer = 0, .time = placed});
  const Account account = account_for(record, trace_of(microseconds(130))).front();
  EXPECT_NEAR(part(account, "cache").ratio->ratio, 1.2, 0.001);
  EXPECT_EQ(part(account, "cache").second, "cold");
  EXPECT_NEAR(part(account, "kernel before").ratio->ratio, 121.0 / 120.0, 0.001);
  EXPECT_NEAR(account.rest.ratio, 130.0 / 121.0, 1e-6);
  EXPECT_FALSE(account.is_explained());
}

TEST(TraceAccount, WithoutASequenceTheCacheIsBetweenItsStates) {
  const RunRecord record = record_with({measured(microseconds(100), megahertz(1000)),
                                        measured(microseconds(120), megahertz(1000), CacheState::cold)});
  const Account account = account_for(record, trace_of(microseconds(110))).front();
  EXPECT_NEAR(part(account, "cache").ratio->low, 1.0, 0.001);
  EXPECT_NEAR(part(account, "cache").ratio->high, 1.2, 0.001);
  EXPECT_FALSE(is_named(part(account, "cache")));
  EXPECT_TRUE(account.is_explained());
  EXPECT_FALSE(account_for(record, trace_of(microseconds(150))).front().is_explained());
  EXPECT_THAT(conclusions_of({account}), testing::Contains(HasSubstr("--in-sequence")));
}

TEST(TraceAccount, AnotherGpuEndsIt) {
  const RunRecord record = record_with({measured(microseconds(100), megahertz(1000))});
  Model trace = trace_of(microseconds(100));
  trace.recorded_device = "NVIDIA A100";
  const Account account = account_for(record, trace).front();
  EXPECT_EQ(account.stopped_at, "device");
  EXPECT_FALSE(has_part(account, "instrument"));
  EXPECT_FALSE(account.is_explained());
  EXPECT_NEAR(account.rest.ratio, account.time.ratio, 1e-12);
}

TEST(TraceAccount, KernelsWhoseNamesAreOnlyWrittenDifferentlyAreTheSame) {
  RunRecord record = record_with({measured(microseconds(100), megahertz(1000))});
  record.entries.front().result.kernels.emplace_back().name = "void sum<float> (float *)";
  Model trace = trace_of(microseconds(100));
  trace.layers.front().recorded_kernels = {"void sum<float>(float*)"};
  EXPECT_EQ(account_for(record, trace).front().stopped_at, "");
}

TEST(TraceAccount, GapsBetweenACallsKernelsAreAPart) {
  RunRecord record = record_with({measured(microseconds(100), megahertz(1000))});
  for (const double time : {60.0, 36.0}) {
    LaunchKernel& kernel = record.entries.front().result.kernels.emplace_back();
    kernel.name = "k";
    kernel.median = kernel.minimum = kernel.maximum = microseconds(time);
  }
  Model trace = trace_of(microseconds(96));
  trace.layers.front().recorded_kernels = {"k", "k"};
  const Account account = account_for(record, trace).front();
  EXPECT_NEAR(part(account, "launch gaps").ratio->ratio, 0.96, 1e-3);
  EXPECT_NEAR(account.rest.ratio, 1.0, 1e-3);
  EXPECT_TRUE(account.is_explained());
}

TEST(TraceAccount, OtherKernelsAreNamed) {
  RunRecord record = record_with({measured(microseconds(100), megahertz(1000))});
  record.entries.front().result.kernels.emplace_back().name = "ours";
  Model trace = trace_of(microseconds(100));
  trace.layers.front().recorded_kernels = {"theirs"};
  const std::vector<Account> accounts = account_for(record, trace);
  EXPECT_EQ(part(accounts.front(), "kernels").second, "theirs");
  EXPECT_FALSE(has_part(accounts.front(), "device"));
}

TEST(TraceAccount, AStandInIsNamedAsOtherKernelsThough) {
  RunRecord record = record_with({measured(microseconds(100), megahertz(1000))});
  record.entries.front().result.algorithm = "relu_f32";
  Model trace = trace_of(microseconds(150));
  trace.layers.front().recorded_kernels = {"theirs"};
  EXPECT_THAT(conclusions_of(account_for(record, trace)).front(), Not(HasSubstr("kernels")));
  record.entries.front().result.stand_in = true;
  const std::vector<Account> accounts = account_for(record, trace);
  EXPECT_THAT(conclusions_of(accounts).front(), HasSubstr("may come from kernels"));
  EXPECT_EQ(part(accounts.front(), "kernels").first, "relu_f32, a stand-in");
  EXPECT_EQ(part(accounts.front(), "kernels").second, "theirs");
}

TEST(TraceAccount, RefusesATraceWithoutTimesOrWithOtherLayers) {
  const RunRecord record = record_with({measured(microseconds(100), megahertz(1000))});
  Model timeless = trace_of(microseconds(100));
  timeless.layers.front().recorded_times.clear();
  EXPECT_THROW(account_for(record, timeless), UsageError);
  Model other = trace_of(microseconds(100));
  other.layers.front().operation = Operation::parse("add:count=2048");
  EXPECT_THROW(account_for(record, other), UsageError);
}

}  // namespace
}  // namespace jitterscope::explain
