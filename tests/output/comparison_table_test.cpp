#include "output/comparison_table.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>

#include "commands/compare/record.hpp"
#include "output/text.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TimeEstimate time_of(double microseconds_, double precision = 0.001) {
  const Nanoseconds median = microseconds(microseconds_);
  return {median, median * (1.0 - precision), median * (1.0 + precision), 100};
}

Comparison comparison_of(const std::string& first, const std::string& second, double ratio, double half,
                         EffectVerdict verdict) {
  Comparison comparison;
  comparison.first.subject = Operation::parse(first);
  comparison.second.subject = Operation::parse(second);
  comparison.first.time = time_of(20.0);
  comparison.second.time = time_of(20.0 * ratio);
  comparison.first.clock = comparison.second.clock = megahertz(1716);
  comparison.time = {ratio, ratio - half, ratio + half};
  comparison.cycles = comparison.time;
  comparison.processes = 8;
  comparison.within = 0.0004;
  comparison.between = 0.0008;
  comparison.verdict = verdict;
  return comparison;
}

ComparisonRecord comparison_record(const std::vector<std::string>& alternatives) {
  ComparisonRecord record;
  record.alternatives = alternatives;
  record.processes_asked = 8;
  record.device.name = "NVIDIA H200";
  record.environment.tool_version = "0.1.0+g53b272b92";
  return record;
}

ComparisonRecord one_pair(EffectVerdict verdict = EffectVerdict::slower, double ratio = 1.0221) {
  ComparisonRecord record = comparison_record({"dtype=f16", "dtype=bf16"});
  record.comparisons = {
      comparison_of("add:count=8,dtype=f16", "add:count=8,dtype=bf16", ratio, 0.0016, verdict)};
  return record;
}

// On one line, as a reader would say it.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}
std::string one_line_table(const ComparisonRecord& record, const Page& page = {}) {
  return in_one_line(comparison_table(record, page));
}

void expect_width(const ComparisonRecord& record, std::size_t width) {
  for (const bool details : {false, true}) {
    const std::string table = comparison_table(record, {.width = width, .details = details});
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(display_width(line), width) << line;
    }
  }
}

// Three files of one operation: the second as fast as the first, the third slower, with another driver.
ComparisonRecord three_files() {
  ComparisonRecord record = comparison_record({"monday.json", "tuesday.json", "wed nesday.json"});
  record.processes_asked = 0;
  record.measured = {"2026-11-23T08:00:00Z", "2026-11-24T08:00:30Z", "2026-11-25T08:01:00Z"};
  record.comparisons = {comparison_of("add:count=8", "add:count=8", 1.0, 0.001, EffectVerdict::same),
                        comparison_of("add:count=8", "add:count=8", 1.05, 0.001, EffectVerdict::slower)};
  record.comparisons[1].alternative = 2;
  record.differences = {{"driver", "570.1", "580.2", true, {}, 2},
                        {"seed", "1", "2", false, {}, 1},
                        {"seed", "1", "2", false, {}, 2}};
  return record;
}

TEST(ComparisonTable, OfOtherTypesItSaysWhatRanAndWhoseChoiceThatIs) {
  ComparisonRecord record = one_pair();
  EXPECT_THAT(one_line_table(record), Not(HasSubstr("Run: "))) << "no provider is known";
  ComparedSide &first = record.comparisons[0].first, &second = record.comparisons[0].second;
  first.provider = second.provider = "cudnn";
  first.algorithm = "eng1";
  second.algorithm = "eng28";
  EXPECT_THAT(
      one_line_table(record),
      AllOf(HasSubstr("Run: dtype=f16 by cudnn eng1, dtype=bf16 by cudnn eng28; unless engine= names "),
            HasSubstr("the engine that PyTorch takes"), HasSubstr("jitterscope verify-pytorch")));
  first.provider = second.provider = "virtual";
  EXPECT_THAT(one_line_table(record), HasSubstr("A simulated GPU has no engines"));
  first.provider = second.provider = "builtin";
  EXPECT_THAT(one_line_table(record), HasSubstr("a plain kernel, which is not PyTorch's"));
  second.subject = first.subject;
  EXPECT_THAT(one_line_table(record), Not(HasSubstr("Run: "))) << "of one type nobody asks it";
}

