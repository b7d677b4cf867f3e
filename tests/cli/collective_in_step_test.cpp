// Collectives measured by workers in step on a simulated cluster: one process for each rank.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "jitterscope/error.hpp"
#include "model/native_step.hpp"
#include "plan/arrangement.hpp"
#include "worker/in_step.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A cluster of quiet GPUs, in a file of its own.
class ClusterInStep : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    file_ = std::filesystem::path(::testing::TempDir()) / (std::string(test->name()) + ".toml");
  }
  void TearDown() override { std::filesystem::remove(file_); }

  std::vector<RunRecord> run(const std::string& operation, const MeasureOptions& options,
                             const std::string& more = {}, std::size_t ranks = 2) {
    return run(TrialSubject(Operation::parse(operation)), options, more, ranks);
  }
  std::vector<RunRecord> run(const TrialSubject& subject, const MeasureOptions& options,
                             const std::string& more = {}, std::size_t ranks = 2) {
    return run(std::vector(ranks, subject), options, more);
  }
  // One subject for each rank.
  std::vector<RunRecord> run(const std::vector<TrialSubject>& subjects, const MeasureOptions& options,
                             const std::string& more = {}) {
    const std::size_t ranks = subjects.size();
    std::ofstream(file_) << "base = \"" << base_ << "\"\n[cluster]\nranks = " << ranks << "\n"
                         << more << "[[link]]\nranks = 16\nlatency_us = 20\nbandwidth_gb_per_s = 100\n";
    std::vector<WorkerPlan> plans(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      WorkerPlan& plan = plans[rank];
      plan.device = "virtual:" + file_.string();
      plan.plan.groups = {{{subjects[rank], options}}};
      plan.plan.ceilings = false;
      plan.plan.verify = true;
      plan.plan.links = measures_links_;
    }
    return run_in_step(plans, {.executable = JITTERSCOPE_EXECUTABLE});
  }

  std::filesystem::path file_;
  std::string base_ = "quiet";
  bool measures_links_ = false;
};

// The stragglers' table ends [cluster], so its keys come first.
std::string straggler(const std::string& cause, double microseconds) {
  return "[[straggler]]\nrank = 1\ncause = \"" + cause + "\"\nsize_us = " + std::to_string(microseconds) +
         "\n";
}

MeasureOptions once(QueueMode queue, Load load = Load::burst) {
  MeasureOptions options;
  options.queue = queue;
  options.loads = {load};
  options.sustained_time_limit = seconds(1);
  return options;
}

Nanoseconds time_of(const RunRecord& record) {
  return record.entries.at(0).result.measurements.at(0).time.median;
}

// 4 MB at 100 GB/s take 40 us.
const char* const kReduce = "all_reduce:count=1M,dtype=f32";

TEST_F(ClusterInStep, AllRanksMeasureTheTransfer) {
  for (const QueueMode queue : {QueueMode::saturated, QueueMode::eager, QueueMode::graph}) {
    const std::vector<RunRecord> records = run(kReduce, once(queue));
    ASSERT_EQ(records.size(), 2u);
    for (const RunRecord& record : records) {
      const Result& result = record.entries.at(0).result;
      EXPECT_EQ(to_string(result.subject), "all_reduce:count=1000000,dtype=f32,ranks=2");
      EXPECT_NEAR(time_of(record).value(), 60e3, 6e3) << to_string(queue);
      ASSERT_TRUE(result.verification);
      EXPECT_EQ(result.verification->wrong, 0);
    }
    EXPECT_EQ(records[0].entries[0].result.measurements[0].rounds.size(),
              records[1].entries[0].result.measurements[0].rounds.size());
  }
}

// A step of two kernels of 100 us, and an all-reduce of 60 us.
ParallelStep two_spins(std::size_t after, std::size_t before, std::size_t passes = 1) {
  ParallelStep step{.name = "two spins", .network = {}, .order = std::vector<CallRange>(passes, {0, 2})};
  step.network.layers = {{{"spin"}, Operation::parse("spin:ns=100000")}};
  step.network.calls = {{0, "first", {}}, {0, "second", {}}};
  step.exchanges = {{Operation::parse(kReduce), after, before}};
  return step;
}

