// `run --counters` and `list counters`, on a simulated GPU.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::kQuick;
using test::on_one_line;
using test::Outcome;
using test::run_tool;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kRun =
    "run relu:count=1Mi --device virtual:quiet --load burst --no-ceilings --time-limit 0.05";

json counters_of(const std::string& arguments) {
  const Outcome outcome = run_tool(arguments + " --json -");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(outcome.output), 0) << arguments;
  return json::parse(outcome.output).at("results").at(0).at("counters");
}

TEST(CountersTool, CountsEachCacheStateThatIsTimed) {
  const json counters = counters_of(std::string(kRun) + " --counters --cache cold,warm");
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0].at("cache"), "cold");
  const json& read = counters[0].at("values").at(0);
  EXPECT_EQ(read.at("name"), "dram__bytes_read.sum");
  EXPECT_EQ(read.at("quantity"), "dram_bytes_read");
  EXPECT_EQ(read.at("value"), 4 << 20);
  EXPECT_EQ(counters[1].at("values").at(0).at("value"), 0);
}

TEST(CountersTool, ATableStandsBesideTheTimes) {
  const Outcome outcome = run_tool(std::string(kRun) + " --counters");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(on_one_line(outcome.output),
              HasSubstr("Counters of one launch, read in a pass after the times."));
  EXPECT_THAT(outcome.output, HasSubstr("| DRAM read | written | to move | of it |"));
  EXPECT_THAT(run_tool(kRun).output, Not(HasSubstr("Counters")));
}

// An operation behind the flag is none of its names.
TEST(CountersTool, TheFlagTakesNamesAndLeavesOperations) {
  const std::string names = " gpu__time_duration.sum,sm__cycles_elapsed.avg";
  for (const std::string& arguments :
       {kRun + std::string(" --counters") + names, kRun + std::string(" --counters=") + names.substr(1),
        "run --counters" + names + " relu:count=1Mi" + kQuick}) {
    const json counters = counters_of(arguments);
    ASSERT_EQ(counters.at(0).at("values").size(), 2u) << arguments;
    EXPECT_EQ(counters.at(0).at("values").at(1).at("name"), "sm__cycles_elapsed.avg");
  }
  EXPECT_EQ(counters_of("run --counters relu:count=1Mi" + kQuick).at(0).at("values").size(), 4u);
}

TEST(CountersTool, AnUnknownNameIsRefusedBeforeAnythingIsTimed) {
  const Outcome outcome = run_tool(std::string(kRun) + " --counters dram__byte_read.sum");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_THAT(outcome.errors, HasSubstr("'dram__byte_read.sum' (did you mean 'dram__bytes_read.sum'?)"));
  EXPECT_EQ(outcome.output, "");
  EXPECT_EQ(run_tool(std::string(kRun) + " --counters=a__b,,c__d").exit_code, 2);
}

TEST(CountersTool, WhatIsMissingCostsTheCountersAlone) {
  const std::string run =
      "run relu:count=1Ki --device cpu --cache warm --time-limit 0.05 --no-ceilings --counters";
  const Outcome outcome = run_tool(run);
  EXPECT_EQ(outcome.exit_code, 3) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("| warm burst |"));
  EXPECT_THAT(on_one_line(outcome.output), HasSubstr("No counters of #1: cpu has no hardware counters"));
  const Outcome document = run_tool(run + " --json -");
  EXPECT_EQ(test::validate_json(document.output), 0);
  const json result = json::parse(document.output).at("results").at(0);
  EXPECT_EQ(result.at("without_counters_exit_code"), "missing");
  EXPECT_FALSE(result.contains("counters"));
}

TEST(CountersTool, FreshProcessesCountToo) {
  const json counters = counters_of(std::string(kRun) + " --counters --processes 2");
  EXPECT_EQ(counters.size(), 2u);
}

TEST(CountersTool, AreListed) {
  const Outcome outcome = run_tool("list counters --device virtual:h200");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("## Counters of virtual H200 (simulated) (virtual:h200)\n"));
  EXPECT_THAT(outcome.output, HasSubstr("- **dram__bytes_read.sum**: bytes read from DRAM [byte]\n"));
  const json document = json::parse(run_tool("list counters --device virtual --json -").output);
  EXPECT_EQ(document.at("counters").size(), 6u);
  EXPECT_EQ(document.at("counters").at(0).at("default"), true);
  EXPECT_EQ(document.at("counters").at(5).at("default"), false);
  const Outcome few = run_tool("list counters --device virtual --only 'cycles|written'");
  EXPECT_THAT(few.output, HasSubstr("**dram__bytes_write.sum**"));
  EXPECT_THAT(few.output, Not(HasSubstr("hit_rate")));
  EXPECT_EQ(run_tool("list counters --device virtual --only zzz").exit_code, 2);
  EXPECT_EQ(run_tool("list counters --device cpu").exit_code, 3);
  EXPECT_EQ(run_tool("list models --device virtual").exit_code, 2);
  EXPECT_EQ(run_tool("list counters --device virtual --chip GH100").exit_code, 2);
}

// Where CUPTI is missing that is said; else a chip that is not here is listed.
TEST(CountersTool, AChipIsListedOrWhatIsMissingSaid) {
  const Outcome outcome = run_tool("list counters --chip GH100 --only '^dram__bytes_read'");
  if (outcome.exit_code == 3) {
    EXPECT_THAT(outcome.errors, testing::AnyOf(HasSubstr("CUPTI"), HasSubstr("no CUDA device")));
    return;
  }
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("- **dram__bytes_read.sum**: "));
  EXPECT_EQ(run_tool("list counters --chip GH10").exit_code, 2);
}

}  // namespace
}  // namespace jitterscope