TEST(ComparisonTable, OfSeveralFilesEachHasARowAgainstTheFirst) {
  const std::string table = comparison_table(three_files(), {.width = 120});
  EXPECT_THAT(table, HasSubstr("- driver: 570.1, then 580.2 in wed nesday.json\n"));
  EXPECT_THAT(table, HasSubstr("- seed: 1, then 2 in tuesday.json, wed nesday.json\n"));
  EXPECT_THAT(table, HasSubstr("**wed nesday.json is slower than monday.json**: +5.0"));
  EXPECT_THAT(table, HasSubstr("jitterscope explain monday.json 'wed nesday.json'\n"));
  EXPECT_THAT(table, HasSubstr("| monday.json     | 2026-11-23 08:00 |"));
  EXPECT_THAT(table, HasSubstr("| wed nesday.json | 2026-11-25 08:01 |"));
  expect_width(three_files(), 80);
}

TEST(ComparisonTable, OfSeveralFilesOfANetworkTheTotalsStandAboveAColumnForEach) {
  ComparisonRecord record = three_files();
  for (Comparison& each : record.comparisons) {
    each.layers = {"conv1"};
    each.count = 2;
    TotalComparison total{.alternative = each.alternative, .first = time_of(40), .time = each.time};
    total.second = time_of(40.0 * each.time.ratio);
    total.verdict = each.verdict;
    record.totals.push_back(total);
  }
  const std::string table = comparison_table(record, {.width = 100});
  EXPECT_THAT(table, HasSubstr("| all together | measured         |"));
  EXPECT_THAT(table, HasSubstr("| C            | 2026-11-25 08:01 | 42.00 µs ± 0.1 % |"));
  EXPECT_THAT(table, HasSubstr("| layer |   × |        A |        B |        C |\n"));
  EXPECT_THAT(table, HasSubstr("| conv1 |   2 | 20.00 µs | 20.00 µs | 21.00 µs |\n"));
}

// So many layers, each slower than the one before, the n-th run n times.
ComparisonRecord network_of(int layers) {
  ComparisonRecord record = comparison_record({"nchw", "nhwc"});
  record.title = "resnet18";
  for (int i = 1; i <= layers; ++i) {
    Comparison comparison = comparison_of("add:count=8", "add:count=9", 1.0 + 0.01 * i, 0.002,
                                          i % 2 == 0 ? EffectVerdict::slower : EffectVerdict::undecided);
    comparison.layers = {"layer" + std::to_string(i)};
    comparison.count = i;
    record.comparisons.push_back(comparison);
  }
  TotalComparison total;
  total.first = time_of(1000.0);
  total.second = time_of(1080.0);
  total.time = {1.08, 1.079, 1.081};
  total.processes = 8;
  total.verdict = EffectVerdict::slower;
  record.totals = {total};
  return record;
}

// A page of arms begins with the best one, a page of files with the one that differs most.
TEST(ComparisonHeadline, OneNumberStandsForAll) {
  Headline headline = headline_of(three_files());
  EXPECT_EQ(headline.subject, "wed nesday.json against monday.json");
  EXPECT_EQ(headline.number, "+5.00 %");
  EXPECT_EQ(headline.error, "(+4.90 to +5.10 %)");
  EXPECT_THAT(headline.marks, ElementsAre("slower", "the most different of 2", "warm burst", "margin 1 %"));
  ComparisonRecord arms = three_files();
  arms.measured.clear();
  arms.comparisons[0].time = {0.25, 0.249, 0.251};
  headline = headline_of(arms);
  EXPECT_EQ(headline.subject, "tuesday.json against monday.json");
  EXPECT_EQ(headline.number, "1/4.00 of the time");
  EXPECT_THAT(headline.marks, Contains("the fastest of 2"));
  headline = headline_of(network_of(6));
  EXPECT_EQ(headline.number, "+8.00 %");
  EXPECT_THAT(headline.marks, ElementsAre("slower", "warm burst", "8 processes", "margin 1 %"));
}

// The first conditions are those of the headline; the text has the others.
TEST(ComparisonTable, AChangeSaysWhatItIsWhereItsTwoTimesTellAnother) {
  ComparisonRecord record = one_pair(EffectVerdict::slower, 1.13);
  EXPECT_THAT(one_line_table(record), Not(HasSubstr("rounds beside each other")));
  record.comparisons[0].first.time = time_of(475.0, 0.05);
  record.comparisons[0].second.time = time_of(497.0, 0.05);
  EXPECT_THAT(
      one_line_table(record),
      HasSubstr("dtype=bf16 is slower than dtype=f16**: +13.00 % (+12.84 to +13.16 %) in rounds beside each "
                "other, disturbed ones too, while the two times themselves differ by +4.6 %: they are "
                "medians of each side's own rounds."));
}