TEST_F(ClusterInStep, AnExchangeRunsBesideWhatDoesNotWaitForIt) {
  MeasureOptions options = once(QueueMode::saturated);
  options.instrument = Instrument::graph;
  struct Case {
    std::size_t after, before;
    double microseconds;
    std::size_t passes = 1;
  };
  for (const Case& each : {Case{2, 2, 260}, Case{1, 1, 260}, Case{0, 0, 260}, Case{1, 2, 200},
                           Case{0, 1, 200}, Case{0, 2, 200}, Case{1, 4, 400, 2}, Case{4, 4, 460, 2}}) {
    const auto records = run(TrialSubject(two_spins(each.after, each.before, each.passes)), options);
    for (const RunRecord& record : records) {
      EXPECT_EQ(record.entries.at(0).result.failure, "");
      EXPECT_NEAR(time_of(record).value(), each.microseconds * 1e3, 4e3)
          << each.after << " to " << each.before << " of " << each.passes;
    }
  }
}

// Blocks that take 100 us forward and 200 back, and hand on 1 MB. Their calls are spins.
struct SpinningNetwork {
  explicit SpinningNetwork(std::size_t blocks) {
    model.name = "spins";
    model.layers = {{{}, Operation::parse("spin:ns=100000")}, {{}, Operation::parse("spin:ns=200000")}};
    layers.network.name = model.name;
    layers.calls.resize(blocks);
    for (std::size_t b = 0; b < blocks; ++b) {
      layers.network.layers.push_back({.name = std::to_string(b),
                                       .block = b,
                                       .forward = {microseconds(100), {}},
                                       .backward = {microseconds(200), {}},
                                       .output = Bytes(1'000'000)});
      layers.calls[b] = {.forward = {b}, .backward = {2 * blocks - 1 - b}};
      model.calls.push_back({0, "forward", {}});
    }
    for (std::size_t b = 0; b < blocks; ++b) model.calls.push_back({1, "backward", {}});
  }
  Model model;
  StepLayers layers;
};

TEST_F(ClusterInStep, APipelineTakesTheTimeOfItsPlan) {
  const plan::MeasuredTransfers sends{plan::Exchange::send, 2, {{Bytes(1'000'000), {microseconds(30), {}}}}};
  struct Case {
    plan::Schedule schedule;
    std::int64_t ranks = 2, micro_batches = 4, chunks = 1;
    bool sends_block = false;
  };
  using enum plan::Schedule;
  for (const Case& each : {Case{in_turn, 2, 2}, Case{gpipe}, Case{one_f_one_b}, Case{one_f_one_b, 3, 6},
                           Case{interleaved, 2, 4, 2}, Case{one_f_one_b, 2, 4, 1, true}}) {
    const SpinningNetwork network(6 * static_cast<std::size_t>(each.chunks));
    const plan::Arrangement arrangement{.grid = {.pipeline = each.ranks},
                                        .way = {.exchange = plan::GradientExchange::none},
                                        .schedule = each.schedule,
                                        .chunks = each.chunks,
                                        .cut = plan::StageCut::layers,
                                        .sends_block = each.sends_block};
    const plan::StepPlan plan = plan::step_of(
        {.network = network.layers.network,
         .around = {.transfers = plan::TransferCosts({sends}, std::nullopt), .gpus_per_host = each.ranks},
         .micro_batches = each.micro_batches},
        arrangement);
    std::vector<TrialSubject> steps;
    for (std::size_t rank = 0; rank < plan.classes.size(); ++rank)
      steps.emplace_back(native_step(network.model, network.layers, plan, rank, each.ranks, "pipeline"));
    MeasureOptions options = once(QueueMode::saturated);
    options.instrument = Instrument::graph;
    const double planned = plan::length_of(plan).value();
    const std::string text =
        std::string(plan::to_string(each.schedule)) + (each.sends_block ? ", blocks" : "");
    for (const RunRecord& record : run(steps, options)) {
      EXPECT_EQ(record.entries.at(0).result.failure, "") << text;
      EXPECT_NEAR(time_of(record).value(), planned, 0.02 * planned) << text << " of " << each.ranks;
    }
  }
}

