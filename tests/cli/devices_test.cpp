// `run --device` with several devices.
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

class SeveralDevices : public test::WithFolder {
 protected:
  // A simulated GPU of a power cap.
  std::string gpu(const std::string& name, int power_cap) const {
    std::ofstream(path(name)) << "base = \"h200\"\n[power]\ncap_w = " << power_cap << "\n";
    return "virtual:" + path(name);
  }
  std::string three() const {
    return " --device '" + gpu("a.toml", 700) + " " + gpu("slow.toml", 560) + " " + gpu("b.toml", 700) + "'";
  }
};

constexpr const char* kProduct = "run matmul:m=8192,n=8192,k=8192,dtype=bf16 --cache warm";

TEST_F(SeveralDevices, TheSlowOneIsNamedWithItsReason) {
  const Outcome outcome =
      run_tool(kProduct + std::string(" --load sustained --sustained-time-limit 3 --processes 3 --json ") +
               path() + three());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  const std::string text = without_breaks(outcome.output);
  EXPECT_THAT(
      text,
      AllOf(HasSubstr("**3 GPUs**"), HasSubstr("slow.toml** is slower than the others, warm sustained: "),
            HasSubstr("its power limit is 560 W, that of the others 700 W"), Not(HasSubstr("Only bursts"))));
  const json record = json::parse(this->text());
  EXPECT_EQ(record.at("command"), "devices");
  EXPECT_EQ(record.at("comparisons").at(0).at("beside").size(), 2u);
  EXPECT_EQ(test::validate_json(this->text()), 0);
  const Outcome shown = run_tool("show " + path());
  EXPECT_EQ(shown.output, outcome.output);
}

// A network's 21 operations: its total, and the slowest alone.
TEST_F(SeveralDevices, OfANetworkTheTotalAndTheSlowestOperationsAreShown) {
  const std::string devices = " --device 'virtual:quiet virtual:quiet' --cache warm --time-limit 0.05 ";
  const Outcome outcome =
      run_tool("run resnet18:batch=1 --only 'layer[12].0' --processes 2 --top 1 --json " + path() + devices);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_EQ(test::validate_json(text()), 0);
  const std::string shown = without_breaks(outcome.output);
  EXPECT_THAT(shown, AllOf(HasSubstr("resnet18"), HasSubstr("**all "), HasSubstr("1 of "),
                           HasSubstr(" comparisons: --top N")));
  const auto tables = [](const std::string& of) {
    std::size_t count = 0;
    for (std::size_t at = of.find("| GPU"); at != std::string::npos; at = of.find("| GPU", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(tables(outcome.output), 4u) << "alone and at once, of the total and of one operation";
  EXPECT_EQ(run_tool("show " + path() + " --top 1").output, outcome.output);
  EXPECT_EQ(tables(run_tool("show " + path() + " --top 2").output), 6u);
}

TEST_F(SeveralDevices, NoneIsSlowWhereAllAreAlike) {
  const Outcome outcome =
      run_tool(kProduct + std::string(" --device 'virtual:h200 virtual:h200' --time-limit 0.3"));
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(without_breaks(outcome.output),
              AllOf(HasSubstr("No GPU is slower than the others"), HasSubstr("virtual:h200 (2)"),
                    HasSubstr("Only bursts were timed"), HasSubstr("| verdict |"),
                    Not(HasSubstr("told from chance")), Not(HasSubstr(" ? |"))));
}

TEST_F(SeveralDevices, OneProcessOfEachTellsNothing) {
  const Outcome outcome = run_tool(
      "run add:count=1Ki --processes 1 --time-limit 0.1 --cache warm --load burst "
      "--device 'virtual:h200 virtual:h200'");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(without_breaks(outcome.output),
              HasSubstr("One process of each GPU does not tell a slow GPU from chance"));
}

TEST_F(SeveralDevices, WhatDoesNotGoWithThemIsRefused) {
  const std::string devices = " --device 'virtual:h200 virtual:h200'";
  for (const char* flag : {" --csv -", " --save main", " --verify", " --kernels", " --in-sequence"}) {
    const Outcome outcome = run_tool("run add:count=1Ki" + devices + flag);
    EXPECT_EQ(outcome.exit_code, 2) << flag;
    EXPECT_THAT(outcome.errors, HasSubstr("does not go with several devices")) << flag;
  }
  const Outcome dry = run_tool("run add:count=1Ki --dry-run" + devices);
  EXPECT_EQ(dry.exit_code, 0) << dry.errors;
  EXPECT_THAT(dry.output,
              HasSubstr("on each of 2 devices, alone and all at once, in 4 fresh processes each"));
  const Outcome compare = run_tool("compare add:count=1Ki mul:count=1Ki" + devices);
  EXPECT_EQ(compare.exit_code, 2);
  EXPECT_THAT(compare.errors, HasSubstr("names several devices"));
}

TEST_F(SeveralDevices, UnlikeOnesAreRefusedBeforeAnythingIsMeasured) {
  const auto refused = [](const std::string& devices) {
    // Nothing is measured, as a plan alone is refused, too.
    const Outcome outcome = run_tool("run add:count=1Ki --dry-run --device '" + devices + "'");
    EXPECT_EQ(outcome.exit_code, 2) << devices;
    EXPECT_EQ(outcome.output, "") << devices;
    return without_breaks(outcome.errors);
  };
  EXPECT_THAT(refused("virtual:h200 virtual:h200 virtual:a100"),
              AllOf(HasSubstr("virtual:h200 is virtual H200 (simulated) and virtual:a100 is virtual A100"),
                    HasSubstr("unlike GPUs")));
  EXPECT_THAT(refused("cpu cpu"), AllOf(HasSubstr("cpu is this host's one CPU"), HasSubstr("or cpu alone")));
  EXPECT_THAT(refused("virtual:h200 cpu"), HasSubstr("cpu is this host's one CPU"));
  EXPECT_THAT(refused("cuda:1 gpu:1"), HasSubstr("cuda:1 and gpu:1 are one GPU"));
}

}  // namespace
}  // namespace jitterscope
