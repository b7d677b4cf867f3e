// Nothing is claimed from a comparison that is not decided, or from an arm that computed something else.
#include <gmock/gmock.h>

#include "support/study_answers.hpp"

namespace jitterscope::study {
namespace {

using enum statistics::EffectVerdict;
using statistics::EffectVerdict;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

struct FoundArm {
  const char* arm;
  double ratio;
  EffectVerdict verdict;
  bool is_right = true;
  double half_width = 0.01;
};

// Each arm beside the first one, which takes 100 us.
ComparisonRecord record_beside(const std::string& first, const std::vector<FoundArm>& arms,
                               const std::string& subject = "relu:count=8Ki") {
  ComparisonRecord record;
  record.alternatives = {first};
  for (const FoundArm& found : arms) {
    Comparison comparison;
    comparison.alternative = record.alternatives.size();
    comparison.first.subject = comparison.second.subject = Operation::parse(subject);
    comparison.first.time.median = microseconds(100);
    comparison.second.time.median = microseconds(100) * found.ratio;
    comparison.first.amount = comparison.second.amount = Amount{Amount::Unit::bytes, 4e8};
    comparison.time = {found.ratio, found.ratio - found.half_width, found.ratio + found.half_width};
    comparison.verdict = found.verdict;
    comparison.second.verification =
        Verification{.relative_error = found.is_right ? 0.0 : 0.5, .passed = found.is_right};
    record.alternatives.emplace_back(found.arm);
    record.comparisons.push_back(comparison);
  }
  return record;
}

TEST(Undecided, BatchClaimsNothing) {
  EXPECT_THAT(answers_to("batch", record_beside("×1", {{"×2", 0.9, undecided}, {"×4", 0.8, undecided}})),
              ElementsAre(HasSubstr("Not decided: whether a larger batch makes a sample faster")));
  EXPECT_THAT(answers_to("batch", record_beside("×1", {{"×2", 1.0, same}, {"×4", 1.2, slower}})),
              ElementsAre(HasSubstr("makes no sample faster")));
  EXPECT_THAT(
      answers_to("batch", record_beside("×1", {{"×2", 0.41, undecided}, {"×4", 0.4, faster}})).front(),
      HasSubstr("At ×4 the batch"))
      << "the first that is shown";
  EXPECT_THAT(answers_to("batch", record_beside("×1", {{"×2", 0.4, faster}, {"×4", 0.3, undecided}})),
              ElementsAre(HasSubstr("At ×2 the batch"), HasSubstr("Not decided: whether a larger batch")));
}

// A table of 1 GiB of which a launch reads one row of 1 KiB, beside a workspace that grows with the rows.
TEST(BatchMemory, IsThatOfOperandsAndWorkspaces) {
  ComparisonRecord record =
      record_beside("×1", {{"×2", 0.5, faster}}, "embedding:count=1,rows=1Mi,columns=256");
  record.works = {1, 2};
  record.device.memory_total = Bytes(std::int64_t{3} << 29);
  record.comparisons[0].first.workspace = Bytes(std::int64_t{100} << 20);
  EXPECT_THAT(answers_to("batch", record),
              ElementsAre(HasSubstr("with 1.2 GiB of operands and workspace in place of 1.1 GiB"),
                          HasSubstr("largest batch tried"), HasSubstr("Memory ends between ×4 and ×8")));
  // At one sample its weights take more than a table's rows; at many it is smaller.
  record.comparisons.push_back(record.comparisons[0]);
  record.comparisons[0].layers = {"fc.fprop"};
  record.comparisons[0].first.subject = Operation::parse("linear:n=1,in=16Ki,out=20Ki");
  record.comparisons[0].first.workspace = Bytes(0);
  record.comparisons[1].layers = {"embedding.forward"};
  record.totals = {{.time = {0.5, 0.49, 0.51}, .verdict = faster}};
  EXPECT_THAT(answers_to("batch", record).back(),
              AllOf(HasSubstr("embedding.forward"), HasSubstr("at the latest")));
  record.device.memory_total = Bytes(1 << 20);
  EXPECT_EQ(answers_to("batch", record).back(), "Memory does not hold its operands even once.");
}

TEST(Undecided, AWrongBatchIsNoKnee) {
  const auto found =
      answers_to("batch", record_beside("×1", {{"×2", 0.5, faster}, {"×4", 0.1, undecided, false}}));
  EXPECT_THAT(found, ElementsAre(HasSubstr("At ×2 the batch"), HasSubstr("largest batch tried"),
                                 HasSubstr("×4 gives a wrong result")));
}

TEST(Undecided, WavesDoNotCostNothing) {
  EXPECT_THAT(
      answers_to("waves", record_beside("1 wave", {{"1.01 waves", 1.3, undecided}, {"2 waves", 1.0, same}})),
      ElementsAre(HasSubstr("Not decided: whether a wave that is not full costs time")));
  EXPECT_THAT(
      answers_to("waves", record_beside("1 wave", {{"1.01 waves", 1.3, undecided}, {"2 waves", 1.1, slower}}))
          .front(),
      HasSubstr("in 2 waves is slower than 1 wave: +10.0"));
}

TEST(Undecided, AccessNamesTheWorstThatIsShown) {
  const auto found = answers_to("access", record_beside("coalesced", {{"random", 8.0, undecided},
                                                                      {"stride 2", 2.0, slower},
                                                                      {"8 bytes", 0.9, undecided}}));
  EXPECT_THAT(found.front(), HasSubstr("stride 2"));
  EXPECT_THAT(found, Contains(HasSubstr("Not decided")));
}

TEST(Undecided, BankConflictsNeedAnIntervalOfTheirOwn) {
  const auto found = [](double half_width) {
    return answers_to("tiling", record_beside("plain", {{"conflicts", 0.80, faster, true, half_width},
                                                        {"padded", 0.78, faster, true, half_width}}))
        .back();
  };
  EXPECT_THAT(found(0.001), HasSubstr("slower: +2.6 %"));
  EXPECT_THAT(found(0.02), HasSubstr("Not decided: whether bank conflicts cost time"));
}

TEST(Undecided, OneLargeLaunchIsNamedIfItIsShown) {
  ComparisonRecord record = record_beside("eager", {{"graph", 0.5, faster}, {"batched", 0.1, undecided}},
                                          "chain:[relu:count=1Ki],lanes=100");
  EXPECT_THAT(answers_to("graph", record), Not(Contains(HasSubstr("One launch as large"))));
  Comparison second = record.comparisons.back();
  second.time = {0.2, 0.19, 0.21};
  second.verdict = faster;
  record.comparisons.push_back(second);
  EXPECT_THAT(answers_to("graph", record), Contains(HasSubstr("One launch as large")));
}

TEST(Undecided, WhyAGraphDoesNotPayIsNotGuessed) {
  ComparisonRecord record = record_beside("eager", {{"graph", 0.5, faster}});
  record.comparisons.push_back(record_beside("eager", {{"graph", 0.9, undecided}}).comparisons.front());
  EXPECT_THAT(answers_to("graph", record), Not(Contains(HasSubstr("If a graph is not faster"))));
  record.comparisons.back().verdict = same;
  EXPECT_THAT(answers_to("graph", record), Contains(HasSubstr("If a graph is not faster")));
}

TEST(Undecided, FusingMayGain) {
  const char* const chain = "chain:[relu:count=8]*2";
  EXPECT_THAT(answers_to("fusion", record_beside("separate", {{"fused", 0.8, undecided}}, chain)),
              AllOf(Contains(HasSubstr("Not decided: whether fusing gains")),
                    Each(Not(HasSubstr("not shown to gain")))));
  EXPECT_THAT(answers_to("fusion", record_beside("separate", {{"fused", 0.8, undecided, false}}, chain)),
              Each(Not(HasSubstr("not shown to gain"))))
      << "it is wrong";
}

TEST(Undecided, WhatAConversionLeavesOfAGain) {
  const auto found = [](EffectVerdict autocast) {
    return answers_to("precision",
                      record_beside("f32", {{"f16", 0.5, faster}, {"autocast f16", 0.9, autocast}}))
        .back();
  };
  EXPECT_THAT(found(faster), HasSubstr("faster than f32: -10.0"));
  EXPECT_THAT(found(undecided), HasSubstr("Not decided: whether a gain is left"));
  EXPECT_THAT(found(same), HasSubstr("it is as fast as f32"));
}

TEST(Undecided, StreamsMayHelpALargeLaunch) {
  ComparisonRecord record =
      record_beside("1 stream", {{"2 streams", 0.5, faster}}, "chain:[relu:count=8],lanes=16");
  const ComparisonRecord large =
      record_beside("1 stream", {{"2 streams", 0.9, undecided}}, "chain:[relu:count=1Mi],lanes=16");
  record.comparisons.push_back(large.comparisons.front());
  EXPECT_THAT(answers_to("streams", record), Not(Contains(HasSubstr("No number of streams"))));
  record.comparisons.back().verdict = same;
  EXPECT_THAT(answers_to("streams", record), Contains(HasSubstr("No number of streams")));
}

TEST(Undecided, CopiesAreHiddenByAPipelineThatIsShown) {
  const auto found =
      answers_to("overlap", record_beside("one after the other", {{"2 pieces, 2 streams", 0.5, undecided},
                                                                  {"4 pieces, 2 streams", 0.8, faster},
                                                                  {"without copies", 0.4, faster}}));
  EXPECT_THAT(found, Contains(HasSubstr("4 pieces, 2 streams hides 33 %")));
}

TEST(Undecided, AWaitsCostIsARange) {
  const auto waits =
      answers_to("synchronization", record_beside("wait at the end", {{"stream, each step", 1.07, undecided},
                                                                      {"event, each step", 1.14, slower}}));
  EXPECT_THAT(waits, Contains(HasSubstr("event, each step costs least")));
  EXPECT_THAT(waits, Contains(HasSubstr("stream, each step: not decided, between")));
  const auto events = answers_to(
      "dependencies", record_beside("one stream", {{"an event between two streams", 1.0, undecided}}));
  EXPECT_THAT(events.front(), HasSubstr("costs time is not decided: between"));
}

TEST(Undecided, PinnedMemoryPaysFromWhereAllLargerOnesGain) {
  ComparisonRecord record;
  record.alternatives = {"pageable", "pinned"};
  for (const auto& [bytes, verdict] :
       {std::pair{4096, faster}, std::pair{65536, undecided}, std::pair{1 << 20, faster}}) {
    Comparison comparison = record_beside("pageable", {{"pinned", 0.5, verdict}}).comparisons.front();
    comparison.second.subject = Operation(Copy{bytes, CopyKind::h2d, HostMemory::pinned});
    record.comparisons.push_back(comparison);
  }
  EXPECT_THAT(answers_to("pinned", record).front(), HasSubstr("it pays from 1 MiB on"));
  record.comparisons.back().verdict = undecided;
  EXPECT_THAT(answers_to("pinned", record).front(),
              AllOf(HasSubstr("Copies of 4 KiB"), HasSubstr("not shown to pay beyond")));
}

TEST(Undecided, AloneOnTheDevice) {
  EXPECT_THAT(answers_to("priorities", record_beside("usual priority, under load",
                                                     {{"high priority, under load", 0.5, faster},
                                                      {"alone", 0.9, undecided}})),
              Contains(HasSubstr("Not decided: whether it is faster alone")));
}

}  // namespace
}  // namespace jitterscope::study
