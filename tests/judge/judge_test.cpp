#include "judge/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "base/random.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::judging {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// What a scripted process does; its clock is simulated, its outputs, seeds and digests are real.
struct Script {
  Nanoseconds call = microseconds(100), chain = microseconds(5), wake_up = microseconds(40);
  double noise = 0.001;        // of each chain
  double process_noise = 0.0;  // of all chains of what a process has loaded
  double machine_noise = 0.0;  // of all that a process runs
  double beside = 1.0;         // of the reference's calls, where a candidate's process is there
  double cold = 1.0;           // of calls whose inputs are in no cache
  Hertz clock = Hertz(1.98e9);
  bool is_alone = false;    // works in one thread
  double other_core = 1.0;  // of calls on a core other than 0; without one, each process has its own
  double preempted = 0.0;   // chance that another program has its core for as long as the chain takes
  // Ways to cheat and to err.
  bool repeats_every_tenth = false;  // the last output again, which takes no time
  bool forges_last_digest = false;
  bool writes_later = false;
  bool commits_to_the_last = false;  // its last digest says nothing of the calls before
  bool changes_inputs = false;
  bool answers_nonsense = false;
  bool raises = false;
  bool is_random = false;
  bool ignores_second_input = false;
  bool is_constant = false;
  double error = 0.0;  // added to each output
  std::int64_t rows = 16;
  std::string weights_differ;
  std::string* order = nullptr;  // "c" for each chain of the candidate, "s" for each time that it shows some
};

constexpr std::int64_t kSize = 16;

class ScriptedWorker : public Worker {
 public:
  using Find = std::function<const Script&(const std::string& target)>;
  ScriptedWorker(Find find, int& candidates, std::uint64_t seed)
      : find_(std::move(find)), candidates_(candidates), random_(seed) {}
  ~ScriptedWorker() override {
    if (is_candidate_) --candidates_;
  }

  CaseShape make(const std::string& target, const CaseValues&, const std::optional<CaseShape>& shape,
                 const Key&) override {
    const double of_machine = of_machine_ * find_("reference").machine_noise;
    script_ = find_(target);
    if (target != "reference" && !std::exchange(is_candidate_, true)) ++candidates_;
    of_process_ = 1.0 + script_.process_noise * random_.normal() + of_machine;
    const InputDescription input{.dtype = DataType::f64, .shape = {kSize}};
    shape_ = shape.value_or(CaseShape{.inputs = {input, input}});
    shape_.weights_differ = script_.weights_differ;
    return shape_;
  }

  ChainReply chain(const ChainRequest& request) override {
    if (script_.answers_nonsense) throw WorkerFailure(WorkerFailure::Kind::malformed, "it answered nonsense");
    if (request.kept_before == 0) outputs_.clear();
    if (script_.order != nullptr) *script_.order += "c";
    ChainReply reply;
    reply.last = first_digest_of(request.key);
    Nanoseconds time = script_.wake_up;
    const bool is_cold = request.evicted > Bytes(0);
    reply.clock = GpuClock{script_.clock, {}};
    for (std::int64_t call = 0; call < request.calls; ++call) {
      const Seed seed = seed_after(reply.last);
      const auto inputs = filled({seed, seed}, {Family::normal, Family::normal});
      time += script_.chain;
      if (!request.is_null) {
        const bool repeats = script_.repeats_every_tenth && call % 10 == 9;
        if (!repeats) {
          time += script_.call * (!is_candidate_ && candidates_ > 0 ? script_.beside : 1.0) *
                  (is_cold ? script_.cold : 1.0) * of_process_;
          last_ = output_of(inputs);
        }
      }
      outputs_.insert(outputs_.end(), last_.begin(), last_.end());
      reply.last = digest_of(request.key, script_.commits_to_the_last ? Digest{} : reply.last, last_);
      std::vector<std::uint8_t> all = inputs[0];
      all.insert(all.end(), inputs[1].begin(), inputs[1].end());
      if (script_.changes_inputs) all[3] ^= 1;
      inputs_ = digest_of(request.key, Digest{}, all);
    }
    if (script_.forges_last_digest) reply.last.bytes[0] ^= 1;
    if (script_.writes_later && is_candidate_ && request.calls > 1) outputs_[1] ^= 1;
    if (core_ ? *core_ != 0 : is_candidate_) time = time * script_.other_core;
    if (random_.uniform() < script_.preempted) {
      waited_ = waited_ + time;
      time = time * 2.0;
    }
    reply.time = time * (1.0 + script_.noise * random_.normal());
    return reply;
  }
  Shown show(std::int64_t calls) override {
    EXPECT_EQ(outputs_.size(), static_cast<std::size_t>(calls) * last_.size());
    shown_ = outputs_;
    if (script_.order != nullptr) *script_.order += "s";
    return {inputs_, shown_};
  }

