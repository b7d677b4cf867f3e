// `compare` of two files that `run` wrote.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"

namespace jitterscope {
namespace {

using nlohmann::json;
using test::Outcome;
using test::run_tool;
using testing::AllOf;
using testing::HasSubstr;

class RecordFiles : public testing::Test {
 protected:
  RecordFiles() { std::filesystem::create_directories(folder_); }
  ~RecordFiles() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::string measured(const std::string& name, const std::string& arguments) const {
    const Outcome outcome =
        run_tool("run " + arguments + " --json " + file(name) +
                 " --device virtual:h200 --cache warm --load burst --min-rounds 10 --time-limit "
                 "0.5 --no-ceilings");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    return file(name);
  }
  std::string written(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
    return file(name);
  }
  static std::string text_of(const std::string& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static std::string refusal(const std::string& arguments) {
    const Outcome outcome = run_tool("compare " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    EXPECT_EQ(outcome.output, "");
    EXPECT_EQ(std::ranges::count(outcome.errors, '\n'), 1) << outcome.errors;
    return outcome.errors;
  }

 private:
  std::string folder_ = testing::TempDir() + "jitterscope_records_" + std::to_string(::getpid());
};

TEST_F(RecordFiles, OfDifferentNetworksAreExplainedOnlyWhereTheyAreEqual) {
  const std::string large = measured("resnet50.json",
                                     "resnet50:batch=1,direction=fprop --only '^(conv1|layer1.0.relu)'"),
                    small =
                        measured("resnet18.json", "resnet18:batch=1,direction=fprop --only '^(conv1|fc)'"),
                    text = measured("gpt2.json", "gpt2:batch=1,direction=fprop --only ln_f");
  const Outcome equal = run_tool("explain " + large + " " + small);
  EXPECT_EQ(equal.exit_code, 0) << equal.errors;
  EXPECT_THAT(equal.output, testing::StartsWith("- **Different networks**: resnet50, then resnet18."));
  EXPECT_THAT(
      run_tool("compare " + large + " " + small).output,
      testing::StartsWith("What differs between the records:\n\n- network: resnet50, then resnet18\n"));
  const Outcome refused = run_tool("explain " + large + " " + text);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.output, "");
  EXPECT_THAT(refused.errors, HasSubstr("are different networks, resnet50 and gpt2, and no operation"));
}

TEST_F(RecordFiles, AreComparedAfterWhatTheyDifferIn) {
  const std::string monday = measured("monday.json", "spin:ns=10000"),
                    tuesday = measured("tuesday.json", "spin:ns=10000 --seed 2"),
                    slow = measured("slow.json", "spin:ns=12000");
  const Outcome same = run_tool("compare " + monday + " " + tuesday);
  EXPECT_EQ(same.exit_code, 0) << same.errors;
  EXPECT_THAT(same.output, testing::StartsWith("What differs between the records:"));
  EXPECT_THAT(same.output, HasSubstr("- seed: 1, then 2"));
  EXPECT_THAT(same.output, HasSubstr("takes the same time as"));
  const Outcome slower = run_tool("compare " + monday + " " + slow + " --fail-if slower");
  EXPECT_EQ(slower.exit_code, 1);
  EXPECT_THAT(slower.output, AllOf(HasSubstr("is slower than"), HasSubstr("- operation: ")));
  const Outcome as_json = run_tool("compare " + monday + " " + slow + " --json -");
  EXPECT_EQ(test::validate_json(as_json.output), 0);
  EXPECT_EQ(json::parse(as_json.output).at("differences").size(), 1u);
}

TEST_F(RecordFiles, SeveralAreComparedWithTheFirst) {
  const std::string first = measured("first.json", "spin:ns=10000"),
                    second = measured("second.json", "spin:ns=10000 --seed 2"),
                    third = measured("third.json", "spin:ns=12000");
  const std::string all = first + " " + second + " " + third;
  const Outcome outcome = run_tool("compare " + all + " --fail-if slower");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.errors;
  const std::string text = test::on_one_line(outcome.output);
  EXPECT_THAT(text, AllOf(HasSubstr("**B takes the same time as A"), HasSubstr("**C is slower than A**")));
  // What differs most is what to explain.
  EXPECT_THAT(outcome.output, HasSubstr("\n    jitterscope explain " + first + " " + third + "\n"));
  const json document = json::parse(run_tool("compare " + all + " --json -").output);
  EXPECT_EQ(test::validate_json(document.dump()), 0);
  EXPECT_EQ(document.at("measured").size(), 3u);
  ASSERT_EQ(document.at("comparisons").size(), 2u);
  EXPECT_EQ(document.at("comparisons")[1].at("alternative"), 2);
  EXPECT_NEAR(document.at("comparisons")[1].at("time_ratio").at("ratio").get<double>(), 1.2, 0.03);
  const std::string csv = run_tool("compare " + all + " --csv -").output;
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
  EXPECT_THAT(csv, testing::StartsWith("operation,"));
  EXPECT_THAT(refusal(all + " --csv - --json -"), HasSubstr("would mix"));
}

TEST_F(RecordFiles, SeveralOnOnePageBeginWithAllOfThem) {
  const std::string first = measured("first.json", "spin:ns=10000"),
                    second = measured("second.json", "spin:ns=12000"),
                    other = measured("other.json", "add:count=64Ki,128Ki"),
                    other_work = measured("other_work.json", "add:count=64Ki");
  const auto page_of = [&](const std::string& records) {
    const Outcome outcome = run_tool("report " + records + " -o " + file("page.html"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
    return text_of(file("page.html"));
  };
  EXPECT_THAT(page_of(first + " " + second), HasSubstr("2 records: first, second"));
  EXPECT_THAT(page_of(first + " " + other + " " + second), testing::Not(HasSubstr("records: first")));
  EXPECT_THAT(page_of(first + " " + other_work), testing::Not(HasSubstr("records: first")));
}

TEST_F(RecordFiles, OfANetworkAreExplainedFromTheTotal) {
  const std::string network = "resnet18:batch=2,direction=fprop --only layer1";
  const std::string first = measured("first.json", network),
                    second = measured("second.json", network + " --data zeros");
  const Outcome outcome = run_tool("explain " + first + " " + second + " --json " + file("why.json"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, testing::StartsWith("- All "));
  const json document = json::parse(text_of(file("why.json")));
  EXPECT_EQ(test::validate_json(document.dump()), 0);
  const json& total = document.at("total");
  double change = 0.0;
  for (const json& account : document.at("accounts")) change += account.at("change_seconds").get<double>();
  EXPECT_NEAR(change,
              total.at("second").at("median_seconds").get<double>() -
                  total.at("first").at("median_seconds").get<double>(),
              1e-9);
  EXPECT_TRUE(
      std::ranges::any_of(total.at("parts"), [](const json& part) { return part.at("name") == "data"; }));
}

TEST_F(RecordFiles, AnotherMaximumClockIsNamed) {
  written("capped.toml", "base = \"h200\"\n[governor]\nmaximum_clock_mhz = 1500\n");
  const std::string operations = "relu:count=16Mi matmul:m=2048,n=2048,k=2048,dtype=bf16";
  const std::string first = measured("first.json", operations), second = file("second.json");
  EXPECT_EQ(run_tool("run " + operations + " --json " + second + " --device virtual:" + file("capped.toml") +
                     " --cache warm --load burst --min-rounds 10 --time-limit 0.5 --no-ceilings")
                .exit_code,
            0);
  const std::string explained = test::without_breaks(run_tool("explain " + first + " " + second).output);
  EXPECT_THAT(explained.substr(0, explained.find('|')),
              AllOf(HasSubstr("by maximum clock 1980 MHz, then 1500 MHz"), testing::Not(HasSubstr("stays"))));
  EXPECT_THAT(run_tool("compare " + first + " " + second).output,
              HasSubstr("- maximum clock: 1980 MHz, then 1500 MHz\n"));
}

TEST_F(RecordFiles, OfProcessesToo) {
  const std::string first = measured("first.json", "spin:ns=10000 --processes 3"),
                    second = measured("second.json", "spin:ns=10300 --processes 3 --seed 2");
  const Outcome outcome = run_tool("compare " + first + " " + second + " --fail-if slower");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.output << outcome.errors;
}

TEST_F(RecordFiles, OfNetworksHaveATotal) {
  const std::string network = "resnet18:direction=fprop --only layer1";
  const std::string first = measured("first.json", network),
                    second = measured("second.json", network + " --seed 2");
  const Outcome outcome = run_tool("compare " + first + " " + second);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, AllOf(HasSubstr(" All layers: "), HasSubstr("| layer1.0.conv1")));
}

TEST_F(RecordFiles, OfNetworksThatShareSomeLayersHaveNoVerdict) {
  const std::string first = measured("first.json", "resnet18:direction=fprop --only 'layer1|^fc$'"),
                    second = measured("second.json", "resnet50:direction=fprop --only 'layer1|^fc$'");
  const Outcome outcome = run_tool("compare " + first + " " + second + " --fail-if different");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(outcome.errors, HasSubstr("--fail-if"));
  const std::string text = test::on_one_line(outcome.output);
  EXPECT_THAT(text, testing::ContainsRegex("[0-9]+ of [0-9]+ layers of [^ ]+ are left out"));
  EXPECT_THAT(text, testing::ContainsRegex("The [0-9]+ layers in common"));
  EXPECT_THAT(text, testing::Not(HasSubstr("All layers")));
  EXPECT_THAT(text, testing::Not(HasSubstr("may come from operation")));
  EXPECT_THAT(text, HasSubstr("common layers differ"));
  // A layer's clock names the layer, and few of them stand for all.
  EXPECT_THAT(outcome.output, testing::Not(testing::ContainsRegex("- clock: [0-9]+ MHz, then [0-9]+ MHz\n")));
  EXPECT_LT(std::ranges::count(outcome.output.substr(0, outcome.output.find("**")), '\n'), 20);
  const json document = json::parse(run_tool("compare " + first + " " + second + " --json -").output);
  EXPECT_EQ(test::validate_json(document.dump()), 0);
  ASSERT_GE(document.at("left_out").size(), 1u);
  EXPECT_EQ(document.at("left_out").back().at("alternative"), 1);
}

TEST_F(RecordFiles, FlagsThatNeedAnExperimentAreRefused) {
  const std::string record = measured("record.json", "spin:ns=10000");
  for (const std::string flag : {"--cache cold", "--processes 4", "--device cuda", "--dry-run", "--only fc",
                                 "--time-limit 2", "--lock-clocks base", "--seed 4"}) {
    EXPECT_THAT(refusal(record + " " + record + " " + flag),
                AllOf(HasSubstr(flag.substr(0, flag.find(' '))), HasSubstr("records")));
  }
  EXPECT_EQ(run_tool("compare " + record + " " + record + " --margin 2% --details --top 3").exit_code, 0);
}

TEST_F(RecordFiles, WhatExplainIsGivenBesideThemIsNamed) {
  const std::string record = measured("record.json", "spin:ns=10000");
  const std::string trace = written("trace.json", R"({"traceEvents": []})");
  const auto said = [](const std::string& arguments) {
    const Outcome outcome = run_tool("explain " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    return outcome.errors;
  };
  EXPECT_THAT(said(record + " relu:count=1Mi"), HasSubstr("relu:count=1Mi is not a file"));
  EXPECT_THAT(said(record + " none.json"), HasSubstr("none.json: this file does not exist"));
  EXPECT_THAT(said("none.json other.json"), HasSubstr("none.json: this file does not exist"));
  EXPECT_THAT(said(trace + " " + record), HasSubstr("it comes first"));
  EXPECT_THAT(said("spin:ns=10000 --quick --max-time 10"), HasSubstr("excludes"));
  for (const std::string flag : {"--quick", "--factors idle", "--device cpu", "--dry-run", "--seed 4"}) {
    EXPECT_THAT(said(record + " " + record + " " + flag), HasSubstr("nothing is switched anew"));
  }
  EXPECT_EQ(run_tool("explain " + record + " " + record + " --details").exit_code, 0);
}

TEST_F(RecordFiles, DamagedOrForeignOnesAreRefusedByName) {
  const std::string good = measured("good.json", "spin:ns=10000");
  const std::string text = text_of(good);
  const std::string half = written("half.json", text.substr(0, text.size() / 2));
  EXPECT_THAT(refusal(good + " " + half),
              AllOf(HasSubstr(half), HasSubstr("ends in the middle of a record")));
  json newer = json::parse(text);
  newer["version"] = 99;
  EXPECT_THAT(refusal(written("newer.json", newer.dump()) + " " + good),
              AllOf(HasSubstr("newer.json"), HasSubstr("version 99")));
  EXPECT_THAT(refusal(good + " " + written("other.json", R"({"traceEvents": []})")),
              HasSubstr("other.json: this is a profiler trace of PyTorch, not a record of a measurement: "
                        "`jitterscope run "));
  json doctor = json::parse(text);
  doctor["command"] = "doctor";
  EXPECT_THAT(refusal(good + " " + written("doctor.json", doctor.dump())),
              AllOf(HasSubstr("doctor.json"), HasSubstr("`jitterscope doctor` wrote this")));
  EXPECT_THAT(refusal(good + " " + written("empty.json", "")), HasSubstr("this file is empty"));
  json changed = json::parse(text);
  changed["results"][0]["measurements"][0]["time"]["median_seconds"] = "fast";
  EXPECT_THAT(refusal(good + " " + written("changed.json", changed.dump())),
              AllOf(HasSubstr("changed.json"), HasSubstr("median_seconds")));
}

TEST_F(RecordFiles, AreComparedWithRecordsOnly) {
  const std::string record = measured("record.json", "spin:ns=10000");
  for (const std::string& arguments : {record + " spin:ns=10000", "spin:ns=10000 " + record}) {
    EXPECT_THAT(refusal(arguments),
                HasSubstr(record + " is a record and spin:ns=10000 is not a file: compare a record "
                                   "with another record"));
  }
  EXPECT_THAT(refusal(record), HasSubstr("name two files or more"));
  EXPECT_THAT(refusal(record + " " + record + " --vary dtype=f32,f16"),
              HasSubstr("a record cannot be varied"));
  EXPECT_THAT(refusal(record + " nowhere.json"), HasSubstr("nowhere.json"));
}

TEST_F(RecordFiles, WithNothingInCommonSayWhatTheyHave) {
  const std::string two = measured("two.json", "spin:ns=10000,20000"),
                    one = measured("one.json", "add:count=64Ki");
  EXPECT_THAT(refusal(two + " " + one),
              AllOf(HasSubstr("no operation in common"), HasSubstr("spin:ns=10000 and 1 more"),
                    HasSubstr("add:count=65536")));
}

}  // namespace
}  // namespace jitterscope
