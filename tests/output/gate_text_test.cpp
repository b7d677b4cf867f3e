#include "commands/gate/table.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include "output/text.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TimeEstimate interval_around(double in_microseconds) {
  const Nanoseconds median = microseconds(in_microseconds);
  return {median, median * 0.999, median * 1.001, 100};
}

Comparison changed(const std::string& operation, double ratio, EffectVerdict verdict) {
  Comparison comparison;
  comparison.first.subject = comparison.second.subject = Operation::parse(operation);
  comparison.first.time = interval_around(20.0);
  comparison.second.time = interval_around(20.0 * ratio);
  comparison.first.clock = comparison.second.clock = megahertz(1980);
  comparison.time = {ratio, ratio - 0.004, ratio + 0.004};
  comparison.verdict = verdict;
  return comparison;
}

GateOutcome outcome_of(std::vector<Comparison> comparisons) {
  GateOutcome outcome;
  outcome.record.baseline =
      ComparedBaseline{"main", "main/20261123T201105Z-3f9c2a1b", "2026-11-23T20:11:05Z"};
  outcome.record.alternatives = {"main", "now"};
  outcome.record.margin = 0.02;
  outcome.record.processes_asked = 8;
  outcome.record.comparisons = std::move(comparisons);
  outcome.record.device.name = "NVIDIA H200";
  return outcome;
}

std::string gate_text_of(const GateOutcome& outcome, std::size_t width = 80) {
  return gate_text({&outcome, 1}, width);
}

GateOutcome three_cases() {
  Comparison wide = changed("matmul:m=512,n=512,k=512", 1.02, EffectVerdict::undecided);
  wide.processes_to_decide = 30;
  return outcome_of({changed("add:count=1024", 1.05, EffectVerdict::slower),
                     changed("relu:count=1024", 1.0, EffectVerdict::same), wide});
}

TEST(GateText, OnAHostAnUndecidedGateNamesWhatDecides) {
  GateOutcome outcome = outcome_of({changed("add:count=8", 1.02, EffectVerdict::undecided)});
  EXPECT_THAT(gate_text_of(outcome), Not(HasSubstr("--fail-if slower")));
  outcome.record.device.capabilities.is_host = true;
  EXPECT_THAT(gate_text_of(outcome), HasSubstr("NEW --fail-if slower"));
}

TEST(GateText, TheVerdictComesFirst) {
  EXPECT_THAT(gate_text_of(three_cases()),
              testing::StartsWith("**Slower than main**: 1 of 3 times, 1 undecided.\n"));
  EXPECT_THAT(gate_text_of(outcome_of({changed("add:count=8", 1.0, EffectVerdict::same)})),
              testing::StartsWith("**As fast as main** within ± 2 %.\n"));
  EXPECT_THAT(gate_text_of(outcome_of({changed("add:count=8", 0.9, EffectVerdict::faster)})),
              testing::StartsWith("**Faster than main**.\n"));
}

TEST(GateText, WhatIsUndecidedIsCountedBesideAnyVerdict) {
  GateOutcome outcome = three_cases();
  outcome.record.comparisons[0].failure = "out of memory";
  EXPECT_THAT(gate_text_of(outcome),
              testing::StartsWith("**Failed**: 1 of 3 times, 1 undecided; no slowdown"));
  outcome.record.comparisons.erase(outcome.record.comparisons.begin());
  EXPECT_THAT(gate_text_of(outcome), testing::StartsWith("**Undecided against main**: 1 of 2 times; no"));
  outcome.record.interrupted = true;
  EXPECT_THAT(gate_text_of(outcome), testing::StartsWith("**Interrupted**, 1 undecided; no slowdown"));
}

TEST(GateText, WhatWouldDecideIsSaid) {
  EXPECT_THAT(gate_text_of(three_cases(), 200),
              AllOf(HasSubstr("- matmul:m=512,n=512,k=512"),
                    HasSubstr("about --processes 30 on both sides would probably decide")));
}