  Answer answer(const AnswerRequest& request) override {
    if (script_.raises) throw WorkerFailure(WorkerFailure::Kind::raised, "ValueError: no");
    const Outputs outputs{.descriptions = {{DataType::f64, {script_.rows}}},
                          .bytes = output_of(filled(request.seeds, request.families))};
    last_ = outputs.bytes;
    return {.outputs = outputs, .of_float64 = outputs};
  }
  std::size_t room() const override { return std::size_t{1} << 20; }
  void freeze() override {}
  void thaw() override {}
  void end() override {}
  void stay_on(std::optional<int> core) override { core_ = core; }
  bool worked_alone() override { return script_.is_alone; }
  Nanoseconds kept_waiting() override { return std::exchange(waited_, Nanoseconds(0)); }

 private:
  std::vector<std::vector<std::uint8_t>> filled(const std::vector<Seed>& seeds,
                                                const std::vector<Family>& families) {
    std::vector<std::vector<std::uint8_t>> memory(2, std::vector<std::uint8_t>(kSize * sizeof(double)));
    for (std::size_t i = 0; i < 2; ++i)
      fill(shape_.inputs[i], families[i], seeds[i], static_cast<std::uint32_t>(i), memory[i]);
    return memory;
  }
  std::vector<std::uint8_t> output_of(const std::vector<std::vector<std::uint8_t>>& inputs) {
    const auto x = numbers_of(DataType::f64, inputs[0]), y = numbers_of(DataType::f64, inputs[1]);
    std::vector<std::uint8_t> bytes(kSize * sizeof(double));
    for (std::size_t i = 0; i < x.size(); ++i) {
      double value = 2.0 * x[i] + (script_.ignores_second_input ? 0.0 : y[i]) + script_.error;
      if (script_.is_random) value += random_.normal();
      if (script_.is_constant) value = 1.0;
      std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
    }
    return bytes;
  }

  Find find_;
  Script script_;
  int& candidates_;
  bool is_candidate_ = false;
  Random random_;
  double of_machine_ = random_.normal();
  double of_process_ = 1.0;
  CaseShape shape_;
  std::vector<std::uint8_t> outputs_, shown_, last_;
  Digest inputs_;
  std::optional<int> core_;
  Nanoseconds waited_;
};

class JudgeTest : public testing::Test {
 protected:
  Script reference_, candidate_;
  std::map<std::string, Script> more_;
  JudgeRequest request_{.reference = "reference",
                        .candidates = {"candidate"},
                        .pairs = 4,
                        .blocks = 5,
                        .chain_time = milliseconds(3),
                        .session = {}};

  std::uint64_t seed_ = 1;  // of the first process

  std::vector<CandidateJudgement> judge_all() {
    int candidates = 0;
    std::uint64_t seed = seed_;
    const auto find = [&](const std::string& target) -> const Script& {
      return target == "reference" ? reference_ : more_.contains(target) ? more_[target] : candidate_;
    };
    return judge(request_, [&]() -> std::unique_ptr<Worker> {
      return std::make_unique<ScriptedWorker>(find, candidates, seed++);
    });
  }
  CaseJudgement judge_one() { return judge_all().front().cases.front(); }
};

TEST_F(JudgeTest, AnHonestCandidateOfHalfTheTimeIsFaster) {
  candidate_.call = microseconds(50);
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::faster) << judged.evidence;
  ASSERT_TRUE(judged.ratio);
  EXPECT_NEAR(judged.ratio->ratio, 0.5, 0.005);
  EXPECT_GE(judged.links_checked, 4 * 20);
}

TEST_F(JudgeTest, TheReferenceAgainstItselfIsTheSame) {
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::same) << judged.evidence;
}

