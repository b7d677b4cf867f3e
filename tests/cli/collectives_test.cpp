// `collectives` and collectives of `run`, on simulated clusters whose truth is known: each rank is a process.
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using test::without_breaks;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Collectives : public test::WithFolder {
 protected:
  // Two ranks, clocks 3 s apart; a transfer of 1 MiB takes 20 us + 1048576 B / 100 GB/s.
  std::string cluster(const std::string& straggler = {}) const {
    const std::string file = path("cluster.toml");
    std::ofstream(file)
        << "base = \"quiet\"\n[cluster]\nranks = 2\nclock_offset_s = 3.0\nclock_drift_ppm = 50\n"
           "link_noise = 0.005\n[[link]]\nranks = 2\nlatency_us = 20\nbandwidth_gb_per_s = 100\n"
        << straggler;
    return " --device virtual:" + file;
  }
  static constexpr const char* kQuick = " --communicators 3 --no-load --rounds 60";
};

TEST_F(Collectives, HaveTransfersOfTheirLinks) {
  const Outcome outcome = run_tool("collectives all_reduce,broadcast --bytes 1Mi --dtype bf16 --json " +
                                   path() + kQuick + cluster());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(text()), 0);
  const json record = json::parse(text());
  ASSERT_EQ(record.at("rows").size(), 2u);
  for (const json& row : record.at("rows")) {
    ASSERT_EQ(row.at("times").size(), 2u);  // out of place and in place
    for (const json& time : row.at("times")) {
      EXPECT_NEAR(time.at("time").at("median_seconds").get<double>(), 20e-6 + 1048576 / 100e9, 0.5e-6);
      EXPECT_EQ(time.at("wrong_elements"), 0);
    }
  }
  const json& reduce = record.at("rows").at(0);
  EXPECT_FALSE(reduce.at("waiting").contains("late_rank"));
  for (const json& proof : reduce.at("waiting").at("proofs"))
    EXPECT_TRUE(proof.at("holds").get<bool>()) << proof;
  EXPECT_FALSE(record.at("rows").at(1).contains("waiting"));  // no rank of a broadcast waits for all
  EXPECT_THAT(
      without_breaks(outcome.output),
      AllOf(HasSubstr("**2 ranks** on 1 host"), HasSubstr("No rank comes last more often than by chance")));
  EXPECT_EQ(run_tool("show " + path()).output, outcome.output);
}

