#include "commands/explain/record.hpp"

#include <gmock/gmock.h>

namespace jitterscope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

ExplainRecord sample() {
  ExplainRecord record;
  record.device.name = "NVIDIA H200";
  explain::Explanation& explanation = record.study.emplace();
  explanation.operation = "relu:count=1048576";
  explanation.provider = "builtin";
  explanation.blocks = 12;
  explanation.screening_rounds = 40;
  explanation.duration = seconds(30);
  record.conclusions = {"Operands that are not in the cache: +98.6 % in time."};
  explain::FactorResult cache{.id = "cache", .cause = "operands", .verdict = explain::FactorVerdict::cause};
  cache.doses = {{.dose = "cold", .time = {1.5, 1.49, 1.51}, .blocks = 12},
                 {.dose = "cold, lines modified", .time = {1.986, 1.98, 1.99}, .blocks = 12}};
  cache.strongest = 1;
  cache.screened = RatioEstimate{1.8, 1.7, 1.9};
  explain::FactorResult idle{.id = "idle", .blocks_to_decide = 30};
  idle.doses = {{.dose = "400 ms idle", .time = {1.002, 0.99, 1.01}, .blocks = 12}};
  explain::FactorResult engine{.id = "engine",
                               .verdict = explain::FactorVerdict::not_identifiable,
                               .reason = "nothing to choose from"};
  explanation.factors = {cache, idle, engine};
  explanation.dummies = {
      {.screened = RatioEstimate{1.0, 0.99, 1.01}, .paired = RatioEstimate{1.001, 0.99, 1.01}}};
  explanation.random_factors = {{.id = "placement",
                                 .cause = "where the operands lie",
                                 .deviation = 0.003,
                                 .low = 0.002,
                                 .high = 0.004,
                                 .levels = 9},
                                {.id = "process", .cause = "the process", .not_available = "too few"}};
  explanation.observation.loops.resize(5);
  explanation.observation.median = microseconds(12.0);
  explanation.observation.shares = {
      {.variation = explain::Variation::clock, .share = 0.7, .low = 0.6, .high = 0.8},
      {.variation = explain::Variation::rest, .share = 0.3, .low = 0.2, .high = 0.4}};
  return record;
}

std::string table(const ExplainRecord& record, bool details = false) {
  Page page;
  page.width = 100;
  page.details = details;
  return explanation_table(record, page);
}

TEST(ExplanationTable, WhatIsPaidOnceStandsPartByPart) {
  ExplainRecord record = sample();
  explain::FirstWork& work = record.study->observation.first_work;
  work = {.preparation = milliseconds(190), .launch = milliseconds(21), .later_launch = milliseconds(1)};
  EXPECT_THAT(table(record),
              HasSubstr("Paid once, by the host: libraries, a plan, memory and its contents 190 ms, "
                        "the first launch 20 ms\nmore than a later one.\n"));
  work.preparation_again = milliseconds(12);
  work.allocation = milliseconds(2);
  work.launch_in_processes = {milliseconds(25), milliseconds(19)};
  EXPECT_THAT(table(record), AllOf(HasSubstr("libraries and handles 178 ms"), HasSubstr("contents 10 ms"),
                                   HasSubstr("memory 2 ms"), HasSubstr("In 2 fresh processes")));
}

TEST(ExplanationTable, WithoutAScreeningThereIsNoColumnForIt) {
  ExplainRecord record = sample();
  EXPECT_THAT(table(record), HasSubstr("| among all others |"));
  EXPECT_THAT(table(record, true), HasSubstr("among all others: strongest dose"));
  record.study->screening_rounds = 0;
  record.study->factors.front().screened.reset();
  EXPECT_THAT(table(record, true), Not(HasSubstr("among all others")));
}

TEST(ExplanationTable, BeginsWithWhatFollows) {
  EXPECT_THAT(table(sample()), StartsWith("- Operands that are not in the cache: +98.6 % in time."));
}

TEST(ExplanationTable, HasTheDoseOfTheVerdictAndAllWithDetails) {
  EXPECT_THAT(table(sample()), AllOf(HasSubstr("cold, lines modified"), HasSubstr("+98.6"),
                                     HasSubstr("cause"), Not(HasSubstr("| cold  ")), HasSubstr("noise")));
  EXPECT_THAT(table(sample(), true),
              AllOf(HasSubstr("| cold  "), HasSubstr("+50.0"), HasSubstr("40 rounds")));
}

TEST(ExplanationTable, SaysWhatStaysOpenAndWhy) {
  ExplainRecord record = sample();
  explain::FactorResult queue = record.study->factors.back();
  queue.id = "queue";
  record.study->factors.push_back(queue);
  // Blocks of the study are not those of one factor, which tries several doses.
  record.study->factors[1].doses.front().blocks = 6;
  record.study->factors[1].blocks_to_decide = 7;
  EXPECT_THAT(table(record),
              AllOf(HasSubstr("- idle, unresolved: it had 6 blocks of its own, and about 7 would"),
                    HasSubstr("(--factors idle"), HasSubstr("Not identifiable, because"),
                    HasSubstr("- engine, queue: nothing to choose from\n"), HasSubstr("virtual:h200")));
  EXPECT_THAT(table(sample()), AllOf(HasSubstr("- the process: not known, too few"),
                                     HasSubstr("- where the operands lie: 0.3 %")));
}

TEST(ExplanationTable, TheRestOfTheVariationHasItsOwnLine) {
  ExplainRecord record = sample();
  record.study->observation.between_stretches = 0.0082;
  EXPECT_THAT(table(record),
              AllOf(HasSubstr("| the clock"), HasSubstr("nothing that was seen, within loops"),
                    HasSubstr("30 %"), HasSubstr("share: of the variance of the medians of launches 1, 2–3"),
                    HasSubstr("(standard deviation\n0.82 %, odd loops included)")));
}

TEST(ExplanationTable, AStudyThatWasEndedAtOnceSaysSo) {
  ExplainRecord record;
  record.interrupted = true;
  record.study.emplace();
  EXPECT_THAT(table(record), AllOf(StartsWith("Nothing was found out"), HasSubstr("Interrupted")));
}

}  // namespace
}  // namespace jitterscope