// The judge may call 1 % of equal functions faster or slower, however far processes differ. An interval of 95
// % holds 1 in 285 of 300 on average; 270 is four standard deviations below that.
TEST_F(JudgeTest, EqualFunctionsAreCalledEqualAndTheirIntervalsHold) {
  int called = 0, held = 0, same_of_quiet = 0;
  for (const double process_noise : {0.001, 0.005, 0.02}) {
    reference_.process_noise = candidate_.process_noise = process_noise;
    for (int session = 0; session < 100; ++session) {
      seed_ += 100;
      const CaseJudgement judged = judge_one();
      called += judged.verdict == Verdict::faster || judged.verdict == Verdict::slower ? 1 : 0;
      same_of_quiet += process_noise < 0.002 && judged.verdict == Verdict::same ? 1 : 0;
      held += judged.ratio && judged.ratio->low <= 1.0 && 1.0 <= judged.ratio->high ? 1 : 0;
    }
  }
  EXPECT_LE(called, 3);
  EXPECT_GE(held, 270);
  EXPECT_GE(same_of_quiet, 90) << "of 100 whose processes differ by 0.1 %";
}

TEST_F(JudgeTest, WhatAProcessDoesToAllThatItRunsIsTakenOut) {
  reference_.machine_noise = 0.05;
  candidate_.call = microseconds(80);
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::faster) << judged.evidence;
  ASSERT_TRUE(judged.ratio);
  EXPECT_NEAR(judged.ratio->ratio, 0.8, 0.004);
  EXPECT_LT(judged.ratio->high - judged.ratio->low, 0.01);
  EXPECT_TRUE(std::ranges::any_of(
      judged.pairs, [](const PairTimes& pair) { return std::abs(pair.process_ratio - 1.0) > 0.02; }));
}

TEST_F(JudgeTest, LessThanTheMarginIsNeitherFasterNorSlower) {
  candidate_.call = microseconds(100.8);
  reference_.noise = candidate_.noise = 0.0005;
  const CaseJudgement small = judge_one();
  ASSERT_TRUE(small.ratio);
  EXPECT_GT(small.ratio->low, 1.0);
  EXPECT_NE(small.verdict, Verdict::slower);
  candidate_.call = microseconds(103);
  EXPECT_EQ(judge_one().verdict, Verdict::slower);
}

TEST_F(JudgeTest, ACandidateOfTwiceTheTimeIsSlower) {
  candidate_.call = microseconds(200);
  EXPECT_EQ(judge_one().verdict, Verdict::slower);
}

TEST_F(JudgeTest, ProcessesThatDifferByMoreThanTheSidesAreUndecided) {
  reference_.process_noise = candidate_.process_noise = 0.05;
  candidate_.call = microseconds(101);
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::undecided);
  EXPECT_THAT(judged.evidence, HasSubstr("processes"));
}

TEST_F(JudgeTest, TheChainsOwnCostIsTakenOff) {
  reference_.chain = candidate_.chain = microseconds(400);
  reference_.noise = candidate_.noise = 0.0001;
  candidate_.call = microseconds(50);
  const CaseJudgement judged = judge_one();
  ASSERT_TRUE(judged.ratio) << judged.evidence;
  EXPECT_NEAR(judged.ratio->ratio, 0.5, 0.02);
}

TEST_F(JudgeTest, CallsLongerThanAChainShouldBeAreTwoInOne) {
  reference_.call = candidate_.call = milliseconds(10);
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.pairs.back().candidate_calls, 2);
  EXPECT_EQ(judged.verdict, Verdict::same) << judged.evidence;
}

TEST_F(JudgeTest, ACallThatIsLostInTheChainsNoiseIsUndecided) {
  candidate_.call = Nanoseconds(0);
  candidate_.noise = 0.01;
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::undecided);
  EXPECT_THAT(judged.evidence, HasSubstr("larger case"));
}

TEST_F(JudgeTest, OnePairGivesNoInterval) {
  request_.pairs = 1;
  candidate_.call = microseconds(50);
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::undecided);
  EXPECT_THAT(judged.evidence, HasSubstr("--processes"));
}