TEST_F(ClusterInStep, AnExchangeThatIsLongerThanTheRestIsWaitedFor) {
  MeasureOptions options = once(QueueMode::saturated);
  options.instrument = Instrument::graph;
  ParallelStep step = two_spins(1, 2);
  step.exchanges[0].collective = Operation::parse("all_reduce:count=4M,dtype=f32");  // 180 us
  for (const RunRecord& record : run(TrialSubject(step), options))
    EXPECT_NEAR(time_of(record).value(), 280e3, 4e3);
}

TEST_F(ClusterInStep, ALateRankMakesTheOthersWaitWhereTheyNeedTheExchange) {
  MeasureOptions options = once(QueueMode::saturated);
  options.instrument = Instrument::graph;
  ParallelStep step = two_spins(0, 2);
  // Rank 1 is 150 us late in each replay: its exchange ends at 210, 10 us behind the second kernel.
  const auto records = run(TrialSubject(step), options, straggler("gpu", 150));
  for (const RunRecord& record : records) EXPECT_LT(time_of(record).value(), 225e3);
}

TEST_F(ClusterInStep, KernelsAreSlowerWhileAnExchangeRunsBesideThem) {
  MeasureOptions options = once(QueueMode::saturated);
  options.instrument = Instrument::graph;
  options.kernels = true;
  const auto records = run(TrialSubject(two_spins(0, 2)), options, "overlap_tax = 1.5\n");
  // 60 us at two thirds of the speed.
  EXPECT_NEAR(time_of(records[0]).value(), 220e3, 4e3);
  ASSERT_EQ(records[0].entries.at(0).result.kernels.size(), 3u);
}

// 100 GB/s each way, less the latency of each copy.
TEST_F(ClusterInStep, LinksComeHomeFromEachRankThatWasAsked) {
  EXPECT_TRUE(run(kReduce, once(QueueMode::saturated))[0].links.empty());
  measures_links_ = true;
  const std::vector<RunRecord> records = run(kReduce, once(QueueMode::saturated), "", 3);
  ASSERT_EQ(records.size(), 3u);
  ASSERT_EQ(records[1].links.size(), 2u);
  EXPECT_EQ(records[1].links[1].peer, 2);
  EXPECT_NEAR(records[1].links[1].by_copy_engine, 100e9, 5e9);
  EXPECT_NEAR(records[1].links[1].by_kernel_both_ways, 200e9, 10e9);
}

TEST_F(ClusterInStep, ShortOnesBySlopesOfRecordings) {
  for (const RunRecord& record : run("all_reduce:count=16", once(QueueMode::saturated), "", 3)) {
    const Measurement& measurement = record.entries.at(0).result.measurements.at(0);
    EXPECT_NEAR(measurement.time.median.value(), 40e3, 1.5e3) << "two doublings of ranks";
  }
}

TEST_F(ClusterInStep, SustainedLoadsAndEvictedCachesStayInStep) {
  MeasureOptions options = once(QueueMode::saturated, Load::sustained);
  options.caches = {CacheState::warm, CacheState::cold};
  const std::vector<RunRecord> records = run(kReduce, options);
  const auto& first = records[0].entries.at(0).result.measurements;
  const auto& second = records[1].entries.at(0).result.measurements;
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(first[0].rounds.size(), second[0].rounds.size());
  EXPECT_NEAR(first[0].time.median.value(), 60e3, 6e3);
}