TEST(ComparisonTable, ATotalSaysWhatItIsWhereItsTwoTimesTellAnother) {
  ComparisonRecord record = one_pair();
  record.totals = {{.first = time_of(100.0),
                    .second = time_of(102.0),
                    .time = {1.1, 1.09, 1.11},
                    .processes = 8,
                    .verdict = EffectVerdict::slower}};
  EXPECT_THAT(one_line_table(record),
              HasSubstr("the two times themselves differ by +2.0 %: they are medians"));
}

TEST(ComparisonHeadline, HasOneConditionOfSeveral) {
  ComparisonRecord record = one_pair();
  record.comparisons.push_back(record.comparisons[0]);
  record.comparisons[1].first.conditions.cache = record.comparisons[1].second.conditions.cache =
      CacheState::cold;
  record.comparisons[1].time = {0.5, 0.49, 0.51};
  const Headline headline = headline_of(record);
  EXPECT_EQ(headline.number, "+2.21 %");
  EXPECT_THAT(headline.marks, ElementsAre("slower", "warm burst", "8 processes", "margin 1 %"));
}

TEST(ComparisonHeadline, NoLayerStandsForTheWhole) {
  ComparisonRecord record = network_of(6);
  record.left_out = {{.alternative = 1, .layers = 245, .of = 266}};
  EXPECT_EQ(headline_of(record).number, "no verdict on the whole");
  record.totals.clear();
  record.comparisons.resize(1);
  EXPECT_EQ(headline_of(record).number, "no verdict on the whole");
  EXPECT_EQ(headline_of(comparison_record({"a", "b"})).number, "");
}

TEST(ComparisonTable, OnlyFilesAreExplained) {
  EXPECT_THAT(comparison_table(one_pair(), {.width = 120}), Not(HasSubstr("jitterscope explain")));
  ComparisonRecord files = one_pair();
  files.processes_asked = 0;
  files.measured = {"", ""};
  files.alternatives = {"a.json", "b.json"};
  EXPECT_THAT(comparison_table(files, {.width = 120}),
              HasSubstr("cause by cause:\n\n    jitterscope explain a.json b.json\n"));
}

ComparisonRecord batch_study() {
  ComparisonRecord record = comparison_record({"×1", "×8"});
  record.study =
      ComparedStudy{"batch", "Up to which size does a larger batch pay?", {"**×8 is faster.**", "Take it."}};
  record.works = {1.0, 8.0};
  record.comparisons = {comparison_of("relu:count=8", "relu:count=64", 0.25, 0.001, EffectVerdict::faster)};
  record.comparisons[0].second.time = time_of(40.0);
  record.comparisons[0].first.verification = Verification{.relative_error = 3e-7, .passed = true};
  record.comparisons[0].second.verification =
      Verification{.relative_error = 0.25, .tolerance = 1e-5, .passed = false};
  return record;
}

TEST(ComparisonTable, AStudyBeginsWithItsQuestionAndItsAnswers) {
  const std::string table = comparison_table(batch_study(), {});
  EXPECT_THAT(table,
              testing::StartsWith(
                  "Up to which size does a larger batch pay?\n\n**×8 is faster.**\nTake it.\n\n8 fresh "));
  EXPECT_THAT(table, HasSubstr("| same work |"));
  EXPECT_THAT(table, HasSubstr(" 5.000 µs | "));  // 40 of eight times as much
  EXPECT_THAT(table, HasSubstr(" 3.0e-07 |"));
  EXPECT_THAT(table, HasSubstr("| 2.5e-01 WRONG |"));
  EXPECT_THAT(
      in_one_line(table),
      HasSubstr("WRONG RESULT of ×8: relu:count=64,dtype=f32, relative error 2.5e-01, allowed 1.0e-05."));
  EXPECT_THAT(one_line_table(batch_study(), {.details = true}),
              HasSubstr("same work: the time of a launch, divided by"));
}

TEST(ComparisonTable, ATimeOfAWrongResultIsNotCompared) {
  ComparisonRecord record = batch_study();
  record.comparisons[0].second.verification->unwritten = 17888;
  const std::string study = comparison_table(record, {});
  EXPECT_THAT(study, HasSubstr("| 17888 unwritten WRONG |"));
  EXPECT_THAT(study, HasSubstr("| WRONG RESULT |"));
  EXPECT_THAT(study, Not(HasSubstr("faster |")));
  EXPECT_THAT(study, Not(HasSubstr("75.0 %")));
  record.study = std::nullopt;
  EXPECT_THAT(one_line_table(record),
              HasSubstr("**×1 and ×8 do not compute the same**: their times are not compared."));
}

