#include "commands/selftest/record.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "commands/records.hpp"
#include "record/json_text.hpp"

namespace jitterscope {
namespace {

using selftest::ProofLine;
using selftest::ProofValue;
using selftest::SelftestRecord;
using selftest::ValueKind;
using selftest::Verdict;
using testing::HasSubstr;

SelftestRecord sample() {
  SelftestRecord record;
  record.environment = {"0.1.0",
                        "jitterscope selftest --device cuda",
                        "2026-01-02T03:04:05Z",
                        {{"host_name", "node7"}, {"kernel", "Linux 6.1"}, {"operating_system", "Debian 12"}}};
  record.device.id = "cuda:0";
  record.device.name = "NVIDIA H200";
  record.device.libraries = {{"cudnn", "9.19", "/lib/libcudnn.so", ""}, {"cupti", "", "", "not found"}};
  record.device.properties = {{"driver_version", "580.1"}, {"ecc", "on"}};
  record.seed = 4;
  record.quick = true;
  record.duration = seconds(41);
  record.lines = {
      {"spin", "slope, 1 block", "1.000 ± 0.002", "0.9998 (0.9996–1.0001)",
       ProofValue{ValueKind::ratio, 0.9998, 0.9996, 1.0001, selftest::ProofTarget{0.998, 1.002}},
       Verdict::passed, "95 % interval"},
      {"spin", "slope, 132 blocks", "1.000 ± 0.002", "1.0110 (1.0100–1.0120)",
       ProofValue{ValueKind::ratio, 1.011, 1.01, 1.012}, Verdict::missed, "95 % interval"},
      {"copies", "bandwidth", "at most 4.92 TB/s", "4.31 TB/s",
       ProofValue{ValueKind::bytes_per_second, 4.31e12, {}, {}}, Verdict::passed, ""},
      {"trace", "whole proof", "", "", {}, Verdict::skipped, "libcupti was not found"},
      {"pairs", "whole proof", "", "", {}, Verdict::missed, "a second process failed: out of memory"}};
  return record;
}

int validate_selftest(const std::string& text) {
  const std::string path = testing::TempDir() + "selftest_" + std::to_string(::getpid()) + ".json";
  std::ofstream(path) << text;
  const int status = std::system(("'" JITTERSCOPE_VALIDATE_JSON "' '" + path + "'").c_str());
  ::unlink(path.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

constexpr const char* kTable = R"(
**MISSED**: 2 lines passed, 2 missed, 0 inconclusive, 1 skipped, in 41 s.

| proof  | of                | must be           | is                     | verdict    |
| ------ | ----------------- | ----------------- | ---------------------- | ---------- |
| spin   | slope, 1 block    | 1.000 ± 0.002     | 0.9998 (0.9996–1.0001) | passed     |
| spin   | slope, 132 blocks | 1.000 ± 0.002     | 1.0110 (1.0100–1.0120) | **missed** |
| copies | bandwidth         | at most 4.92 TB/s | 4.31 TB/s              | passed     |
| trace  | whole proof       | –                 | –                      | skipped    |
| pairs  | whole proof       | –                 | –                      | **missed** |

- spin, slope, 1 block; slope, 132 blocks: 95 % interval.
- trace, whole proof: libcupti was not found.
- pairs, whole proof: a second process failed: out of memory.
)";

TEST(SelftestTable, RowsNotesAndCounts) {
  EXPECT_EQ(selftest_table(sample(), 120),
            std::string("**selftest** on NVIDIA H200 (cuda:0), seed 4, quick.\n") + kTable);
}

TEST(SelftestTable, MarkdownBeginsWithMachineVersionsDateAndCommand) {
  EXPECT_EQ(selftest_markdown(sample()), std::string(R"(## NVIDIA H200 (cuda:0), seed 4, quick

- command: `jitterscope selftest --device cuda`
- date: 2026-01-02T03:04:05Z
- jitterscope 0.1.0
- versions: driver_version 580.1, cudnn 9.19
- kernel: Linux 6.1
- operating system: Debian 12
)") + kTable);
}

TEST(SelftestSummary, TheVerdictLeadsAndWhatMissedFollows) {
  EXPECT_EQ(selftest_summary(sample()),
            R"(**MISSED**: 2 lines passed, 2 missed, 0 inconclusive, 1 skipped, in 41 s.
selftest on NVIDIA H200 (cuda:0), seed 4, quick.

- missed: spin, slope, 132 blocks: must be 1.000 ± 0.002, is 1.0110
  (1.0100–1.0120); 95 % interval
- missed: pairs, whole proof: must be –, is –; a second process failed: out of
  memory
- skipped: trace, whole proof: libcupti was not found

Lines that passed: spin 1, copies 1, trace 0, pairs 0.
Every line: --details, --markdown FILE or --json FILE.
)");
}

TEST(SelftestSummary, WithoutAMissItIsShort) {
  SelftestRecord record = sample();
  record.lines.resize(1);
  EXPECT_EQ(selftest_summary(record),
            R"(**PASSED**: 1 line passed, 0 missed, 0 inconclusive, 0 skipped, in 41 s.
selftest on NVIDIA H200 (cuda:0), seed 4, quick.

Lines that passed: spin 1.
Every line: --details, --markdown FILE or --json FILE.
)");
  record.lines.clear();
  EXPECT_THAT(selftest_summary(record), HasSubstr("**NOT PROVEN**: "));
}

TEST(SelftestTable, WhatTellsNeitherIsCountedApartAndIsNoPass) {
  SelftestRecord record = sample();
  record.lines.resize(1);
  record.lines.push_back({"pairs", "copy", "83 % or more", "7 of 12: 58 % (28–85 %)",
                          ProofValue{ValueKind::share, 0.58, 0.28, 0.85}, Verdict::inconclusive, ""});
  EXPECT_THAT(selftest_table(record), HasSubstr("| 7 of 12: 58 % (28–85 %) | inconclusive |"));
  const std::string summary = selftest_summary(record);
  EXPECT_THAT(
      summary,
      testing::StartsWith("**PARTLY PROVEN**: 1 line passed, 0 missed, 1 inconclusive, 0 skipped, in 41 s."));
  EXPECT_THAT(selftest_summary(record, 200),
              HasSubstr("Inconclusive, because there were too few trials to tell (without --quick there "
                        "are more): pairs 1.\n"));
  record.quick = false;
  EXPECT_THAT(selftest_summary(record), testing::Not(HasSubstr("--quick")));
  EXPECT_EQ(validate_selftest(write_record(record)), 0);
  SelftestRecord missed = record;
  missed.lines.back().verdict = Verdict::missed;
  missed.lines.push_back(record.lines.back());
  EXPECT_THAT(selftest_summary(missed),
              testing::StartsWith("**MISSED**: 1 line passed, 1 missed, 1 inconclusive, 0 skipped"));
  record.lines.erase(record.lines.begin());
  EXPECT_THAT(selftest_summary(record),
              testing::StartsWith("**NOT PROVEN**: 0 lines passed, 0 missed, 1 inconclusive"));
}

TEST(SelftestTable, AnInterruptionIsSaid) {
  SelftestRecord record = sample();
  EXPECT_THAT(selftest_table(record), testing::Not(HasSubstr("interrupted")));
  record.interrupted = true;
  EXPECT_THAT(selftest_table(record), HasSubstr("; interrupted: these are the proofs so far.\n"));
  EXPECT_THAT(selftest_summary(record), HasSubstr("interrupted: these are the"));
}

TEST(SelftestTable, ListOfProofs) {
  const std::vector<selftest::Proof> proofs = {
      {"coverage", "intervals hold the truth", selftest::Place::simulation, {}, {}, nullptr},
      {"spin", "known time", selftest::Place::machine, {}, {}, nullptr}};
  EXPECT_EQ(proofs_table(proofs), R"(- **coverage** (virtual): intervals hold the truth
- **spin** (any device): known time
)");
}

TEST(SelftestJson, IsValidAndHoldsTheLines) {
  const std::string text = write_record(sample());
  EXPECT_EQ(validate_selftest(text), 0);
  const Json document = Json::parse(text);
  EXPECT_EQ(document.at("seed"), 4);
  EXPECT_EQ(document.at("quick"), true);
  const Json& slope = document.at("lines").at(1);
  EXPECT_EQ(slope.at("proof"), "spin");
  EXPECT_EQ(slope.at("verdict"), "missed");
  EXPECT_EQ(slope.at("kind"), "ratio");
  EXPECT_DOUBLE_EQ(slope.at("low"), 1.01);
  EXPECT_EQ(document.at("lines").at(2).at("kind"), "bytes_per_second");
  EXPECT_FALSE(document.at("lines").at(3).contains("value"));
}

TEST(SelftestJson, AnEmptyRecordIsValid) { EXPECT_EQ(validate_selftest(write_record(SelftestRecord())), 0); }

TEST(SelftestJson, TheSchemaRefusesWhatIsWrong) {
  const auto damaged = [](const auto& damage) {
    Json document = Json::parse(write_record(sample()));
    damage(document["lines"]);
    return validate_selftest(json_text(document));
  };
  EXPECT_EQ(damaged([](Json& lines) { lines[0].erase("kind"); }), 1);
  EXPECT_EQ(damaged([](Json& lines) { lines[0].erase("high"); }), 1);
  EXPECT_EQ(damaged([](Json& lines) { lines[3].erase("note"); }), 1);
  EXPECT_EQ(damaged([](Json& lines) { lines[2].erase("target"); }), 1);
  EXPECT_EQ(damaged([](Json& lines) { lines[0]["verdict"] = "perhaps"; }), 1);
}

}  // namespace
}  // namespace jitterscope
