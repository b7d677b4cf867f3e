// `plan` on records of simulated GPUs: forecasts, and what is refused.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using test::without_breaks;
using testing::HasSubstr;

class Plan : public test::WithFolder {
 protected:
  static constexpr const char* kNetwork = "gpt2:batch=1,dtype=bf16,layers=2";

  void SetUp() override {
    ASSERT_EQ(
        run_tool(std::string("run ") + kNetwork + test::kQuick + " --json " + path("gpt2.json")).exit_code,
        0);
  }
  void measure_links() const {
    const Outcome outcome = run_tool(
        "collectives all_reduce,reduce_scatter,all_gather,send_recv --bytes 64Ki,16Mi --in-place no --quick --no-waits "
        "--device virtual:cluster-2xh200 --json " +
        path("links.json"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  }
  Outcome plan(const std::string& network, const std::string& flags) const {
    return run_tool("plan " + network + " --from " + path("gpt2.json") + " " + flags);
  }
  std::string links() const { return " --collectives " + path("links.json"); }
  static constexpr const char* kAssumed = " --network alpha=10us,beta=50GB --gpus-per-host 8";
};

TEST_F(Plan, ForecastsFromRecordsOfSimulatedGpus) {
  measure_links();
  const Outcome outcome =
      plan("gpt2:batch=1,dtype=bf16,layers=8", "--ranks 1..16 --json " + path() + links() + kAssumed);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(text()), 0);
  const json record = json::parse(text());
  ASSERT_EQ(record.at("ranks").size(), 5u);  // 1, 2, 4, 8, 16
  const double alone = record.at("forward").at("value_seconds").get<double>() +
                       record.at("backward").at("value_seconds").get<double>();
  EXPECT_NEAR(record.at("ranks").at(0).at("steps").at(0).at("step").at("value_seconds").get<double>() / alone,
              1.0, 0.2);
  EXPECT_FALSE(record.at("ranks").at(1).at("steps").at(0).at("assumed").get<bool>());
  for (const json& step : record.at("ranks").at(4).at("steps")) EXPECT_TRUE(step.at("assumed").get<bool>());
  // Latency and bandwidth of the simulated links, within their noise.
  const json& all_reduce = record.at("exchanges").at(0);
  EXPECT_NEAR(all_reduce.at("alpha_seconds").get<double>() / 20e-6, 1.0, 0.03);
  EXPECT_NEAR(all_reduce.at("bytes_per_second").get<double>() / 331e9, 1.0, 0.05);
  EXPECT_THAT(without_breaks(outcome.output), HasSubstr("**16 GPUs**: "));
  EXPECT_EQ(run_tool("show " + path()).output, outcome.output);
  // The same seed draws the same intervals.
  EXPECT_EQ(plan("gpt2:batch=1,dtype=bf16,layers=8", "--ranks 1..16" + links() + kAssumed).output,
            outcome.output);
}

TEST_F(Plan, ArrangesAsAsked) {
  const auto step = [&](const std::string& arrangement) {
    const Outcome outcome = plan(kNetwork, "--launches graph --ranks 2 --micro-batches 4 --arrangement " +
                                               arrangement + " --json " + path() + kAssumed);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    const json record = json::parse(text());
    EXPECT_EQ(record.at("ranks").at(0).at("considered"), 1);
    return record.at("ranks").at(0).at("steps").at(0);
  };
  EXPECT_EQ(step("pp=2,schedule=gpipe").at("arrangement"), "PP 2, GPipe");
  EXPECT_EQ(step("tp=2,sequence=1").at("arrangement"), "TP 2, sequence parallel");
  EXPECT_EQ(step("sharding=3").at("arrangement"), "DP 2, ZeRO 3");
  // Without an exchange a step is computing alone.
  const json none = step("exchange=none");
  EXPECT_NEAR(none.at("step").at("value_seconds").get<double>() / none.at("computing_seconds").get<double>(),
              1.0, 1e-9);
  EXPECT_GT(step("exchange=after").at("step").at("value_seconds").get<double>(),
            none.at("step").at("value_seconds").get<double>());
}

TEST_F(Plan, SaysWhatFitsWhereReplicasDoNot) {
  const std::string flags = std::string(" --ranks 2 --arrangement ") + "dp=2 --json " + path() + kAssumed;
  ASSERT_EQ(plan(kNetwork, flags).exit_code, 0);
  const json replica = json::parse(text()).at("ranks").at(0).at("steps").at(0);
  std::int64_t needed = 0;
  for (const char* part : {"weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes"})
    needed += replica.at(part).get<std::int64_t>();
  const Outcome outcome = plan(kNetwork, "--ranks 2 --memory " + std::to_string(needed - 1) + kAssumed);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(without_breaks(outcome.output), HasSubstr("does not fit: it needs"));
  const Outcome nothing = plan(kNetwork, std::string("--ranks 2 --memory 1M") + kAssumed);
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(without_breaks(nothing.output), HasSubstr("nothing fits."));
}

struct Refused {
  std::string network, flags, says;
};

TEST_F(Plan, RefusesWithASentence) {
  const std::string network = kNetwork;
  for (const Refused& each : std::vector<Refused>{
           {network, "--ranks 2", "nothing says what an exchange between GPUs takes"},
           {network, "--ranks 2 --network alpha=10us", "--network: beta is missing"},
           {network, "--ranks 2 --network alpha=10us,betta=5", "'betta=5' is no alpha or beta"},
           {network, std::string("--ranks 0") + kAssumed, "0 GPUs; from 1 to 65536"},
           {network, std::string("--ranks 6 --arrangement pp=4") + kAssumed,
            "6 ranks cannot be divided by tp=1"},
           {network, std::string("--ranks 8 --arrangement pp=8") + kAssumed,
            "between 2 blocks, so into 2 stages"},
           {network, std::string("--ranks 8 --arrangement tp=8") + kAssumed, "12 heads of gpt2"},
           {network, std::string("--ranks 2 --arrangement pp=2,schedule=zigzag") + kAssumed,
            "schedule=zigzag is unknown"},
           {network, std::string("--ranks 4 --arrangement dp=2,pp=4") + kAssumed, "is 8 ranks, not 4"},
           {network, std::string("--ranks 2 --overlap compute=0.5") + kAssumed, "a factor of 1 or more"},
           {"gpt2:batch=2,dtype=bf16", std::string("--ranks 2") + kAssumed, "it is a record of other work"},
           {"gpt2:batch=1,dtype=bf16,layers=2,direction=fprop", std::string("--ranks 2") + kAssumed,
            "no backward passes"},
           {network, "--ranks 2 --collectives " + path("gpt2.json"),
            "no record of `jitterscope collectives`"},
       }) {
    const Outcome outcome = plan(each.network, each.flags);
    EXPECT_EQ(outcome.exit_code, 2) << each.flags << outcome.output;
    EXPECT_THAT(outcome.errors, HasSubstr(each.says));
  }
}

TEST_F(Plan, RefusesLinksOfAnotherGpu) {
  ASSERT_EQ(run_tool("run gpt2:batch=1,dtype=bf16,layers=2 --device virtual:a100 --cache warm --min-rounds 3 "
                     "--time-limit 0.05 --no-ceilings --json " +
                     path("gpt2.json"))
                .exit_code,
            0);
  measure_links();
  const Outcome outcome = plan(kNetwork, "--ranks 2" + links());
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("measure both on the same GPUs"));
}

TEST_F(Plan, NamesThePassesThatARecordHasNot) {
  ASSERT_EQ(run_tool(std::string("run gpt2:batch=1,dtype=bf16,layers=2,direction=fprop") + test::kQuick +
                     " --json " + path("gpt2.json"))
                .exit_code,
            0);
  const Outcome outcome = plan(kNetwork, std::string("--ranks 2") + kAssumed);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("it has no backward passes"));
}

}  // namespace
}  // namespace jitterscope