TEST(ComparisonTable, AStudyOfANetworkHasAColumnForEachArm) {
  ComparisonRecord record = comparison_record({"f32", "bf16", "f16"});
  record.study = ComparedStudy{"precision", "Which?", {"f16."}};
  for (const char* layer : {"conv1", "fc"}) {
    for (std::size_t alternative = 1; alternative <= 2; ++alternative) {
      record.comparisons.push_back(
          comparison_of("relu:count=8", "relu:count=8,dtype=f16", 0.5, 0.001, EffectVerdict::faster));
      record.comparisons.back().layers = {layer};
      record.comparisons.back().alternative = alternative;
    }
  }
  record.comparisons[2].first.time = time_of(90.0);
  for (std::size_t alternative = 1; alternative <= 2; ++alternative) {
    TotalComparison total{.alternative = alternative, .verdict = EffectVerdict::faster};
    total.first = time_of(110.0);
    total.second = time_of(55.0);
    total.time = {0.5, 0.49, 0.51};
    record.totals.push_back(total);
  }
  const std::string table = comparison_table(record, {});
  EXPECT_THAT(table, HasSubstr("| all together |"));
  EXPECT_THAT(table, HasSubstr("| f32          | 110.0 µs"));
  // The longest layer first.
  EXPECT_LT(table.find("| fc "), table.find("| conv1 "));
  EXPECT_THAT(comparison_table(record, {.details = true}), HasSubstr("| verdict |"));
}

TEST(ComparisonTable, OnePairBeginsWithItsVerdict) {
  const std::string table = comparison_table(one_pair(), {});
  EXPECT_THAT(table,
              testing::StartsWith("**dtype=bf16 is slower than dtype=f16**: +2.21 % (+2.05 to +2.37 %).\n"));
  EXPECT_THAT(in_one_line(table), HasSubstr("8 fresh processes, warm burst, NVIDIA H200, jitterscope 0.1.0"));
  EXPECT_THAT(table, HasSubstr("+2.21 ± 0.16 % |"));
  EXPECT_THAT(table, HasSubstr(" 20.00 µs ± 0.1 % |"));
  EXPECT_THAT(in_one_line(table),
              HasSubstr("Rounds within a process leave its ratio uncertain by 0.04 %, and the ratios of "
                        "processes differ by another 0.08 % (standard deviations)."));
  expect_width(one_pair(), 80);
}

TEST(ComparisonTable, EachVerdictHasItsWords) {
  EXPECT_THAT(comparison_table(one_pair(EffectVerdict::faster, 0.95), {}),
              HasSubstr("**dtype=bf16 is faster than dtype=f16**: -5.00 % (-5.16 to -4.84 %)."));
  EXPECT_THAT(one_line_table(one_pair(EffectVerdict::same, 1.0001)),
              AllOf(HasSubstr("**dtype=bf16 takes the same time as dtype=f16 within ± 1 %**: +0.01 %"),
                    Not(HasSubstr("smaller than the margin"))));
  EXPECT_THAT(one_line_table(one_pair(EffectVerdict::same, 1.005)),
              HasSubstr("a difference smaller than the margin."));
}

TEST(ComparisonTable, UndecidedSaysWhatWouldDecide) {
  ComparisonRecord record = one_pair(EffectVerdict::undecided, 1.003);
  record.comparisons[0].processes_to_decide = 21;
  EXPECT_THAT(one_line_table(record),
              AllOf(HasSubstr("**Undecided between dtype=f16 and dtype=bf16**: +0.30 %"),
                    HasSubstr("; about 21 processes would probably decide (--processes 21).")));
  // Rounds within a process, and not the processes, leave it open.
  record.comparisons[0].within = 0.2;
  record.comparisons[0].between = 0.0;
  record.processes_asked = 8;
  EXPECT_THAT(one_line_table(record), HasSubstr("(--processes 21, or a --time-limit 2.6 times as long)."));
  record.comparisons[0].processes_to_decide.reset();
  EXPECT_THAT(one_line_table(record), HasSubstr("; even a thousand processes would not decide."));
  record.processes_asked = 1;
  record.comparisons[0].processes = 1;
  EXPECT_THAT(one_line_table(record), Not(HasSubstr("decide.")));
  record.processes_asked = 0;  // records, which no more processes will join
  EXPECT_THAT(one_line_table(record), Not(HasSubstr("decide.")));
}

