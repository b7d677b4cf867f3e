// `run --processes`, and the worker that carries a plan out.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/files.hpp"
#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::on_one_line;
using test::Outcome;
using test::run_tool;
using testing::AllOf;
using testing::HasSubstr;

const std::string kBriefly =
    " --device virtual:h200 --processes 3 --time-limit 0.2 --min-rounds 6 --no-ceilings";

json processes_json(const std::string& arguments) {
  const Outcome outcome = run_tool("run " + arguments + kBriefly + " --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0) << arguments;
  return json::parse(outcome.output);
}

TEST(RunInProcesses, SaysSoInTheTableAndInTheJson) {
  const Outcome table = run_tool("run add:count=1Mi --cache warm" + kBriefly);
  EXPECT_EQ(table.exit_code, 0) << table.errors;
  EXPECT_THAT(on_one_line(table.output), HasSubstr(", warm burst, 3 processes, "));
  EXPECT_THAT(on_one_line(table.output), HasSubstr("Each time and its interval are over 3 fresh processes"));
  const json document = processes_json("add:count=1Mi --cache warm,cold");
  for (const json& measurement : document.at("results").at(0).at("measurements")) {
    EXPECT_EQ(measurement.at("processes").size(), 3u);
    EXPECT_EQ(measurement.at("conditions").at("seed"), 1) << "the one that was asked for";
    std::vector<std::int64_t> rounds(3);
    double sum = 0.0;
    for (const json& round : measurement.at("rounds")) ++rounds.at(round.value("process", std::size_t{0}));
    for (const std::int64_t count : rounds) EXPECT_GE(count, 6);
    for (const json& process : measurement.at("processes")) sum += process.at("median_seconds").get<double>();
    EXPECT_NEAR(measurement.at("time").at("median_seconds").get<double>(), sum / 3.0, 1e-12);
  }
}

// oneDNN prints to standard output here. NCCL does so for NCCL_DEBUG=VERSION, cuDNN for
// CUDNN_LOGDEST_DBG=stdout.
TEST(RunInProcesses, WhatALibraryPrintsIsNotTakenForARecord) {
  ::setenv("ONEDNN_VERBOSE", "1", 1);
  const Outcome outcome = run_tool(
      "run matmul:m=256,n=256,k=256 --device cpu --cache warm --load burst --processes 2 --time-limit 0.1 "
      "--min-rounds 3 --no-ceilings --json -");
  ::unsetenv("ONEDNN_VERBOSE");
  EXPECT_THAT(outcome.exit_code, testing::AnyOf(0, 4)) << outcome.errors;
  const json result = json::parse(outcome.output).at("results").at(0);
  EXPECT_THAT(result.at("provider").get<std::string>(), HasSubstr("onednn")) << "which prints";
  EXPECT_EQ(result.at("measurements").at(0).at("processes").size(), 2u);
}

TEST(RunInProcesses, TheSeedDecidesOnASimulatedGpu) {
  const std::string arguments = "add:count=1Mi --cache warm --seed ";
  const json first = processes_json(arguments + "4").at("results");
  EXPECT_EQ(processes_json(arguments + "4").at("results"), first);
  EXPECT_NE(processes_json(arguments + "5").at("results"), first);
}

TEST(RunInProcesses, Verifies) {
  const Outcome outcome = run_tool("run matmul:m=64,n=64,k=64,dtype=bf16 --verify --cache warm" + kBriefly);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr("erif"));
  const json document = processes_json("matmul:m=64,n=64,k=64,dtype=bf16 --verify --cache warm");
  EXPECT_EQ(document.at("results").at(0).at("verification").at("passed"), true);
}

TEST(RunInProcesses, TimesAModelLayerByLayer) {
  const Outcome outcome =
      run_tool("run resnet18:direction=fprop --only layer1 --cache warm --top all" + kBriefly);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("layer1.0.conv1"), HasSubstr("all ")));
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr("are over 3 fresh processes"));
}

TEST(RunInProcesses, AnInterruptionOfTheFirstIsNoCrash) {
  // The signal comes while the first process calibrates, or before.
  const Outcome outcome =
      run_tool("--version >/dev/null; timeout --preserve-status -s INT 0.3 '" JITTERSCOPE_EXECUTABLE
               "' run add:count=1Mi --device cpu --processes 3 --time-limit 60 --min-rounds 1000");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.output << outcome.errors;
}