TEST_F(Collectives, NameTheRankThatIsLate) {
  const Outcome outcome = run_tool("collectives --bytes 1Mi --json " + path() + kQuick +
                                   cluster("[[straggler]]\nrank = 1\ncause = \"gpu\"\nsize_us = 30\n"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(without_breaks(outcome.output),
              HasSubstr("**late_rank**: rank 1 comes last in 100 % of the rounds"));
  const json row = json::parse(text()).at("rows").at(0);
  EXPECT_EQ(row.at("waiting").at("late_rank"), 1);
  EXPECT_NEAR(row.at("waiting").at("median_seconds").get<double>(), 30e-6, 1e-6);
  // A transfer is what it is without the straggler.
  EXPECT_NEAR(row.at("times").at(0).at("time").at("median_seconds").get<double>(), 20e-6 + 1048576 / 100e9,
              0.5e-6);
}

// 50 us in every launch: behind work of 100 us nobody waits for that host, between single calls all do.
TEST_F(Collectives, NameTheHostThatIsSlow) {
  const Outcome outcome = run_tool("collectives --bytes 64Ki --in-place no --json " + path() + kQuick +
                                   cluster("[[straggler]]\nrank = 1\ncause = \"host\"\nsize_us = 50\n"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(without_breaks(outcome.output),
              AllOf(HasSubstr("**slow_host**: rank 1's host takes 5"), Not(HasSubstr("launch_bound"))));
  const json row = json::parse(text()).at("rows").at(0);
  EXPECT_EQ(row.at("launches").at("slow_host"), 1);
  EXPECT_NEAR(row.at("launches").at("rank_seconds").at(1).get<double>() -
                  row.at("launches").at("rank_seconds").at(0).get<double>(),
              50e-6, 1e-6);
}

TEST_F(Collectives, CallAWaitForALateGpuNoCostOfLaunches) {
  const Outcome outcome = run_tool("collectives --bytes 64Ki --in-place no" + std::string(kQuick) +
                                   cluster("[[straggler]]\nrank = 1\ncause = \"gpu\"\nsize_us = 50\n"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(
      without_breaks(outcome.output),
      AllOf(HasSubstr("**late_rank**: rank 1"), Not(HasSubstr("slow_host")), Not(HasSubstr("launch_bound"))));
}

// As a host that launches more slowly than its GPU works is behind anyway.
TEST_F(Collectives, SayWhyALatenessBehindASlowHostIsNotProven) {
  const Outcome outcome = run_tool("collectives --bytes 64Ki --in-place no --json " + path() + kQuick +
                                   cluster("[[straggler]]\nrank = 1\ncause = \"host\"\nsize_us = 200\n"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(without_breaks(outcome.output), AllOf(HasSubstr("1. **slow_host**: rank 1's host takes 20"),
                                                    HasSubstr("as the slow host is behind")));
  const json waiting = json::parse(text()).at("rows").at(0).at("waiting");
  EXPECT_EQ(waiting.at("late_by_work_seconds"), 0.0);
  EXPECT_GT(waiting.at("late_by_launches_seconds").get<double>(), 100e-6);
}

TEST_F(Collectives, ThatGiveWrongValuesFail) {
  const Outcome outcome = run_tool("collectives --bytes 64Ki --no-waits --in-place no" + std::string(kQuick) +
                                   cluster("[[straggler]]\nrank = 1\ncause = \"wrong_values\"\n"));
  EXPECT_EQ(outcome.exit_code, 1) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("1. **wrong**: 1 elements"));
}

TEST_F(Collectives, AreTimedByRunBetweenRanks) {
  const Outcome outcome =
      run_tool("run all_reduce:count=256Ki --cache warm --load burst --processes 2 --local 2" + cluster());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(without_breaks(outcome.output), HasSubstr("Between 2 ranks; the times are those of rank 0."));
}

// What a gate needs of a baseline between ranks: it is saved, and measured again between as many.
TEST_F(Collectives, AreABaselineThatAGateMeasuresAgainBetweenRanks) {
  const std::string history = " --history '" + path("h") + "'";
  const Outcome saved =
      run_tool("run all_reduce:count=256Ki --cache warm --load burst --processes 4 --local 2 --save main" +
               history + " --csv " + path("r.csv") + " --verify" + cluster());
  ASSERT_EQ(saved.exit_code, 0) << saved.errors;
  EXPECT_THAT(saved.errors, HasSubstr("saved as main/"));
  EXPECT_THAT(text("r.csv"), HasSubstr("all_reduce"));
  const std::string again = "gate main --processes 4 --json " + path() + history;
  const Outcome same = run_tool(again + " --local 2");
  EXPECT_EQ(same.exit_code, 0) << same.errors << same.output;
  const json comparison = json::parse(text()).at("comparisons").at(0);
  EXPECT_NEAR(comparison.at("second").at("time").at("median_seconds").get<double>(), 30.49e-6, 0.5e-6)
      << comparison;
  EXPECT_NE(comparison.at("first").at("time").at("median_seconds"),
            comparison.at("second").at("time").at("median_seconds"))
      << "other simulated clusters than the baseline's";
}

TEST_F(Collectives, AreGatedBetweenAsManyRanksAsTheBaselines) {
  const std::string history = " --history '" + path("h") + "'";
  ASSERT_EQ(
      run_tool("run all_reduce:count=256Ki --cache warm --load burst --processes 2 --local 2 --save main" +
               history + cluster())
          .exit_code,
      0);
  for (const char* ranks : {"", " --local 3"}) {
    const Outcome outcome = run_tool("gate main" + history + ranks);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.output;
    EXPECT_THAT(outcome.errors, AllOf(HasSubstr("was measured between 2 ranks"), HasSubstr("--local 2")));
  }
  const Outcome plan = run_tool("gate main --dry-run --local 2" + history);
  EXPECT_EQ(plan.exit_code, 0) << plan.errors;
  EXPECT_THAT(without_breaks(plan.output), HasSubstr("Between 2 ranks"));
}

// The latency of its links grows from 20 to 30 us.
TEST_F(Collectives, ThatBecomeSlowerFailTheirGate) {
  const std::string history = " --history '" + path("h") + "'";
  ASSERT_EQ(
      run_tool("run all_reduce:count=256Ki --cache warm --load burst --processes 4 --local 2 --save main" +
               history + cluster())
          .exit_code,
      0);
  std::ofstream(path("cluster.toml")) << "base = \"quiet\"\n[cluster]\nranks = 2\n[[link]]\nranks = 2\n"
                                         "latency_us = 30\nbandwidth_gb_per_s = 100\n";
  const Outcome outcome = run_tool("gate main --processes 4 --local 2" + history);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.errors << outcome.output;
}

TEST_F(Collectives, AreAGateOfNothingElse) {
  const std::string history = " --history '" + path("h") + "'";
  const Outcome saved = run_tool("run relu:count=1Mi --device virtual:h200 --local 2 --save main" + history);
  EXPECT_EQ(saved.exit_code, 2);
  EXPECT_THAT(saved.errors, HasSubstr("--save does not go with several devices"));
}

json factor_of(const json& record, const std::string& id) {
  for (const json& factor : record.at("study").at("factors"))
    if (factor.at("id") == id) return factor;
  return {};
}

// A transfer takes 30.5 us. A rank that is delayed by 100 us makes the others stay as much longer.
TEST_F(Collectives, AreExplainedBetweenRanks) {
  const Outcome outcome =
      run_tool("explain all_reduce:count=256Ki --quick --local 2 --json " + path() + cluster());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(text()), 0);
  const json record = json::parse(text());
  EXPECT_NEAR(record.at("study").at("plain").at("median_seconds").get<double>(), 30.49e-6, 0.5e-6);
  const json late = factor_of(record, "lateness");
  EXPECT_EQ(late.at("verdict"), "cause") << late;
  ASSERT_EQ(late.at("doses").size(), 3u) << late;
  EXPECT_NEAR(late.at("doses").at(2).at("time_ratio").at("ratio").get<double>(), 1 + 100 / 31.5, 0.2) << late;
  EXPECT_EQ(factor_of(record, "load").at("verdict"), "cleared")
      << "links of a simulated cluster have no clock";
  EXPECT_EQ(factor_of(record, "neighbour_kernels").at("verdict"), "not_identifiable");
  EXPECT_THAT(without_breaks(outcome.output),
              AllOf(HasSubstr("A rank that comes late: a launch takes"), HasSubstr("for 20 µs"),
                    HasSubstr("No rank comes last more often than by chance"), HasSubstr("Between 2 ranks")));
  EXPECT_EQ(run_tool("show " + path()).output, outcome.output);
}

// Rank 1 comes 30 us late by itself: as long as rank 0 is delayed by less, nobody waits for it.
TEST_F(Collectives, AreExplainedByTheRankThatIsLate) {
  const Outcome outcome =
      run_tool("explain all_reduce:count=256Ki --quick --factors lateness --local 2 --json " + path() +
               cluster("[[straggler]]\nrank = 1\ncause = \"gpu\"\nsize_us = 30\n"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const json record = json::parse(text());
  EXPECT_EQ(record.at("study").at("factors").size(), 1u);
  EXPECT_THAT(without_breaks(outcome.output), HasSubstr("Rank 1 comes last in 100 % of the rounds, 30"));
}

TEST_F(Collectives, AreExplainedOneByOne) {
  const Outcome plan = run_tool("explain all_reduce:count=256Ki --dry-run --local 2" + cluster());
  EXPECT_EQ(plan.exit_code, 0) << plan.errors;
  EXPECT_THAT(without_breaks(plan.output),
              AllOf(HasSubstr("lateness: one rank 5 µs late; one rank 20 µs late"), HasSubstr("load:")));
  const Outcome wrong = run_tool("explain all_reduce:count=256Ki --factors cache --local 2" + cluster());
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.errors, HasSubstr("--factors: cache is not tried between ranks, but load, lateness"));
  const Outcome alone = run_tool("explain relu:count=1Mi --factors lateness --device virtual:h200");
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_THAT(alone.errors, HasSubstr("lateness is of a collective between ranks"));
}

// 30.5 us, and 25.2 for half of the bytes.
TEST_F(Collectives, AreComparedBetweenRanks) {
  const Outcome outcome =
      run_tool("compare all_reduce:count=256Ki --vary dtype=f32,bf16 --processes 3 --local 2 --json " +
               path() + cluster());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(text()), 0);
  const json comparison = json::parse(text()).at("comparisons").at(0);
  EXPECT_EQ(comparison.at("verdict"), "faster") << comparison;
  EXPECT_NEAR(comparison.at("time_ratio").at("ratio").get<double>(), 25.24 / 30.49, 0.02) << comparison;
  EXPECT_THAT(without_breaks(outcome.output), HasSubstr("Between 2 ranks; the times are those of rank 0."));
}

TEST_F(Collectives, ThatCannotBeAreRefused) {
  const auto refused = [&](const std::string& arguments) {
    const Outcome outcome = run_tool("collectives " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << outcome.output;
    return without_breaks(outcome.errors);
  };
  EXPECT_THAT(refused("allreduce" + cluster()),
              HasSubstr("'allreduce' is no collective (did you mean 'all_reduce'?)"));
  EXPECT_THAT(refused("--bytes 1Kx" + cluster()), HasSubstr("--bytes: '1Kx' is not a whole number"));
  EXPECT_THAT(refused("--bytes 1Mi..1Ki*4" + cluster()), HasSubstr("ends before it begins"));
  EXPECT_THAT(refused("all_gather --bytes 4" + cluster()), HasSubstr("not one element of f32 for each rank"));
  EXPECT_THAT(refused("broadcast --root 2" + cluster()), HasSubstr("root=2"));
  EXPECT_THAT(refused("--dtype f31" + cluster()), HasSubstr("--dtype: unknown word 'f31'"));
  EXPECT_THAT(refused("--op mean" + cluster()), HasSubstr("--op: unknown word 'mean'"));
  EXPECT_THAT(refused("--in-place maybe" + cluster()), HasSubstr("both, no or only"));
  EXPECT_THAT(refused("--local 3" + cluster()), HasSubstr("has 2 ranks, and 3 take part"));
  EXPECT_THAT(refused("--bytes 1Ki --device virtual:h200"),
              HasSubstr("is one simulated GPU without links; take a cluster"));
  EXPECT_THAT(refused("--bytes 1Ki --device cpu"), HasSubstr("cpu has no collectives"));
}

}  // namespace
}  // namespace jitterscope