TEST_F(JudgeTest, AReferenceThatSlowsDownBesideTheCandidateDecidesNothing) {
  candidate_.call = microseconds(90);
  reference_.beside = 1.2;
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::undecided);
  EXPECT_THAT(judged.findings, ElementsAre("reference_disturbed"));
}

// The processes of this test's machine stay on cores that differ by a fifth, which a block's own core does
// not.
TEST_F(JudgeTest, BothSidesOfABlockAreOnOneCore) {
  reference_.other_core = candidate_.other_core = 1.2;
  reference_.is_alone = candidate_.is_alone = true;
  const CaseJudgement bound = judge_one();
  ASSERT_TRUE(bound.ratio) << bound.evidence;
  EXPECT_NEAR(bound.ratio->ratio, 1.0, 0.003);
  // The chain's own time is a median over blocks on both cores, so a process's ratio is exact without it.
  reference_.chain = candidate_.chain = Nanoseconds(0);
  EXPECT_NEAR(judge_one().pairs.front().process_ratio, 1.0, 0.003);
  reference_.chain = candidate_.chain = Script().chain;
  candidate_.is_alone = false;  // it has all cores then, as the reference has
  EXPECT_NEAR(judge_one().ratio->ratio, 1.2, 0.01);
}

TEST_F(JudgeTest, ChainsThatOthersHeldUpAreTimedAgain) {
  reference_.is_alone = candidate_.is_alone = true;
  reference_.preempted = candidate_.preempted = 0.15;
  const CaseJudgement judged = judge_one();
  ASSERT_TRUE(judged.ratio) << judged.evidence;
  EXPECT_NEAR(judged.ratio->ratio, 1.0, 0.01);
  EXPECT_LT(judged.ratio->high - judged.ratio->low, 0.05);
}

TEST_F(JudgeTest, ClocksThatDifferAreAFinding) {
  candidate_.clock = Hertz(1.755e9);
  const CaseJudgement judged = judge_one();
  EXPECT_THAT(judged.findings, ElementsAre("clocks_differ"));
  EXPECT_EQ(judged.pairs.front().reference_clock, Hertz(1.98e9));
  EXPECT_EQ(judged.pairs.front().candidate_clock, Hertz(1.755e9));
  candidate_.clock = Hertz(1.97e9);
  EXPECT_TRUE(judge_one().findings.empty());
}

TEST_F(JudgeTest, WithInputsInNoCacheTheRatioIsThatOfColdCalls) {
  reference_.cold = 1.5;
  candidate_.call = microseconds(50);
  candidate_.cold = 3.0;
  EXPECT_FALSE(judge_one().pairs.front().candidate_produced);
  request_.evicted = Bytes(1 << 20);
  const CaseJudgement judged = judge_one();
  ASSERT_TRUE(judged.ratio) << judged.evidence;
  EXPECT_NEAR(judged.ratio->ratio, 1.0, 0.005);
  ASSERT_TRUE(judged.pairs.front().candidate_produced);
  EXPECT_NEAR(judged.pairs.front().candidate_produced->value(), 50e3, 500);
}

// Cheats: each is fast, and none is believed.

TEST_F(JudgeTest, WorkInTheTimeOfTheEvictionIsInvalid) {
  request_.evicted = Bytes(1 << 20);
  candidate_.cold = 0.5;
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::invalid);
  EXPECT_EQ(judged.reason, InvalidReason::window_used);
  EXPECT_THAT(judged.evidence, HasSubstr("inputs in no cache"));
  candidate_.cold = 0.97;  // within the noise of short calls
  EXPECT_NE(judge_one().verdict, Verdict::invalid);
}

TEST_F(JudgeTest, SkippedCallsAreFoundAmongTheLinks) {
  candidate_.repeats_every_tenth = true;
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::wrong);
  EXPECT_THAT(judged.evidence, StartsWith("call "));
  EXPECT_EQ(judged.call % 10, 9);
  EXPECT_EQ(judged.key.size(), 64U);
}

TEST_F(JudgeTest, AForgedDigestBreaksTheLink) {
  candidate_.forges_last_digest = true;
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::invalid);
  EXPECT_EQ(judged.reason, InvalidReason::link_broken);
}

TEST_F(JudgeTest, OutputsThatAreWrittenAfterTheDigestBreakTheLink) {
  candidate_.writes_later = true;
  EXPECT_EQ(judge_one().reason, InvalidReason::link_broken);
}

