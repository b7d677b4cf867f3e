// Studies of how work is put on the device: what their arms launch, and what their outcomes say.
#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "study/studies/studies.hpp"
#include "support/study_answers.hpp"

namespace jitterscope::study {
namespace {

using statistics::EffectVerdict;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

class ChainStudies : public testing::Test {
 protected:
  std::vector<Arm> arms(const Study& study, const std::string& operation) {
    return study.arms({*device_, device_->describe(), {Operation::parse(operation)}});
  }
  std::vector<std::string> names(const Study& study, const std::string& operation) {
    std::vector<std::string> names;
    for (const Arm& arm : arms(study, operation)) names.push_back(arm.name);
    return names;
  }
  OperationTrial made(const Study& study, const std::string& operation, std::size_t arm) {
    OperationTrial trial{Operation::parse(operation), {}};
    arms(study, operation).at(arm).apply(trial);
    return trial;
  }
  // Ratios of the arms behind the first one, which takes 100 us, all of them right.
  ComparisonRecord outcome(const Study& study, const std::string& operation,
                           const std::vector<double>& ratios) {
    ComparisonRecord record;
    record.alternatives = names(study, operation);
    for (std::size_t i = 1; i < record.alternatives.size(); ++i) {
      const double ratio = ratios.at(i - 1);
      Comparison comparison;
      comparison.alternative = i;
      comparison.first.subject = made(study, operation, 0).operation;
      comparison.first.time.median = microseconds(100);
      comparison.second.time.median = microseconds(100) * ratio;
      comparison.second.verification = Verification{.total = 10, .passed = true};
      comparison.time = {ratio, ratio - 0.01, ratio + 0.01};
      comparison.verdict = ratio < 0.98   ? EffectVerdict::faster
                           : ratio > 1.02 ? EffectVerdict::slower
                                          : EffectVerdict::same;
      record.comparisons.push_back(comparison);
    }
    return record;
  }