TEST(ComparisonTable, OneProcessSaysWhatItsIntervalsHold) {
  ComparisonRecord record = one_pair();
  record.processes_asked = 1;
  record.comparisons[0].processes = 1;
  const std::string table = one_line_table(record);
  EXPECT_THAT(table, HasSubstr("1 process, warm burst"));
  EXPECT_THAT(table, HasSubstr("One process: the intervals hold for this process"));
  EXPECT_THAT(table, Not(HasSubstr("leave its ratio uncertain")));
}

TEST(ComparisonTable, LostProcessesAndAnInterruptionAreSaid) {
  ComparisonRecord record = one_pair();
  record.comparisons[0].processes = 6;
  record.lost_processes = {"process 2 was ended by a signal (Killed), perhaps for want of memory",
                           "process 5 failed: out of memory"};
  record.interrupted = true;
  const std::string table = one_line_table(record);
  EXPECT_THAT(table, HasSubstr("6 fresh processes"));
  EXPECT_THAT(table,
              HasSubstr("Lost: process 2 was ended by a signal (Killed), perhaps for want of memory."));
  EXPECT_THAT(table, HasSubstr("Lost: process 5 failed: out of memory."));
  EXPECT_THAT(table, HasSubstr("Interrupted: this is the result so far."));
  expect_width(record, 80);
}

TEST(ComparisonTable, AnInterruptionOfTheFirstProcessLeavesASentence) {
  ComparisonRecord record = comparison_record({"a", "b"});
  record.interrupted = true;
  EXPECT_THAT(one_line_table(record), HasSubstr("Interrupted: this is the result so far."));
}

TEST(ComparisonTable, AFileMayHaveTotalsAndNoComparisons) {
  ComparisonRecord record = comparison_record({"a", "b"});
  record.totals = {TotalComparison{}};
  record.left_out = {{.alternative = 1, .layers = 2, .of = 3}};
  EXPECT_THAT(one_line_table(record, {.details = true}), testing::StartsWith("Nothing was compared."));
}

TEST(ComparisonTable, SeveralArmsHaveARowEach) {
  ComparisonRecord record = comparison_record({"engine=1", "engine=2", "engine=3"});
  for (std::size_t alternative = 1; alternative < 3; ++alternative) {
    record.comparisons.push_back(
        comparison_of("add:count=8", "add:count=8", alternative == 1 ? 0.9 : 1.2, 0.002,
                      alternative == 1 ? EffectVerdict::faster : EffectVerdict::slower));
    record.comparisons.back().alternative = alternative;
  }
  const std::string table = comparison_table(record, {});
  EXPECT_THAT(table, HasSubstr("**engine=2 is faster than engine=1**: -10.00 %"));
  EXPECT_THAT(table, HasSubstr("**engine=3 is slower than engine=1**: +20.00 %"));
  EXPECT_THAT(table, HasSubstr("\n| engine=1 "));
  EXPECT_EQ(std::ranges::count(table, '\n'), 11) << table;
  expect_width(record, 80);
}

TEST(ComparisonTable, LongNamesAreLettersWithALegend) {
  const std::string first =
      "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop,engine=best";
  ComparisonRecord record = one_pair();
  record.alternatives = {first, first + "2"};
  const std::string table = comparison_table(record, {});
  EXPECT_THAT(table, HasSubstr("**B is slower than A**"));
  EXPECT_THAT(table, HasSubstr("\nA: conv2d:"));
  EXPECT_THAT(table, HasSubstr("\nB: conv2d:"));
  expect_width(record, 100);
}

TEST(ComparisonTable, SeveralStatesAreNamed) {
  ComparisonRecord record = one_pair();
  record.comparisons.push_back(record.comparisons[0]);
  Comparison& cold = record.comparisons[1];
  cold.first.conditions.cache = cold.second.conditions.cache = CacheState::cold;
  cold.verdict = EffectVerdict::same;
  cold.time = {1.001, 1.0, 1.002};
  const std::string table = comparison_table(record, {});
  EXPECT_THAT(table, HasSubstr("**dtype=bf16 is slower than dtype=f16**, warm burst: +2.21 %"));
  EXPECT_THAT(in_one_line(table), HasSubstr("within ± 1 %**, cold burst: +0.10 %"));
  EXPECT_THAT(table, HasSubstr("| conditions "));
  expect_width(record, 80);
}

TEST(ComparisonTable, WithoutClocksThereIsNoColumnOfCycles) {
  ComparisonRecord record = one_pair();
  EXPECT_THAT(comparison_table(record, {.width = 120}), HasSubstr("cycles"));
  record.comparisons[0].cycles.reset();
  EXPECT_THAT(comparison_table(record, {.width = 120}), Not(HasSubstr("cycles")));
}