// Clocks that sleep, hosts that stall, power caps, other processes: whatever a rank sees alone, all launch as
// often. A rank that did not would leave the others waiting, which ends them.
TEST_F(ClusterInStep, GpusThatVaryStayInStep) {
  for (const auto& [base, queue] :
       {std::pair("h200", QueueMode::saturated), std::pair("laptop", QueueMode::saturated),
        std::pair("hostile", QueueMode::eager), std::pair("shared", QueueMode::graph)}) {
    base_ = base;
    MeasureOptions options = once(queue);
    options.loads = {Load::burst, Load::sustained};
    options.sustained_time_limit = seconds(0.3);
    options.caches = {CacheState::warm, CacheState::dirty};
    options.kernels = true;
    const std::vector<RunRecord> records =
        run("all_reduce:count=64", options, "clock_spread = 0.05\ncap_spread = 0.05\n", 3);
    const std::vector<Measurement>& first = records[0].entries.at(0).result.measurements;
    EXPECT_EQ(first.size(), 4u) << base;
    for (const RunRecord& record : records) {
      const Result& result = record.entries.at(0).result;
      EXPECT_EQ(result.kernels.size(), 1u) << base;
      ASSERT_EQ(result.measurements.size(), first.size()) << base;
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(result.measurements[i].rounds.size(), first[i].rounds.size()) << base << " " << i;
      }
    }
  }
}

// While the instruments are calibrated it falls behind by far more than the limit above which a launch is
// long: the first launch is so for those who wait, and for the slow rank it is not.
TEST_F(ClusterInStep, ASlowHostLengthensEagerLaunchesAlone) {
  for (const auto& [queue, longer] :
       {std::pair(QueueMode::eager, 100e3), std::pair(QueueMode::saturated, 0.0)}) {
    const std::string at_once = "[one_time]\nmodule_load_ms = 0\n";
    const std::vector<RunRecord> plain = run(kReduce, once(queue), at_once);
    const std::vector<RunRecord> slow = run(kReduce, once(queue), at_once + straggler("host", 100));
    ASSERT_GT(slow[0].entries.at(0).result.first_call, milliseconds(5));
    ASSERT_LT(slow[1].entries.at(0).result.first_call, milliseconds(5));
    for (std::size_t rank = 0; rank < 2; ++rank) {
      // The host calls while the collective before runs: of the 60 us it takes, these are hidden.
      const double grown = (time_of(slow[rank]) - time_of(plain[rank])).value();
      EXPECT_NEAR(grown, std::max(0.0, longer - 60e3), 5e3) << rank << " " << to_string(queue);
    }
  }
}

// The others wait for it; slopes of recordings pay for it once in each length.
TEST_F(ClusterInStep, AStragglerLengthensTheOthersTimesAndNoSlope) {
  MeasureOptions slopes = once(QueueMode::saturated);
  slopes.instrument = Instrument::graph;
  const double eager = time_of(run(kReduce, once(QueueMode::eager)).at(0)).value();
  const double slope = time_of(run(kReduce, slopes).at(0)).value();
  for (const double late : {5.0, 50.0, 500.0}) {
    const std::vector<RunRecord> with = run(kReduce, once(QueueMode::eager), straggler("gpu", late));
    EXPECT_NEAR(time_of(with.at(0)).value() - eager, late * 1e3, 1e3 + 0.02 * late * 1e3) << late;
    const std::vector<RunRecord> same = run(kReduce, slopes, straggler("gpu", late));
    EXPECT_NEAR(time_of(same.at(0)).value() / slope, 1.0, 0.01) << late;
  }
}

TEST_F(ClusterInStep, ClocksThreeSecondsApartAndDriftingChangeNothing) {
  const std::vector<RunRecord> plain = run(kReduce, once(QueueMode::saturated));
  const std::vector<RunRecord> apart =
      run(kReduce, once(QueueMode::saturated), "clock_offset_s = 3\nclock_drift_ppm = 50\n");
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_NEAR(time_of(apart[rank]) / time_of(plain[rank]), 1.0, 1e-3) << rank;
  }
}

TEST_F(ClusterInStep, ALyingRankIsCaught) {
  const std::vector<RunRecord> records =
      run(kReduce, once(QueueMode::saturated), straggler("wrong_values", 0));
  EXPECT_EQ(records[0].entries.at(0).result.verification->wrong, 0);
  EXPECT_EQ(records[1].entries.at(0).result.verification->wrong, 1);
}

