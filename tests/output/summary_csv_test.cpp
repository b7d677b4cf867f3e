#include "record/run_summary.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "commands/run/files.hpp"
#include "output/sample_record.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Parameters, AreNumbersOrWordsWithTheUsualValuesOfWhatIsLeftOut) {
  EXPECT_EQ(parameters_json(Operation::parse(
                "conv2d:n=32,c=64,hw=56,k=64,rs=3,stride=2x1,dtype=f16,layout=nhwc,direction=fprop")),
            Json::parse(R"({"n": 32, "c": 64, "hw": 56, "k": 64, "rs": 3, "stride": "2x1", "dtype": "f16",
                            "layout": "nhwc", "direction": "fprop", "pad": 0, "dilation": 1, "groups": 1,
                            "engine": "pytorch"})"));
}

TEST(Parameters, AKernelOfOnesOwnIsOneBesideItsArguments) {
  const Json kernel = parameters_json(Operation::parse("cuda:k.cu:f<int,2>,grid=4x2,block=64,x=f32[8],n=8"));
  EXPECT_EQ(kernel.at("kernel"), "k.cu:f<int,2>");
  EXPECT_EQ(kernel.at("grid"), "4x2");
  EXPECT_EQ(kernel.at("n"), 8);
  EXPECT_EQ(kernel.at("fast_math"), 0);
}

TEST(Parameters, WhatHasNoNamesHasNone) {
  EXPECT_EQ(parameters_json(Operation::parse("aten::add.Tensor(f32[8,16],f32[8,16],alpha=2)")),
            Json::object());
  EXPECT_EQ(parameters_json(Callable{"my kernel: a=1"}), Json::object());
  EXPECT_EQ(parameters_json(Callable{"matmul:m=64"}), Json::object());
}

RunRecord two_of_a_sweep() {
  RunRecord record = test::sample_operation();
  record.entries[0].result.measurements.resize(1);
  record.entries.push_back(record.entries[0]);
  record.entries[0].result.subject = Operation::parse("matmul:m=64,n=64,k=64,dtype=f16");
  record.entries[1].result.subject = Operation::parse("matmul:m=128,n=64,k=64,batch=2,dtype=f16");
  return record;
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> all;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) all.push_back(field);
  return all;
}

// Of a text without quotes.
std::string value(const std::string& csv, std::size_t row, const std::string& column) {
  std::istringstream lines(csv);
  std::string header, line;
  std::getline(lines, header);
  for (std::size_t i = 0; i <= row; ++i) std::getline(lines, line);
  header.pop_back();
  const auto names = fields(header);
  const auto place = std::ranges::find(names, column) - names.begin();
  const auto cells = fields(line);
  return place < std::ssize(cells) ? cells[static_cast<std::size_t>(place)] : "no such column";
}

TEST(SummaryCsv, ASweepHasAColumnForEachParameterAndARowForEachTime) {
  std::string csv = run_summary_csv(two_of_a_sweep());
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 2);
  // The operation holds commas and is quoted: its column is left out here.
  for (std::size_t at = csv.find("\"matmul"); at != std::string::npos; at = csv.find("\"matmul", at)) {
    csv.replace(at, csv.find('"', at + 1) + 1 - at, "x");
  }
  EXPECT_EQ(value(csv, 0, "m"), "64");
  EXPECT_EQ(value(csv, 1, "m"), "128");
  EXPECT_EQ(value(csv, 0, "batch"), "1");
  EXPECT_EQ(value(csv, 1, "batch"), "2");
  EXPECT_EQ(value(csv, 0, "cache"), "warm");
  EXPECT_EQ(value(csv, 0, "median_seconds"), "0.00018");
  EXPECT_EQ(value(csv, 0, "low_seconds"), "0.00017982");
  EXPECT_EQ(value(csv, 0, "clock_hertz"), "1716000000");
  EXPECT_EQ(value(csv, 0, "algorithm"), "eng28");
  EXPECT_EQ(value(csv, 0, "settled"), "1");
}

TEST(SummaryCsv, AFailureHasARowWithItsReason) {
  const Json rows = run_summary_json(test::sample_model());
  EXPECT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].at("layer"), "layer1.0.conv1;layer1.0.conv2");
  EXPECT_EQ(rows[0].at("calls"), 2);
  EXPECT_FALSE(rows[0].contains("failure"));
  EXPECT_THAT(rows[4].at("failure").get<std::string>(), StartsWith("out of memory"));
  EXPECT_FALSE(rows[4].contains("median_seconds"));
  EXPECT_THAT(run_summary_csv(test::sample_model()),
              HasSubstr("\"out of memory: 12 GiB needed, 3 GiB free\""));
}

TEST(SummaryCsv, TheJsonHasTheSameRows) {
  const Json rows = run_summary_json(test::sample_operation());
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[2].at("load"), "sustained");
  EXPECT_EQ(rows[0].at("m"), 4096);
  EXPECT_EQ(rows[0].at("flops_per_second"), 761.111e12);
  EXPECT_EQ(rows[0].at("bound_by"), "compute");
  EXPECT_NEAR(rows[0].at("ceiling_share").get<double>(), 761.111 / 795.0, 1e-5);
  for (const Json& row : rows) {
    for (const auto& [key, field] : row.items()) {
      EXPECT_THAT(run_summary_csv(test::sample_operation()), HasSubstr(key)) << field;
    }
  }
}

TEST(SummaryCsv, NoIntervalBelowSixRounds) {
  RunRecord record = test::sample_operation();
  record.entries[0].result.measurements[0].time.rounds = 3;
  EXPECT_FALSE(run_summary_json(record)[0].contains("low_seconds"));
  EXPECT_TRUE(run_summary_json(record)[1].contains("low_seconds"));
  EXPECT_EQ(run_summary_csv(RunRecord()), "operation\r\n");
}

}  // namespace
}  // namespace jitterscope