// Beside "+0.09 %" two times of unlike digits are another difference.
TEST(ComparisonTable, TheTwoTimesOfAWholeHaveTheSameDigits) {
  ComparisonRecord record = network_of(6);
  record.totals[0].first = {milliseconds(4.2432), milliseconds(4.2412), milliseconds(4.2452), 96};
  record.totals[0].second = {milliseconds(4.2473), milliseconds(4.2173), milliseconds(4.2773), 96};
  EXPECT_THAT(in_one_line(comparison_table(record, {})), HasSubstr("All layers: 4.247 ms for 4.243 ms; by"));
}

TEST(ComparisonTable, ANetworkHasItsTotalAndWhatChangesItMostFirst) {
  const std::string table = comparison_table(network_of(6), {.top = 2});
  EXPECT_THAT(
      in_one_line(table),
      HasSubstr("**nhwc is slower than nchw**, warm burst: +8.00 % (+7.90 to +8.10 %). All layers: 1.080 ms "
                "for 1.000 ms; by layer 3 slower, 3 undecided."));
  EXPECT_LT(table.find("| layer6"), table.find("| layer5"));
  EXPECT_THAT(table, Not(HasSubstr("| layer4")));
  EXPECT_THAT(table, HasSubstr("2 of 6 rows, the largest change of the total first; all: --top all."));
  EXPECT_THAT(comparison_table(network_of(6), {}), HasSubstr("| layer1"));
  expect_width(network_of(6), 80);
}

TEST(ComparisonTable, ATotalCountsTheLayersOfItsOwnConditions) {
  ComparisonRecord record = network_of(3);
  TotalComparison cold = record.totals[0];
  cold.cache = CacheState::cold;
  record.totals.push_back(cold);
  for (std::size_t i = 0; i < 3; ++i) {
    Comparison layer = record.comparisons[i];
    layer.first.conditions.cache = layer.second.conditions.cache = CacheState::cold;
    layer.verdict = EffectVerdict::same;
    record.comparisons.push_back(layer);
  }
  const std::string table = one_line_table(record);
  EXPECT_THAT(table, HasSubstr("by layer 1 slower, 2 undecided."));
  EXPECT_THAT(table, HasSubstr("by layer 3 same."));
}

TEST(ComparisonTable, FailuresAreListedBesideTheRest) {
  ComparisonRecord record = network_of(3);
  record.comparisons[1].failure = "out of memory: 12 GiB needed, and 3 GiB are free on this device";
  const std::string table = comparison_table(record, {});
  EXPECT_THAT(in_one_line(table), HasSubstr("Not compared:  - layer2: out of memory: 12 GiB needed"));
  EXPECT_THAT(table, Not(HasSubstr("| layer2")));
  expect_width(record, 80);
  ComparisonRecord single = one_pair();
  single.comparisons[0].failure = "out of memory";
  EXPECT_THAT(comparison_table(single, {}), HasSubstr("- dtype=bf16: out of memory"));
}

TEST(ComparisonTable, DifferencesOfRecordsComeFirst) {
  ComparisonRecord record = one_pair();
  record.alternatives = {"monday.json", "tuesday.json"};
  record.processes_asked = 0;
  record.differences = {
      {"driver", "570.1", "580.2", true}, {"host", "lab1", "lab2", false}, {"torch", "", "2.9", true}};
  const std::string table = comparison_table(record, {});
  EXPECT_THAT(table,
              testing::StartsWith("What differs between the records:\n\n- driver: 570.1, then 580.2\n"));
  EXPECT_LT(table.find("580.2"), table.find("is slower than"));
  EXPECT_THAT(in_one_line(table),
              HasSubstr("A difference in time may come from driver or torch instead of the work itself."));
  EXPECT_THAT(table, Not(HasSubstr("process")));
  expect_width(record, 80);
  record.differences = {{"host", "lab1", "lab2", false}};
  EXPECT_THAT(comparison_table(record, {}), Not(HasSubstr("may come from")));
}