// Else a worker could give away the digest of any last output, and compute all others behind the clock.
TEST_F(JudgeTest, ADigestOfTheLastOutputAloneBreaksTheLink) {
  candidate_.commits_to_the_last = true;
  EXPECT_EQ(judge_one().reason, InvalidReason::link_broken);
}

TEST_F(JudgeTest, ChangedInputsAreInvalid) {
  candidate_.changes_inputs = true;
  EXPECT_EQ(judge_one().reason, InvalidReason::input_changed);
}

// Nothing may lie between the two that the reference has not.
TEST_F(JudgeTest, BothChainsOfABlockAreTimedBeforeEitherIsShown) {
  std::string order;
  candidate_.order = &order;
  judge_one();
  std::size_t blocks = 0;
  for (std::size_t at = order.find("ccs"); at != std::string::npos; at = order.find("ccs", at + 3)) ++blocks;
  EXPECT_EQ(blocks, static_cast<std::size_t>(request_.pairs * request_.blocks));
  EXPECT_EQ(order.find("ccc"), std::string::npos);
}

TEST_F(JudgeTest, NonsenseIsInvalid) {
  candidate_.answers_nonsense = true;
  EXPECT_EQ(judge_one().reason, InvalidReason::judge_touched);
}

TEST_F(JudgeTest, WrongOutputsAreWrongWhereverTheyAreAsked) {
  candidate_.error = 1e-6;
  EXPECT_EQ(judge_one().verdict, Verdict::wrong);
  candidate_ = {};
  candidate_.ignores_second_input = true;
  EXPECT_EQ(judge_one().verdict, Verdict::wrong);
  candidate_ = {};
  candidate_.is_constant = true;
  EXPECT_EQ(judge_one().verdict, Verdict::wrong);
}

TEST_F(JudgeTest, AnErrorAndAnotherShapeAreWrong) {
  candidate_.raises = true;
  EXPECT_THAT(judge_one().evidence, HasSubstr("ValueError"));
  candidate_ = {};
  candidate_.rows = 8;
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::wrong);
  EXPECT_EQ(judged.evidence, "output 0 is f64[8] where f64[16] is right");
}

TEST_F(JudgeTest, WeightsThatDifferAreAFindingAndExplainWhatIsWrong) {
  candidate_.weights_differ = "first.weight is missing";
  const CaseJudgement right = judge_one();
  EXPECT_EQ(right.verdict, Verdict::same);
  EXPECT_THAT(right.findings, ElementsAre("weights_differ"));
  candidate_.error = 1.0;
  const CaseJudgement wrong = judge_one();
  EXPECT_EQ(wrong.verdict, Verdict::wrong);
  EXPECT_THAT(wrong.evidence, HasSubstr("its weights are not the reference's: first.weight is missing"));
}

TEST_F(JudgeTest, ACandidateWhoseTimeIsOverIsUndecided) {
  int asked = 0;
  request_.time_limit = [&] { return [&] { return ++asked > 6; }; };
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::undecided);
  EXPECT_THAT(judged.evidence, HasSubstr("time is over"));
}

// A record is judged again.

TEST_F(JudgeTest, TheSameSessionAsksTheSameThoughChainsHaveOtherLengths) {
  candidate_.error = 1e-6;
  const CaseJudgement first = judge_one();
  reference_.call = candidate_.call = microseconds(30);
  const CaseJudgement again = judge_one();
  EXPECT_EQ(again.key, first.key);
  EXPECT_EQ(again.evidence, first.evidence);
  request_.session.bytes[0] = 1;
  EXPECT_NE(judge_one().key, first.key);
}

TEST_F(JudgeTest, ALinkThatWasWrongIsTriedBeforeAllElse) {
  candidate_.repeats_every_tenth = true;
  const CaseJudgement first = judge_one();
  ASSERT_GE(first.call, 0);
  RepeatedLink link{.key = {}, .pair = first.pair, .call = first.call};
  ASSERT_TRUE(read_hexadecimal(first.key, link.key.bytes));
  request_.repeated = {link};
  const CaseJudgement again = judge_one();
  EXPECT_EQ(again.evidence, first.evidence);
  EXPECT_EQ(again.key, first.key);
  EXPECT_TRUE(again.pairs.empty());
  candidate_.repeats_every_tenth = false;
  const CaseJudgement mended = judge_one();
  EXPECT_EQ(mended.verdict, Verdict::same);
  EXPECT_THAT(mended.findings, ElementsAre("right_where_it_was_wrong"));
}

