#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

// On a shared CPU a line may miss: then the code is 1.
constexpr int kPassed = 0, kMissed = 1;

TEST(SelftestCommand, ProvesOnTheCpuAndWritesValidJson) {
  const Outcome outcome = run_tool("selftest --device cpu --quick --only clock,cycles --json -");
  EXPECT_THAT(outcome.exit_code, AnyOf(kPassed, kMissed)) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json document = json::parse(outcome.output);
  EXPECT_EQ(document.at("quick"), true);
  EXPECT_EQ(document.at("device").at("id"), "cpu");
  const json& lines = document.at("lines");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines.at(0).at("proof"), "cycles");
  EXPECT_EQ(lines.at(1).at("proof"), "clock");
  bool missed = false;
  for (const json& line : lines) missed = missed || line.at("verdict") == "missed";
  bool passed = false;
  for (const json& line : lines) passed = passed || line.at("verdict") == "passed";
  EXPECT_EQ(outcome.exit_code, missed || !passed ? kMissed : kPassed);
}

TEST(SelftestCommand, PrintsTheTableAndWritesItUnderItsCommand) {
  const std::string path = testing::TempDir() + "truth_" + std::to_string(::getpid()) + ".md";
  const Outcome outcome =
      run_tool("selftest --device cpu --quick --only clock --seed 3 --details --markdown '" + path + "'");
  EXPECT_THAT(outcome.exit_code, AnyOf(kPassed, kMissed)) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("| clock | clock stamps | 1.000 ± 0.001 |"));
  EXPECT_THAT(outcome.errors, StartsWith("[1/1] clock"));
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  ::unlink(path.c_str());
  EXPECT_THAT(text, HasSubstr("selftest --device cpu --quick --only clock --seed 3 --details"));
  const std::string rows = outcome.output.substr(outcome.output.find("| proof"));
  EXPECT_THAT(text, HasSubstr(rows.substr(0, rows.find("\n\n"))));
}

TEST(SelftestCommand, WhatTheDeviceCannotDoIsSkippedWithAReason) {
  const Outcome outcome = run_tool("selftest --device cpu --quick --only trace");
  EXPECT_EQ(outcome.exit_code, kMissed);  // nothing passed
  EXPECT_THAT(outcome.output,
              StartsWith("**NOT PROVEN**: 0 lines passed, 0 missed, 0 inconclusive, 1 skipped, in "));
  EXPECT_THAT(outcome.output, HasSubstr("- skipped: trace, whole proof: a CPU has no kernels to trace"));
}

// Processes now running that have the text in their arguments.
int processes_with(const std::string& text) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    // None of a process that ends meanwhile.
    if (file_text(entry.path() / "cmdline").text.find(text) != std::string::npos) ++count;
  }
  return count;
}

class SelftestOfCpu : public test::WithFolder {};

TEST_F(SelftestOfCpu, AnInterruptionEndsItsProcessesAndKeepsTheProofsBefore) {
  const Outcome outcome =
      run_tool("selftest --device cpu --quick --only clock --only pairs --seed 71550001 --json - 2>" +
               path("progress") + " & for i in $(seq 1200); do grep -q '2/2. pairs' " + path("progress") +
               " && break; sleep 0.05; done; kill -INT $!; wait $!");
  EXPECT_EQ(outcome.exit_code, 130) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0);
  const json document = json::parse(outcome.output);
  EXPECT_EQ(document.at("interrupted"), true);
  ASSERT_EQ(document.at("lines").size(), 1u);
  EXPECT_EQ(document.at("lines").at(0).at("proof"), "clock");
  EXPECT_EQ(processes_with("7155000"), 0);  // its own seed, and those that it gives to its processes
}

TEST(SelftestCommand, TheNextProcessIsProvenOnTheGpuThatIsNamed) {
  const Outcome outcome = run_tool("selftest --device virtual:quiet --only next_process --quick --details");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::AllOf(HasSubstr("quiet, all lengths"), HasSubstr("of 40"),
                                             testing::Not(HasSubstr("h200"))));
}

TEST(SelftestCommand, ListsItsProofsAndItsPlan) {
  const Outcome list = run_tool("selftest --list");
  EXPECT_EQ(list.exit_code, 0);
  for (const char* name : {"spin", "cycles", "copies", "clock", "trace", "pairs"}) {
    EXPECT_THAT(list.output, HasSubstr("- **" + std::string(name) + "** (")) << name;
  }
  const Outcome plan = run_tool("selftest --device cpu --only spin --quick --dry-run");
  EXPECT_EQ(plan.exit_code, 0);
  EXPECT_THAT(plan.output, HasSubstr("in about 12 s:\n\nspin: "));
}

TEST(SelftestCommand, RefusesWhatItCannotUse) {
  EXPECT_EQ(run_tool("selftest --device cpu --only spni").errors,
            "jitterscope: --only: there is no proof 'spni' (did you mean 'spin'?)\n");
  EXPECT_EQ(run_tool("selftest --device cpu --only spni").exit_code, 2);
  EXPECT_EQ(run_tool("selftest --device cpu --only spin,clok").errors,
            "jitterscope: --only: there is no proof 'clok' (did you mean 'clock'?)\n");
  EXPECT_EQ(run_tool("selftest --device cpuu --only spin").exit_code, 2);
  EXPECT_EQ(run_tool("selftest --device cpu --json /nonexistent/x").exit_code, 2);
  EXPECT_EQ(run_tool("selftest --device cpu --markdown /nonexistent/x").exit_code, 2);
  EXPECT_EQ(run_tool("selftest --device cuda:99").exit_code, 3);
}

}  // namespace
}  // namespace jitterscope