TEST(GateText, AnotherDriverComesBeforeTheVerdict) {
  GateOutcome outcome = three_cases();
  outcome.record.differences = {{"seed", "1", "2", false}, {"driver", "570.1", "580.2", true}};
  EXPECT_THAT(gate_text_of(outcome), testing::StartsWith("Changed since main was measured"));
  EXPECT_THAT(gate_text_of(outcome), AllOf(HasSubstr("- driver: 570.1, now 580.2"), Not(HasSubstr("seed"))));
}

TEST(GateText, AMovedClockIsCalledThat) {
  Comparison slow = changed("add:count=1024", 1.128, EffectVerdict::slower);
  slow.cycles = RatioEstimate{1.0, 0.996, 1.004};
  slow.second.clock = megahertz(1755);
  EXPECT_THAT(
      gate_text_of(outcome_of({slow}), 200),
      HasSubstr(
          "the clock changed from 1980 MHz to 1755 MHz: in cycles +0.00 ± 0.40 %, so the work itself did "
          "not change"));
}

TEST(GateText, LinesFitThePage) {
  std::istringstream lines(gate_text_of(three_cases()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), 80u) << line;
}

TEST(GateText, WhatHasNoTimeIsNamedWithItsReason) {
  Comparison lost = changed("add:count=1024", 1.0, EffectVerdict::undecided);
  lost.failure = "it failed in the second record: out of memory";
  EXPECT_THAT(gate_text_of(outcome_of({lost}), 200),
              AllOf(HasSubstr("**Failed**"), HasSubstr("out of memory")));
  GateOutcome outcome = outcome_of({});
  outcome.failure = "all workers were lost";
  EXPECT_THAT(gate_text_of(outcome), HasSubstr("**Failed against main**: all workers were lost."));
}

GateOutcome hostile() {
  GateOutcome outcome = three_cases();
  outcome.record.baseline->name = "<script>alert(1)</script>";
  outcome.record.notes = {"a & b <img src=x>\x01"};
  return outcome;
}

TEST(GateMarkdown, HoldsNoHtml) {
  const GateOutcome outcome = hostile();
  const std::string page = gate_markdown({&outcome, 1});
  EXPECT_THAT(page, testing::StartsWith("## jitterscope gate\n\n"));
  EXPECT_EQ(page.find('<'), std::string::npos);
}

TEST(Junit, CountsAndEscapes) {
  const GateOutcome outcome = hostile();
  const std::string xml = junit_xml({&outcome, 1}, false);
  EXPECT_THAT(
      xml,
      HasSubstr(R"(<testsuites name="jitterscope gate" tests="3" failures="1" errors="0" skipped="1">)"));
  EXPECT_THAT(xml, AllOf(HasSubstr("&lt;script&gt;"), Not(HasSubstr("<script>"))));
  EXPECT_THAT(xml, HasSubstr(R"xml(<failure type="slower" message="+5.00 % (+4.60 to +5.40 %)"/>)xml"));
  EXPECT_THAT(xml, HasSubstr(R"(time="0.000021000")"));
  EXPECT_THAT(junit_xml({&outcome, 1}, true), HasSubstr(R"(failures="2" errors="0" skipped="0")"));
}

// Of what is read by a machine the exit code is not seen.
TEST(Junit, AnInterruptionIsAnError) {
  GateOutcome outcome = three_cases();
  outcome.record.interrupted = true;
  const std::string xml = junit_xml({&outcome, 1}, false);
  EXPECT_THAT(xml, HasSubstr(R"(tests="4" failures="1" errors="1" skipped="1")"));
  EXPECT_THAT(xml, HasSubstr(R"(<error type="interrupted")"));
}

TEST(Junit, AFailureIsAnError) {
  GateOutcome outcome = outcome_of({});
  outcome.failure = "all workers were lost";
  EXPECT_THAT(junit_xml({&outcome, 1}, false),
              AllOf(HasSubstr(R"(tests="1" failures="0" errors="1")"), HasSubstr("all workers were lost")));
}

}  // namespace
}  // namespace jitterscope