TEST_F(ClusterInStep, RanksThatAskForUnlikeWorkAreTold) {
  std::ofstream(file_) << "base = \"quiet\"\n[cluster]\nranks = 2\n[[link]]\nranks = 2\nlatency_us = 20\n"
                          "bandwidth_gb_per_s = 100\n";
  std::vector<WorkerPlan> plans(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    plans[rank].device = "virtual:" + file_.string();
    plans[rank].plan.groups = {
        {{Operation::parse(rank == 0 ? "all_reduce:count=8" : "broadcast:count=8"), MeasureOptions()}}};
    plans[rank].plan.ceilings = false;
  }
  EXPECT_THAT([&] { run_in_step(plans, {.executable = JITTERSCOPE_EXECUTABLE}); },
              ThrowsMessage<FailedError>(AllOf(HasSubstr("rank 0 launches all_reduce:count=8"),
                                               HasSubstr("rank 1 broadcast:count=8"))));
}

// As if one launched once more: it waits in a collective while the other has gone on.
TEST_F(ClusterInStep, ARankThatWaitsForOneThatIsElsewhereIsTold) {
  std::ofstream(file_) << "base = \"quiet\"\n[cluster]\nranks = 2\n[[link]]\nranks = 2\nlatency_us = 20\n"
                          "bandwidth_gb_per_s = 100\n";
  std::vector<WorkerPlan> plans(2);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    plans[rank].device = "virtual:" + file_.string();
    MeasureOptions options;
    if (rank == 1) options.iterations = {5};
    plans[rank].plan.groups = {{{Operation::parse("all_reduce:count=8"), options}}};
    plans[rank].plan.ceilings = false;
  }
  EXPECT_THAT([&] { run_in_step(plans, {.executable = JITTERSCOPE_EXECUTABLE}); },
              ThrowsMessage<FailedError>(AnyOf(HasSubstr("for the other ranks in all_reduce:count=8"),
                                               HasSubstr("rank 0 launches"))));
}

TEST_F(ClusterInStep, ARankThatDiesEndsTheOthersWithItsName) {
  std::ofstream(file_) << "base = \"quiet\"\n[cluster]\nranks = 2\n[[link]]\nranks = 2\nlatency_us = 20\n"
                          "bandwidth_gb_per_s = 100\n";
  // A rank that is started as `false` ends at once.
  const std::filesystem::path script = file_.string() + ".sh";
  std::ofstream(script) << "#!/bin/sh\nread -r plan\ncase \"$plan\" in *'\"rank\":1'*) exit 9;; esac\n"
                        << "printf '%s\\n' \"$plan\" | cat - /dev/stdin | exec " << JITTERSCOPE_EXECUTABLE
                        << " worker\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  std::vector<WorkerPlan> plans(2);
  for (WorkerPlan& plan : plans) {
    plan.device = "virtual:" + file_.string();
    plan.plan.groups = {{{Operation::parse(kReduce), MeasureOptions()}}};
    plan.plan.ceilings = false;
  }
  EXPECT_THAT([&] { run_in_step(plans, {.executable = script.string()}); },
              ThrowsMessage<FailedError>(HasSubstr("rank 1 (virtual:")));
  std::filesystem::remove(script);
}

TEST_F(ClusterInStep, OneGpuHasNoLinks) {
  std::vector<WorkerPlan> plans(2);
  for (WorkerPlan& plan : plans) {
    plan.device = "virtual:quiet";
    plan.plan.groups = {{{Operation::parse(kReduce), MeasureOptions()}}};
    plan.plan.ceilings = false;
  }
  EXPECT_THAT([&] { run_in_step(plans, {.executable = JITTERSCOPE_EXECUTABLE}); },
              ThrowsMessage<UsageError>(HasSubstr("without links")));
}

}  // namespace
}  // namespace jitterscope
