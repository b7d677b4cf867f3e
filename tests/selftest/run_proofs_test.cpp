#include "selftest/run_proofs.hpp"

#include "proving.hpp"

namespace jitterscope::selftest {
namespace {

ProofLine line(Verdict verdict) {
  ProofLine made;
  made.name = "name";
  made.verdict = verdict;
  return made;
}
std::vector<ProofLine> pass(ProofContext&) { return {line(Verdict::passed)}; }
std::vector<ProofLine> miss(ProofContext&) { return {line(Verdict::missed), line(Verdict::passed)}; }
std::vector<ProofLine> lack(ProofContext&) { throw MissingError("no tracer here"); }
std::vector<ProofLine> fail(ProofContext&) { throw FailedError("the device fell off the bus"); }
std::vector<ProofLine> half(ProofContext& context) {
  context.begin_step(1, 2, "first half");
  return {line(Verdict::passed)};
}
std::vector<ProofLine> interrupt(ProofContext&) { throw InterruptedError(); }

struct SimulatedRun {
  SelftestRecord run(std::vector<std::vector<ProofLine> (*)(ProofContext&)> functions) {
    for (const auto function : functions) {
      proofs.push_back("proof" + std::to_string(proofs.size()));
      table.push_back({proofs.back(), "summary", Place::machine, seconds(10), seconds(100), function});
    }
    for (const Proof& proof : table) request.proofs.push_back(&proof);
    request.options.quick = true;
    request.options.seed = 9;
    request.now = [this] { return now += seconds(1); };
    request.progress = [this](const SelftestProgress& progress) { seen.push_back(progress); };
    SelftestRecord record;
    run_proofs(device, request, record, [this](const SelftestRecord&) { ++saves; });
    return record;
  }

  scripted::ScriptedDevice device;
  std::vector<std::string> proofs = [] {
    std::vector<std::string> names;
    names.reserve(9);  // views of the names must stay
    return names;
  }();
  std::vector<Proof> table;
  SelftestRequest request;
  Nanoseconds now;
  std::vector<SelftestProgress> seen;
  int saves = 0;
};

TEST(RunProofs, LinesComeInOrderUnderTheirProof) {
  SimulatedRun trial;
  const SelftestRecord record = trial.run({pass, miss});
  ASSERT_EQ(record.lines.size(), 3u);
  EXPECT_EQ(record.lines[0].group, "proof0");
  EXPECT_EQ(record.lines[2].group, "proof1");
  EXPECT_EQ(record.device.id, "scripted:0");
  EXPECT_EQ(record.seed, 9u);
  EXPECT_TRUE(record.quick);
  EXPECT_GT(record.duration, Nanoseconds(0));
  EXPECT_EQ(trial.saves, 2);
  EXPECT_EQ(exit_code_of(record), ExitCode::check_failed);
}

TEST(RunProofs, WhatCannotTakePartIsSkippedAndWhatFailsMisses) {
  const SelftestRecord record = SimulatedRun().run({lack, pass});
  ASSERT_EQ(record.lines.size(), 2u);
  EXPECT_EQ(record.lines[0].verdict, Verdict::skipped);
  EXPECT_EQ(record.lines[0].note, "no tracer here");
  EXPECT_EQ(exit_code_of(record), ExitCode::done);
  const SelftestRecord failed = SimulatedRun().run({fail, pass});
  EXPECT_EQ(failed.lines[0].verdict, Verdict::missed);
  EXPECT_EQ(failed.lines[0].note, "the device fell off the bus");
  EXPECT_EQ(failed.lines[1].verdict, Verdict::passed);
}

TEST(RunProofs, NothingPassedIsNoSuccess) {
  EXPECT_EQ(exit_code_of(SimulatedRun().run({lack})), ExitCode::check_failed);
}

TEST(RunProofs, AnInterruptionKeepsTheProofsBefore) {
  SimulatedRun trial;
  trial.request.options.interrupted = [&] { return trial.seen.size() >= 2; };
  const SelftestRecord record = trial.run({pass, interrupt, pass});
  EXPECT_EQ(record.lines.size(), 1u);
  EXPECT_TRUE(record.interrupted);
  EXPECT_EQ(exit_code_of(record), ExitCode::interrupted);
}

TEST(RunProofs, ProgressCountsProofsAndTheTimeLeft) {
  SimulatedRun trial;
  trial.run({pass, half});
  ASSERT_EQ(trial.seen.size(), 3u);
  EXPECT_EQ(trial.seen[0].number, 1u);
  EXPECT_EQ(trial.seen[0].total, 2u);
  // A clock that goes on by a second each time it is read: 10 s, less one, and 10 s of the second proof.
  EXPECT_EQ(trial.seen[0].time_left, seconds(19));
  EXPECT_EQ(trial.seen[2].what, "first half");
  EXPECT_EQ(trial.seen[2].share, 0.5);
  // Half is done after two seconds: so two more.
  EXPECT_EQ(trial.seen[2].time_left, seconds(2));
}

TEST(RunProofs, ExpectedTimeAddsUp) {
  const Proof proof{"name", "summary", Place::machine, seconds(3), seconds(50), pass};
  const std::vector<const Proof*> twice = {&proof, &proof};
  EXPECT_EQ(expected_time(twice, true), seconds(6));
  EXPECT_EQ(expected_time(twice, false), seconds(100));
}

}  // namespace
}  // namespace jitterscope::selftest