TEST(ComparisonTable, OfATotalThatLacksLayersThereIsNoVerdict) {
  ComparisonRecord record = network_of(6);
  record.left_out = {{.alternative = 1, .layers = 245, .of = 266}};
  record.totals[0].verdict = EffectVerdict::undecided;
  const std::string table = one_line_table(record);
  EXPECT_THAT(table,
              testing::StartsWith("**245 of 266 layers of nhwc are left out**: no verdict on the whole. The "
                                  "21 layers in common, warm burst: nchw 1.000 ms and nhwc 1.080 ms, "
                                  "+8.00 % (+7.90 to +8.10 %); by layer 3 slower, 3 undecided."));
  EXPECT_THAT(table, AllOf(Not(HasSubstr("All layers")), Not(HasSubstr("would not decide"))));
  record.left_out.insert(record.left_out.begin(), {.alternative = 0, .layers = 2, .of = 23});
  EXPECT_THAT(one_line_table(record),
              testing::StartsWith("**2 of 23 layers of nchw and 245 of 266 layers of nhwc are left out**: "));
  expect_width(record, 80);
  // One layer makes no sum: its verdict is one on the layer.
  record.totals.clear();
  record.comparisons.resize(1);
  record.comparisons[0].verdict = EffectVerdict::slower;
  EXPECT_THAT(one_line_table(record),
              HasSubstr("no verdict on the whole. **nhwc is slower than nchw**, layer1: "));
}

TEST(ComparisonTable, WhatFailedIsMissingFromTheTotal) {
  ComparisonRecord record = network_of(3);
  record.comparisons[1].failure = "out of memory";
  EXPECT_THAT(one_line_table(record),
              testing::StartsWith("**2 layers without a time are left out**: no verdict "
                                  "on the whole. The 4 layers in common, "));
}

TEST(ComparisonTable, ACauseOfManyLayersIsSaidOnce) {
  ComparisonRecord record = network_of(8);
  record.processes_asked = 0;
  for (int i = 1; i <= 8; ++i) {
    const std::string layer = "layer" + std::to_string(i), clock = std::to_string(1700 - i) + " MHz";
    record.differences.push_back({"clock", "1800 MHz", clock, true, {layer}});
  }
  record.differences.push_back({"cache", "warm", "cold", true, {"layer1", "layer2", "layer3"}});
  const std::string table = comparison_table(record, {});
  EXPECT_THAT(table, HasSubstr("\n- clock (layer1): 1800 MHz, then 1699 MHz\n"));
  EXPECT_THAT(
      table,
      HasSubstr("\n- clock: different in 5 more operations\n- cache (layer1 and 2 more): warm, then cold\n"));
  EXPECT_THAT(table, HasSubstr("A difference in time may come from clock or cache instead of the work"));
  expect_width(record, 80);
}

TEST(ComparisonTable, ALayerThatDiffersInEachConditionIsNamedOnce) {
  ComparisonRecord record = one_pair();
  record.comparisons.push_back(record.comparisons[0]);
  record.comparisons[0].layers = {"conv1"};
  record.comparisons[1].layers = {"conv2"};
  record.differences = {{"clock", "1980 MHz", "1969 MHz", true, {"conv1"}},
                        {"clock", "1970 MHz", "1960 MHz", true, {"conv1"}},
                        {"clock", "1980 MHz", "1950 MHz", true, {"conv2"}}};
  const std::string table = one_line_table(record);
  EXPECT_THAT(table, AllOf(HasSubstr("clock (conv1): 1980 MHz, then 1969 MHz"), HasSubstr("clock (conv2)"),
                           Not(HasSubstr("1970 MHz"))));
}

TEST(ComparisonTable, OperationsThatDifferAreOtherWork) {
  ComparisonRecord record = network_of(3);
  record.processes_asked = 0;
  record.differences = {{"operation", "add:count=8", "add:count=9", true, {"layer1", "layer3"}},
                        {"clock", "1800 MHz", "1700 MHz", true, {"layer2"}}};
  const std::string table = one_line_table(record);
  EXPECT_THAT(table, HasSubstr("- operation (layer1 and 1 more): count=8, then count=9"));
  EXPECT_THAT(table, HasSubstr("The operations of 2 of 3 common layers differ, so a difference in time "
                               "comes first of all from the work. It may also come from clock."));
  EXPECT_THAT(table, Not(HasSubstr("instead of the work itself")));
  ComparisonRecord one = one_pair();
  one.differences = {{"operation", "add:count=8", "add:count=9", true, {"add:count=8"}}};
  EXPECT_THAT(one_line_table(one), HasSubstr("The operations differ, so"));
}

TEST(ComparisonTable, DetailsSayWhatTheWordsMean) {
  ComparisonRecord record = network_of(3);
  const std::string table = one_line_table(record, {.details = true});
  EXPECT_THAT(table, HasSubstr("95 % intervals over processes"));
  EXPECT_THAT(table, HasSubstr("corrected for the number of comparisons (Holm)"));
  EXPECT_THAT(table, HasSubstr("same: it is within ± 1 %"));
}