TEST(RunInProcesses, OnTheCpu) {
  const Outcome outcome = run_tool(
      "run relu:count=4Ki --device cpu --processes 2 --cache warm --load burst --time-limit 0.2 "
      "--min-rounds 6 --idle "
      "1,3 --no-ceilings");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr(" 2 processes, "));
}

const std::string kLongKernel =
    "run 'cuda:@saxpy:saxpy,n=64Ki,a=2.5,block=256,grid=n/block,x=f32[n],y=inout:f32[n]' --device virtual:h200 "
    "--no-ceilings --cache warm --load burst";

// It may never end, or write where it must not: that is another process's end.
TEST(RunOfAKernel, HasAProcessOfItsOwn) {
  const Outcome outcome = run_tool(kLongKernel + " --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  const json measurement = json::parse(outcome.output).at("results").at(0).at("measurements").at(0);
  EXPECT_EQ(measurement.value("processes", json::array()).size(), 0u) << "the interval is that of one run";
  EXPECT_EQ(measurement.at("conditions").at("seed"), 1);
  const Outcome killed = run_tool(
      "--version; '" JITTERSCOPE_EXECUTABLE "' " + kLongKernel +
      " --precision 0.0001 --min-rounds 100000 --time-limit 100000 & "
      "for i in $(seq 600); do read -r worker </proc/$!/task/$!/children; [ -n \"$worker\" ] && break; "
      "sleep 0.05; done; kill -KILL ${worker:-$!}; wait $!");
  EXPECT_EQ(killed.exit_code, 5) << killed.output;
  EXPECT_THAT(on_one_line(killed.errors), HasSubstr("was ended by a signal (Killed)"));
}

// A plan on the CPU that takes a minute, but for `parent`.
std::string long_plan(const std::string& parent) {
  return R"({"format": "jitterscope-plan", "version": 1, "device": "cpu", "ceilings": false, "parent": )" +
         parent +
         R"(, "groups": [[{"operation": "relu:count=64", "options": {"caches": ["warm"], "loads": ["burst"],)" +
         R"( "precision": 1e-9, "time_limit_seconds": 60}}]]})";
}

TEST(Worker, SaysWhatIsWrongWithAPlan) {
  const Outcome empty = run_tool("worker </dev/null");
  EXPECT_EQ(empty.exit_code, 2);
  EXPECT_EQ(json::parse(empty.output).at("format"), "jitterscope-error");
  EXPECT_THAT(json::parse(empty.output).at("message"), HasSubstr("plan: "));
  // Whose parent is another process than the one that made the plan.
  const Outcome orphan = run_tool("worker <<'EOF'\n" + long_plan("1") + "\nEOF\n");
  EXPECT_EQ(orphan.exit_code, 5);
  EXPECT_THAT(json::parse(orphan.output).at("message"), HasSubstr("has ended"));
}

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 300 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  return condition();
}

// A process that nobody has waited for yet has ended as well.
bool has_ended(pid_t process) {
  const std::string text = file_text("/proc/" + std::to_string(process) + "/stat").text;
  return text.empty() || text.find(") Z ") != std::string::npos;
}

TEST(Worker, EndsWithTheProcessThatStartedIt) {
  const std::string folder = testing::TempDir() + "jitterscope_parent_" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  // A shell that starts a worker in the background and waits for it.
  std::ofstream(folder + "/parent") << "cd '" << folder << "'\n'" JITTERSCOPE_EXECUTABLE
                                    << "' worker >output 2>stages <<EOF &\n"
                                    << long_plan("$$")
                                    << "\nEOF\necho $$ $! >pids.new; mv pids.new pids\nwait\n";
  ASSERT_EQ(std::system(("sh " + folder + "/parent &").c_str()), 0);
  pid_t parent = 0, worker = 0;
  // It has told of a stage: the plan is read.
  const auto is_measuring = [&] {
    std::ifstream pids(folder + "/pids"), stages(folder + "/stages");
    std::string line;
    return static_cast<bool>(pids >> parent >> worker) && static_cast<bool>(std::getline(stages, line));
  };
  ASSERT_TRUE(comes_true(is_measuring));
  EXPECT_FALSE(has_ended(worker));
  ::kill(parent, SIGKILL);
  EXPECT_TRUE(comes_true([&] { return has_ended(worker); }));
  if (!has_ended(worker)) ::kill(worker, SIGKILL);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace jitterscope