// What is possible.

TEST(WorkTest, TheCeilingThatTakesLongerCounts) {
  const Ceilings ceilings{.bytes_per_second = 1e9, .compute = {{DataType::f32, 1e12, "matmul"}}};
  const auto bytes = achieved_rate({.flops = 1e6, .bytes = 1e6}, milliseconds(4), ceilings);
  ASSERT_TRUE(bytes);
  EXPECT_FALSE(bytes->compute_bound);
  EXPECT_NEAR(*bytes->ceiling_share, 0.25, 1e-12);
  const auto flops = achieved_rate({.flops = 1e10, .bytes = 1e6}, milliseconds(20), ceilings);
  ASSERT_TRUE(flops);
  EXPECT_TRUE(flops->compute_bound);
  EXPECT_NEAR(*flops->ceiling_share, 0.5, 1e-12);
  // Of another type the rate is not known, and bytes alone remain.
  const auto other =
      achieved_rate({.flops = 1e10, .bytes = 1e6, .dtype = DataType::f64}, milliseconds(20), ceilings);
  ASSERT_TRUE(other);
  EXPECT_NEAR(*other->ceiling_share, 0.05, 1e-12);
  EXPECT_FALSE(achieved_rate({.bytes = 1e6}, milliseconds(1), {}));
  EXPECT_FALSE(achieved_rate({.bytes = 1e6}, Nanoseconds(0), ceilings));
}

TEST_F(JudgeTest, BytesOfInputsAndOutputsAreTheWorkThatNobodyTells) {
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.work.bytes, 3.0 * 16 * sizeof(double));
  EXPECT_FALSE(judged.work.is_bytes_told);
  EXPECT_THAT(judged.inputs, ElementsAre("f64[16] normal", "f64[16] normal"));
}

// References that nothing can be judged by.

TEST_F(JudgeTest, DegenerateCasesAreRefused) {
  reference_.ignores_second_input = true;
  EXPECT_THAT(judge_one().evidence, HasSubstr("input 1 does not change"));
  reference_ = {};
  reference_.is_constant = true;
  EXPECT_THAT(judge_one().evidence, HasSubstr("input 0 does not change"));
}

TEST_F(JudgeTest, ARandomReferenceIsRefused) {
  reference_.is_random = true;
  const CaseJudgement judged = judge_one();
  EXPECT_EQ(judged.verdict, Verdict::refused);
  EXPECT_THAT(judged.evidence, HasSubstr("for the same inputs"));
}

TEST_F(JudgeTest, AReferenceThatFailsIsAnError) {
  reference_.raises = true;
  EXPECT_THROW(judge_all(), FailedError);
}

// Several candidates.

TEST_F(JudgeTest, CandidatesAreRankedWithTiesAndWrongOnesHaveNoPlace) {
  request_.candidates = {"slow", "fast", "wrong", "as fast"};
  more_["slow"].call = microseconds(150);
  more_["fast"].call = microseconds(50);
  more_["as fast"].call = microseconds(50);
  more_["wrong"].error = 1.0;
  const auto judged = judge_all();
  EXPECT_EQ(judged[0].rank, 3);
  EXPECT_EQ(judged[1].rank, 1);
  EXPECT_EQ(judged[2].rank, 0);
  EXPECT_EQ(judged[3].rank, 1);
  EXPECT_EQ(judged[2].verdict, Verdict::wrong);
}

TEST_F(JudgeTest, OneWrongCaseMakesACandidateWrong) {
  request_.cases = {{{"n", "1"}}, {{"n", "2"}}};
  const auto same = judge_all();
  EXPECT_EQ(same[0].verdict, Verdict::same);
  EXPECT_EQ(same[0].cases.size(), 2U);
  candidate_.error = 1.0;
  EXPECT_EQ(judge_all()[0].verdict, Verdict::wrong);
}

}  // namespace
}  // namespace jitterscope::judging