TEST(ComparisonTable, DetailsHaveCyclesClocksAndSpreadsAtAnyWidth) {
  ComparisonRecord record = one_pair();
  record.comparisons[0].second.clock = megahertz(1650);
  const std::string one = comparison_table(record, {.width = 80, .details = true});
  EXPECT_THAT(
      one, AllOf(HasSubstr("| first clock | second clock |      in cycles |"),
                 HasSubstr("1716 MHz |     1650 MHz | +2.21 ± 0.16 % |"), HasSubstr("| between processes")));
  EXPECT_THAT(comparison_table(record, {.width = 80}), Not(HasSubstr("first clock")));
  ComparisonRecord network = network_of(3);
  network.totals[0].cycles = {1.07, 1.069, 1.071};
  network.totals[0].first_clock = megahertz(1700);
  network.totals[0].second_clock = megahertz(1705);
  const std::string layers = comparison_table(network, {.width = 80, .details = true, .top = 2});
  EXPECT_THAT(layers, HasSubstr("| all layers |    1700 MHz |     1705 MHz | +7.00 ± 0.10 % |"));
  EXPECT_THAT(layers, HasSubstr("| layer3     |    1716 MHz |     1716 MHz | +3.00 ± 0.20 % |"));
  EXPECT_THAT(in_one_line(layers),
              HasSubstr("within a process: how uncertain its rounds leave its ratio; between"));
  EXPECT_THAT(layers, Not(HasSubstr("| layer1")));
  expect_width(network, 80);
  expect_width(network, 60);
  for (Comparison& each : network.comparisons) {
    each.cycles.reset();
    each.first.clock = each.second.clock = {};
  }
  network.totals[0].cycles = {};
  network.totals[0].first_clock = network.totals[0].second_clock = {};
  EXPECT_THAT(comparison_table(network, {.details = true}), Not(HasSubstr("cycles")));
}

TEST(ComparisonTable, AMarginBelowTheInstrumentIsSaid) {
  ComparisonRecord record = one_pair(EffectVerdict::undecided, 1.0001);
  record.margin = 1e-6;
  record.comparisons[0].resolution = 0.0043;
  record.comparisons[0].processes_to_decide = 13;
  const std::string table = one_line_table(record);
  EXPECT_THAT(table,
              HasSubstr("; 0.0001 % is a smaller margin than events can resolve here (about 0.43 %), so more "
                        "processes will not decide it."));
  EXPECT_THAT(table, Not(HasSubstr("would probably decide")));
  record.comparisons[0].time = {1.01, 0.98, 1.04};  // it may be shown to be slower
  EXPECT_THAT(one_line_table(record), HasSubstr("about 13 processes would probably decide"));
}

TEST(ComparisonTable, HoldsItsWidthWithLongWords) {
  ComparisonRecord record = network_of(4);
  record.device.name = "virtual NVIDIA GH200 480GB with a name that is quite long (simulated)";
  for (Comparison& comparison : record.comparisons) {
    comparison.layers = {"encoder.layers.encoder_layer_11.self_attention.out_proj." + comparison.layers[0]};
  }
  expect_width(record, 80);
  ComparisonRecord alternatives =
      comparison_record({"cache=warm, dtype=f16", "cache=cold, dtype=f16", "cache=warm, dtype=f32"});
  for (std::size_t alternative = 1; alternative < 3; ++alternative) {
    alternatives.comparisons.push_back(
        comparison_of("add:count=8", "add:count=8", 1.1, 0.05, EffectVerdict::undecided));
    alternatives.comparisons.back().alternative = alternative;
    alternatives.comparisons.back().second.conditions.cache =
        alternative == 1 ? CacheState::cold : CacheState::warm;
  }
  expect_width(alternatives, 80);
}

TEST(ComparisonTable, DetailsSayHowManyKernelsRanAtOnce) {
  ComparisonRecord record = one_pair();
  EXPECT_THAT(comparison_table(record, {.width = 160, .details = true}), Not(HasSubstr("at once")));
  record.comparisons[0].first.concurrency = KernelConcurrency{1, 1, 1.0};
  record.comparisons[0].second.concurrency = KernelConcurrency{4, 4, 3.62};
  EXPECT_THAT(comparison_table(record, {.width = 160, .details = true}),
              AllOf(HasSubstr(" first at once |"), HasSubstr("| 1.0 on 1 stream |"),
                    HasSubstr("| 3.6 on 4 streams |"),
                    HasSubstr("\nat once: mean number of kernels that ran side by side")));
  EXPECT_THAT(comparison_table(record, {.width = 160}), Not(HasSubstr("at once")));
}

}  // namespace
}  // namespace jitterscope
