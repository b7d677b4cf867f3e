#include "experiment/run_plan.hpp"

#include <gmock/gmock.h>

#include "measure/session.hpp"
#include "support/scripted_device.hpp"

namespace jitterscope::scripted {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Each look at the device is answered by the next of these, and by the last from then on.
RunRecord run_beside(std::vector<std::vector<std::string>> answers) {
  ScriptedDevice device;
  Session session(device);
  std::size_t looks = 0;
  device.script().other_processes = [&] { return answers[std::min(looks++, answers.size() - 1)]; };
  Plan plan;
  plan.ceilings = false;
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  plan.groups = trials_of({Operation::parse("relu:count=1024"), Operation::parse("add:count=1024")}, options);
  RunRecord record;
  record.device = device.describe();
  record.calibration = session.calibration();
  run_plan(session, plan, record, {});
  return record;
}

std::vector<std::string> sentences_of(const RunRecord& record) {
  std::vector<std::string> sentences;
  for (const Finding& finding : record.findings) {
    if (finding.id == "other_process") sentences.push_back(finding.sentence);
  }
  return sentences;
}

TEST(RunPlan, WithoutOtherProcessesNoneIsNamed) {
  const RunRecord record = run_beside({{}});
  EXPECT_THAT(record.entries, SizeIs(2));
  EXPECT_THAT(sentences_of(record), IsEmpty());
}

// A simulated neighbour made a run 17 % slower without a word: it came behind the one look there was.
TEST(RunPlan, AProcessThatComesWhileItMeasuresIsNamed) {
  EXPECT_THAT(sentences_of(run_beside({{}, {"42 other"}})), ElementsAre(HasSubstr("42 other")));
}

TEST(RunPlan, AProcessThatHasGoneIsNamedWithTheOthers) {
  EXPECT_THAT(sentences_of(run_beside({{"1 first", "2 second"}, {"2 second"}, {}})),
              ElementsAre(HasSubstr("1 first, 2 second")));
}

// Exchanges alone are operations, too; a network may have fewer layers than a study between ranks has trials.
TEST(RunPlan, BesideStepsOperationsAreNotTakenForLayersOfTheNetwork) {
  ScriptedDevice device;
  Session session(device);
  Model network{.name = "small", .description = {}, .layers = {}};
  network.layers.push_back({.names = {"only"}, .operation = Operation::parse("gelu:count=1024")});
  network.calls.push_back({.layer = 0, .name = "only", .inputs = {}});
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  Plan plan;
  plan.ceilings = false;
  plan.groups = trials_of({Operation::parse("relu:count=1024"), Operation::parse("add:count=1024")}, options);
  plan.groups.push_back({Trial{TrialSubject(ParallelStep{.name = "step", .network = network}), options}});
  plan.in_sequence = network;
  RunRecord record;
  record.device = device.describe();
  record.calibration = session.calibration();
  run_plan(session, plan, record, {});
  ASSERT_TRUE(record.sequence);
  ASSERT_THAT(record.sequence->calls, SizeIs(1));
  EXPECT_EQ(record.sequence->calls.front().failure, "");
  EXPECT_GT(record.sequence->calls.front().time.rounds, 0);
}

TEST(RunPlan, APlanOfNothingIsRefused) {
  EXPECT_THAT([] { shared_options(Plan{}); },
              testing::ThrowsMessage<UsageError>(HasSubstr("nothing to time")));
  EXPECT_THAT([] { shared_options(Plan{.groups = {{}}}); }, testing::Throws<UsageError>());
}

}  // namespace
}  // namespace jitterscope::scripted