  std::unique_ptr<Device> device_ = open_device("virtual:h200");
};

TEST_F(ChainStudies, ADeviceThatRunsOneAfterTheOtherIsToldSo) {
  device_ = open_device("cpu");
  for (const Study& study : {studies::streams(), studies::overlap(), studies::dependencies(),
                             studies::synchronization(), studies::priorities()}) {
    EXPECT_THAT([&] { arms(study, "relu:count=1Ki"); },
                ThrowsMessage<UsageError>(HasSubstr("cpu runs one launch after the other")))
        << study.id;
  }
}

TEST_F(ChainStudies, NoneIsAskedOfChainsSpinsOrPageableMemory) {
  for (const Study& study : {studies::streams(), studies::overlap(), studies::dependencies(),
                             studies::synchronization(), studies::priorities()}) {
    for (const char* operation : {"chain:[relu:count=8]", "spin:ns=8", "aten::relu(f32[8])",
                                  "copy:bytes=8,kind=h2d,memory=pageable"}) {
      EXPECT_FALSE(study.can_be_asked_of(Operation::parse(operation))) << study.id << ": " << operation;
    }
    EXPECT_TRUE(study.can_be_asked_of(Operation::parse("relu:count=8"))) << study.id;
  }
}

TEST_F(ChainStudies, StreamsSpreadTheSameLaunches) {
  const Study study = studies::streams();
  EXPECT_THAT(names(study, "relu:count=8"),
              ElementsAre("1 stream", "2 streams", "4 streams", "8 streams", "16 streams"));
  EXPECT_EQ(made(study, "relu:count=8", 2).operation,
            Operation::parse("chain:[relu:count=8],lanes=16,streams=4"));
  EXPECT_EQ(made(study, "relu:count=8", 2).options.instrument, Instrument::events)
      << "a graph spreads by itself";
  EXPECT_THAT(answers_to(study.id, outcome(study, "relu:count=8", {0.7, 0.4, 0.3, 0.35})).front(),
              HasSubstr("8 streams is faster than 1 stream: 1/3.3"));
}

TEST_F(ChainStudies, StreamsSayWhichSizesGainNothing) {
  const Study study = studies::streams();
  ComparisonRecord record = outcome(study, "relu:count=8", {0.7, 0.4, 0.3, 0.35});
  EXPECT_THAT(answers_to(study.id, record), Not(Contains(HasSubstr("No number of streams"))));
  for (const Comparison& large : outcome(study, "relu:count=64Mi", {1.0, 1.0, 1.0, 1.1}).comparisons) {
    record.comparisons.push_back(large);
  }
  EXPECT_EQ(
      answers_to(study.id, record).at(1),
      "No number of streams helps relu:count=67108864,dtype=f32: one launch keeps the device busy by itself.");
}

// By the trace of each arm behind the first one, a number of kernels at once.
ComparisonRecord traced(ComparisonRecord record, const std::vector<double>& at_once) {
  for (std::size_t i = 0; i < record.comparisons.size(); ++i) {
    record.comparisons[i].second.concurrency =
        KernelConcurrency{.streams = std::int64_t{2} << i,
                          .most_at_once = static_cast<std::int64_t>(at_once.at(i) + 0.99),
                          .mean_at_once = at_once.at(i)};
  }
  return record;
}

TEST_F(ChainStudies, StreamsSayHowManyKernelsRanSideBySide) {
  const Study study = studies::streams();
  const auto answers = answers_to(
      study.id, traced(outcome(study, "relu:count=8", {0.7, 0.4, 0.3, 0.35}), {1.9, 3.6, 4.1, 4.0}));
  EXPECT_EQ(answers.at(1),
            "By the trace, 2 streams ran 1.9 kernels side by side (at most 2); 4 streams 3.6 (4); 8 streams "
            "4.1 (5); 16 streams 4.0 (4).");
  EXPECT_THAT(answers.at(2), HasSubstr("torch.cuda.Stream")) << "and nothing more of the trace";
}

TEST_F(ChainStudies, StreamsSayThatKernelsDidNotRunSideBySide) {
  const Study study = studies::streams();
  const std::vector<double> apart = {1.0, 1.0, 1.02, 1.04};
  const auto answers =
      answers_to(study.id, traced(outcome(study, "relu:count=64Mi", {1.0, 1.0, 1.0, 1.1}), apart));
  EXPECT_THAT(answers.at(0), HasSubstr("Nothing is faster"));
  EXPECT_EQ(answers.at(1),
            "By the trace, kernels did not run side by side, although they were on up to 16 streams (1.0 at "
            "once): a kernel leaves no room beside it, or ends before the next one starts.");
  EXPECT_THAT(
      answers_to(study.id, traced(outcome(study, "relu:count=64Mi", {0.9, 0.9, 0.9, 0.9}), apart)).at(1),
      HasSubstr("(1.0 at once): what is gained lies between the kernels."));
  ComparisonRecord open = traced(outcome(study, "relu:count=64Mi", {1.0, 1.0, 1.0, 1.0}), apart);
  open.comparisons[2].verdict = EffectVerdict::undecided;
  EXPECT_THAT(answers_to(study.id, open).at(1), testing::EndsWith("(1.0 at once).")) << "why, is not known";
}

TEST_F(ChainStudies, StreamsSayThatKernelsRanSideBySideInVain) {
  const Study study = studies::streams();
  ComparisonRecord record =
      traced(outcome(study, "relu:count=1Mi", {1.0, 1.0, 1.0, 1.1}), {1.8, 2.0, 2.0, 2.0});
  EXPECT_EQ(
      answers_to(study.id, record).at(2),
      "Kernels ran side by side but gained nothing: the limit is something that they share, such as memory.");
  record.comparisons[0].verdict = EffectVerdict::undecided;
  EXPECT_THAT(answers_to(study.id, record), Not(Contains(HasSubstr("gained nothing"))));
}

TEST_F(ChainStudies, StreamsSayOfEachSizeWhatRanAtOnce) {
  const Study study = studies::streams();
  ComparisonRecord record =
      traced(outcome(study, "relu:count=8", {0.7, 0.4, 0.3, 0.35}), {1.9, 3.6, 4.1, 5.0});
  const auto add = [&](const char* operation, const std::vector<double>& at_once) {
    for (const Comparison& each :
         traced(outcome(study, operation, {1.0, 1.0, 1.0, 1.1}), at_once).comparisons) {
      record.comparisons.push_back(each);
    }
  };
  add("relu:count=1Ki", {1.0, 1.5, 1.4, 1.2});
  add("relu:count=2Ki", {1.0, 1.0, 1.0, 1.0});
  const auto answers = answers_to(study.id, record);
  EXPECT_EQ(answers.at(1),
            "No number of streams helps relu:count=1024,dtype=f32, relu:count=2048,dtype=f32.");
  EXPECT_EQ(answers.at(2),
            "By the trace, kernels ran side by side: relu:count=8,dtype=f32 4.1 at once with 8 streams (at "
            "most 5); relu:count=1024,dtype=f32 1.5 at once with 4 streams (at most 2).");
  EXPECT_THAT(answers.at(3), HasSubstr("Kernels of relu:count=1024,dtype=f32 ran side by side but gained"));
  EXPECT_THAT(answers.at(4), HasSubstr("kernels of relu:count=2048,dtype=f32 did not run side by side"));
}

TEST_F(ChainStudies, StreamsSayWhyThereIsNoTrace) {
  const Study study = studies::streams();
  EXPECT_TRUE(study.traces_kernels);
  ComparisonRecord record = outcome(study, "relu:count=8", {0.7, 0.4, 0.3, 0.35});
  EXPECT_THAT(answers_to(study.id, record), Not(Contains(HasSubstr("trace")))) << "records that have none";
  for (Comparison& comparison : record.comparisons) {
    comparison.second.without_kernels = Shortfall{ExitCode::failed, "another profiler holds CUPTI"};
  }
  EXPECT_EQ(answers_to(study.id, record).at(1),
            "Whether kernels ran side by side is not known, as they could not be traced: another profiler "
            "holds CUPTI.");
}

TEST_F(ChainStudies, OverlapCutsTheBatchAndCopiesEachPiece) {
  const Study study = studies::overlap();
  EXPECT_THAT(
      names(study, "linear:n=16,in=8,out=4"),
      ElementsAre("one after the other", "2 pieces, 2 streams", "4 pieces, 2 streams", "4 pieces, 3 streams",
                  "8 pieces, 2 streams", "8 pieces, 3 streams", "without copies"));
  EXPECT_THAT(names(study, "relu:count=6"),
              ElementsAre("one after the other", "2 pieces, 2 streams", "without copies"));
  const Operation pieces = made(study, "linear:n=16,in=8,out=4", 3).operation;
  EXPECT_EQ(pieces, Operation::parse("chain:[copy:bytes=128,kind=h2d][linear:n=4,in=8,out=4]"
                                     "[copy:bytes=64,kind=d2h],lanes=4,streams=3"));
  EXPECT_FALSE(study.can_be_asked_of(Operation::parse("relu:count=7")));
  EXPECT_FALSE(study.can_be_asked_of(Operation::parse("relu:count=8,dtype=f16"))) << "copies are of f32";
  EXPECT_FALSE(study.can_be_asked_of(Operation::parse("matmul:m=8,n=8,k=8,ta=1")))
      << "each piece would be a part of every sum";
  EXPECT_FALSE(study.can_be_asked_of(Operation::parse("conv2d:n=8,c=8,hw=8,k=8,rs=1,direction=wgrad")));
}

TEST_F(ChainStudies, OverlapSaysHowMuchOfTheCopiesIsHidden) {
  const Study study = studies::overlap();
  const auto answers =
      answers_to(study.id, outcome(study, "relu:count=8Ki", {0.8, 0.75, 0.7, 0.6, 0.55, 0.4}));
  EXPECT_THAT(answers.at(0), HasSubstr("8 pieces, 3 streams is faster than one after the other: -45.0"));
  // 60 % are copies, and 45 % of the time is saved.
  EXPECT_EQ(
      answers.at(1),
      "The copies take 60 % of the time one after the other; 8 pieces, 3 streams hides 75 % of them (72 to "
      "78 %).");
  EXPECT_THAT(answers_to(study.id, outcome(study, "relu:count=8Ki", {1.0, 1.1, 1.1, 1.1, 1.1, 0.4})).front(),
              HasSubstr("Nothing is faster"))
      << "without copies is no way to do the work";
}

TEST_F(ChainStudies, WithoutCopiesANetworkIsNotFasterEither) {
  const Study study = studies::overlap();
  ComparisonRecord record = outcome(study, "relu:count=8Ki", {1.0, 1.1, 1.1, 1.1, 1.1, 0.4});
  for (const Comparison& each : record.comparisons) {
    record.totals.push_back(
        TotalComparison{.alternative = each.alternative, .time = each.time, .verdict = each.verdict});
  }
  EXPECT_THAT(answers_to(study.id, record).front(), HasSubstr("Nothing is faster"));
}

TEST_F(ChainStudies, DependenciesHaveAnArmThatIsToBeWrong) {
  const Study study = studies::dependencies();
  EXPECT_EQ(made(study, "relu:count=8", 1).operation,
            Operation::parse("chain:[relu:count=8]*16,streams=2,spread=step"));
  EXPECT_EQ(made(study, "relu:count=8", 4).operation,
            Operation::parse("chain:[relu:count=8]*16,streams=2,spread=step,order=none"));
  std::vector<bool> wrong;
  for (const Arm& arm : arms(study, "relu:count=8")) wrong.push_back(arm.is_to_be_wrong);
  EXPECT_THAT(wrong, ElementsAre(false, false, false, false, true));
  EXPECT_FALSE(study.can_be_asked_of(Operation::parse("linear:n=8,in=4,out=8"))) << "not square";
  EXPECT_TRUE(study.can_be_asked_of(Operation::parse("linear:n=8,in=4,out=4")));
}

TEST_F(ChainStudies, DependenciesGiveTheCostOfEachWaitAndShowTheWrongResult) {
  const Study study = studies::dependencies();
  ComparisonRecord record = outcome(study, "relu:count=8", {1.3, 1.0, 1.6, 0.9});
  record.comparisons.back().second.verification = Verification{.total = 10, .unwritten = 4, .passed = false};
  EXPECT_THAT(
      answers_to(study.id, record),
      ElementsAre(
          "**an event between two streams costs 2.00 µs** each (1.93 µs to 2.07 µs), compared with one "
          "stream.",
          HasSubstr("a join of 2 streams has no visible cost"),
          HasSubstr("a join of 4 streams costs 4.00 µs"),
          "Without the wait the result is wrong, as expected: 4 of 10 elements come from values "
          "that were not yet written. Its time does not count.",
          HasSubstr("wait_stream")));
  record.comparisons.back().second.verification->passed = true;
  EXPECT_THAT(answers_to(study.id, record), Contains(HasSubstr("by luck")));
  record.comparisons.front().second.verification->passed = false;
  EXPECT_THAT(answers_to(study.id, record),
              Contains(HasSubstr("an event between two streams gives a wrong result")));
}

TEST_F(ChainStudies, SynchronizationIsTheHostsTimeOfTheSameLaunches) {
  const Study study = studies::synchronization();
  const OperationTrial first = made(study, "relu:count=8", 0), value = made(study, "relu:count=8", 9);
  EXPECT_EQ(first.operation, Operation::parse("chain:[relu:count=8]*8,lanes=8"));
  EXPECT_EQ(value.operation, Operation::parse("chain:[relu:count=8]*8,lanes=8,wait=value,wait_after=step"));
  for (const OperationTrial* trial : {&first, &value}) {
    EXPECT_EQ(trial->options.instrument, Instrument::host);
    EXPECT_EQ(trial->options.queue, QueueMode::eager);
  }
  const auto answers = answers_to(
      study.id, outcome(study, "relu:count=8", {1.14, 1.07, 1.28, 1.7, 1.14, 1.14, 1.35, 4.15, 7.3}));
  EXPECT_THAT(answers.at(0),
              HasSubstr("a value, each launch is slower than wait at the end: 7.30 times as long"));
  EXPECT_THAT(
      answers.at(1),
      HasSubstr(
          "event, each step costs least of the waits after each step: it is slower than wait at the end: "
          "+7.0"));
  // 7 waits but the last, and 63.
  EXPECT_THAT(answers, Contains("stream, each step: 2.00 µs more for each of 7 waits (+14.0 %)."));
  EXPECT_THAT(answers,
              Contains("a value, each launch: 10.00 µs more for each of 63 waits (7.3 times as long)."));
}

TEST_F(ChainStudies, PrioritiesAreComparedUnderTheSameLoad) {
  const Study study = studies::priorities();
  EXPECT_EQ(made(study, "relu:count=8", 0).operation,
            Operation::parse("chain:[relu:count=8]*4,load_ns=100000"));
  EXPECT_EQ(made(study, "relu:count=8", 1).operation,
            Operation::parse("chain:[relu:count=8]*4,high_priority=1,load_ns=100000"));
  EXPECT_EQ(made(study, "relu:count=8", 2).operation, Operation::parse("chain:[relu:count=8]*4"));
  const auto answers = answers_to(study.id, outcome(study, "relu:count=8", {0.4, 0.1}));
  EXPECT_THAT(answers.at(0),
              HasSubstr("high priority, under load is faster than usual priority, under load: 1/2.5"));
  EXPECT_THAT(answers.at(1),
              HasSubstr("Alone on the device it is faster than usual priority, under load: 1/10.0"));
  EXPECT_THAT(answers_to(study.id, outcome(study, "relu:count=8", {1.0, 0.1})).front(),
              HasSubstr("Nothing is faster"))
      << "to be alone is no remedy";
}

constexpr const char* kReluAndPool = "chain:[relu:count=1024][max_pool:n=1,c=4,hw=16,window=2,stride=2]";

TEST_F(ChainStudies, FusionLaunchesTheSameStepsInFourWays) {
  const Study fusion = studies::fusion();
  EXPECT_THAT(names(fusion, kReluAndPool), ElementsAre("separate", "graph", "fused", "fused graph"));
  const std::string steps = Operation::parse(kReluAndPool).text();
  for (const std::size_t arm : {0, 1}) EXPECT_EQ(made(fusion, kReluAndPool, arm).operation.text(), steps);
  for (const std::size_t arm : {2, 3}) {
    EXPECT_EQ(made(fusion, kReluAndPool, arm).operation.text(), steps + ",fused=1");
    EXPECT_EQ(made(fusion, steps + ",fused=1", arm - 2).operation.text(), steps) << "asked of a fused one";
  }
  for (const std::size_t arm : {0, 2})
    EXPECT_EQ(made(fusion, kReluAndPool, arm).options.queue, QueueMode::eager);
  for (const std::size_t arm : {1, 3})
    EXPECT_EQ(made(fusion, kReluAndPool, arm).options.queue, QueueMode::graph);
}

TEST_F(ChainStudies, WhereLaunchesRunToTheirEndFusionHasNoGraph) {
  device_ = open_device("cpu");
  const Study fusion = studies::fusion();
  EXPECT_THAT(names(fusion, "chain:[add:count=8][relu:count=8]"), ElementsAre("separate", "fused"));
  EXPECT_THAT([&] { names(fusion, kReluAndPool); },
              ThrowsMessage<UsageError>(HasSubstr("cpu cannot fuse this chain: step 1 (relu")));
}

TEST_F(ChainStudies, FusionIsAboutStepsThatReadEachOther) {
  const Study fusion = studies::fusion();
  for (const char* operation :
       {"relu:count=8", "chain:[relu:count=8]", "chain:[relu:count=8][relu:count=16]",
        "chain:[relu:count=8]*2,lanes=2,streams=2", "chain:[relu:count=8]*2,wait=stream"}) {
    EXPECT_FALSE(fusion.can_be_asked_of(Operation::parse(operation))) << operation;
  }
  EXPECT_TRUE(fusion.can_be_asked_of(Operation::parse("chain:[relu:count=8]*2,lanes=4")));
}

TEST_F(ChainStudies, FusionSaysWhatDoesNotMove) {
  const Study fusion = studies::fusion();
  ComparisonRecord record = outcome(fusion, kReluAndPool, {0.9, 0.6, 0.4});
  for (Comparison& comparison : record.comparisons) {
    comparison.second.subject = made(fusion, kReluAndPool, comparison.alternative).operation;
  }
  // 4 KiB are written by the first step and read by the second one, of 4 + 4 + 4 + 1 + 2 KiB in all.
  const std::vector<std::string> answers = answers_to(fusion.id, record);
  EXPECT_THAT(answers.front(), HasSubstr("fused graph is faster than separate: 1/2.5"));
  EXPECT_THAT(answers, Contains(HasSubstr("reduce-overhead")));
  EXPECT_THAT(answers,
              Contains(HasSubstr("A graph of the separate launches is faster than separate: -10.0")));
  EXPECT_THAT(answers, Contains(HasSubstr("has to move 7 KiB in place of 15 KiB (1/2.14)")));
  EXPECT_THAT(answers, Not(Contains(HasSubstr("not shown to gain"))));
  for (Comparison& comparison : record.comparisons) comparison.verdict = EffectVerdict::same;
  EXPECT_THAT(answers_to(fusion.id, record), Contains(HasSubstr("Fusing is not shown to gain here")));
}

}  // namespace
}  // namespace jitterscope::study
