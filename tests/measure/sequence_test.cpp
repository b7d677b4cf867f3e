// Networks in sequence: what is timed, what is left out, what each call reads.
#include "measure/sequence.hpp"

#include <gmock/gmock.h>

#include "measuring.hpp"
#include "operation/pytorch.hpp"

namespace jitterscope::scripted {
namespace {

const Operation kSequenceAdd = Operation::parse("add:count=1024");

Model two_calls() {
  Model model;
  model.name = "two";
  model.layers = {{{"first", "third"}, kSequenceAdd}, {{"second"}, Operation::parse("relu:count=1024")}};
  model.calls = {{0, "first", {}}, {1, "second", {{0, 0, 2}}}, {0, "third", {{0, 1, 1}}}};
  return model;
}

TEST(Sequence, EachCallHasItsOwnTime) {
  Laboratory laboratory;
  laboratory.device.script().launch_time = [](const LaunchContext& context) {
    const bool is_add = context.operation != nullptr && *context.operation == kSequenceAdd;
    return is_add ? microseconds(70) : microseconds(20);
  };
  const SequenceMeasurement sequence =
      measure_sequence(laboratory.session, two_calls(), one_condition(CacheState::warm, Load::burst), {});
  ASSERT_EQ(sequence.calls.size(), 3u);
  EXPECT_EQ(sequence.instrument, Instrument::cupti);
  EXPECT_NEAR(sequence.calls[0].time.median.value(), 70e3, 100);
  EXPECT_NEAR(sequence.calls[1].time.median.value(), 20e3, 100);
  EXPECT_EQ(sequence.calls[2].name, "third");
  EXPECT_GE(sequence.calls[2].time.rounds, 10);
  EXPECT_GE(sequence.iteration.median.value(), 160e3);
}

// Launches that come right behind another one, but for those that count the kernels before the first pass.
std::int64_t launches_behind_launches(QueueMode queue) {
  Laboratory laboratory;
  MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  options.queue = queue;
  laboratory.device.log().clear();
  const SequenceMeasurement sequence = measure_sequence(laboratory.session, two_calls(), options, {});
  EXPECT_EQ(sequence.queue, queue);
  const std::vector<LoggedCall>& log = laboratory.device.log();
  std::int64_t count = 0;
  auto logged =
      std::find_if(log.begin(), log.end(), [](const auto& each) { return each.call == Call::idle; });
  for (auto next = logged; next != log.end(); logged = next++) {
    if (logged != next && logged->call == Call::launch && next->call == Call::launch) ++count;
  }
  return count;
}

TEST(Sequence, AnEagerQueueIsEmptyBeforeEachCall) {
  EXPECT_GT(launches_behind_launches(QueueMode::saturated), 10);
  EXPECT_EQ(launches_behind_launches(QueueMode::eager), 0);
}

TEST(Sequence, WithoutATracerTheHostTimesEachCall) {
  Laboratory laboratory;
  laboratory.device.script().can_trace = false;
  laboratory.device.script().launch_time = [](const auto&) { return milliseconds(1); };
  const SequenceMeasurement sequence =
      measure_sequence(laboratory.session, two_calls(), one_condition(CacheState::warm, Load::burst), {});
  EXPECT_EQ(sequence.instrument, Instrument::host);
  EXPECT_NEAR(sequence.calls[0].time.median.value(), 1e6, 2e4);
}

// The second of the two operations is one that the device lacks.
SequenceMeasurement without_second_operation(const std::string& lacking) {
  Laboratory laboratory;
  laboratory.device.script().missing_types = {DataType::f16};
  Model model = two_calls();
  model.layers[1].operation = Operation::parse(lacking);
  return measure_sequence(laboratory.session, model, one_condition(CacheState::warm, Load::burst), {});
}

TEST(Sequence, ACallThatCannotRunIsLeftOutWithItsReason) {
  const SequenceMeasurement sequence = without_second_operation("relu:count=1024,dtype=f16");
  EXPECT_THAT(sequence.calls[1].failure, testing::HasSubstr("lacks this data type"));
  EXPECT_EQ(sequence.calls[1].time.rounds, 0);
  EXPECT_GT(sequence.calls[2].time.rounds, 0);
}

TEST(Sequence, WhatReadsTheOutputOfACallThatWasLeftOutReadsWhatNoneWrote) {
  const SequenceMeasurement sequence = without_second_operation("relu:count=2048,dtype=f16");
  EXPECT_EQ(sequence.calls[0].unwritten, 0);
  EXPECT_EQ(sequence.calls[2].unwritten, 1);
  EXPECT_EQ(calls_timed(sequence), 2);
}

TEST(Sequence, APartOutsideOfItsSourceIsReadFromMemoryThatNoneWrote) {
  Laboratory laboratory;
  Model model = two_calls();
  model.calls[1].inputs = {{0, 0, 2, Bytes(2048)}};  // 4 KiB from there are more than the 4 KiB of the sum
  model.calls[2].unwritten = 1;
  const SequenceMeasurement sequence =
      measure_sequence(laboratory.session, model, one_condition(CacheState::warm, Load::burst), {});
  EXPECT_EQ(sequence.calls[1].unwritten, 1);
  EXPECT_EQ(sequence.calls[2].unwritten, 1);
}

// It reads what a layer wrote; what it writes itself lies where nobody else reads it, as on a CPU.
TEST(Sequence, AnOperatorOfPytorchReadsWhatACallWrote) {
  Laboratory laboratory;
  Model model = two_calls();
  model.layers[1].operation = Operation::parse("aten::relu(f32[1024])");
  model.calls[2].inputs = {{0, 1, 1}};
  const SequenceMeasurement sequence =
      measure_sequence(laboratory.session, model, one_condition(CacheState::warm, Load::burst), {});
  EXPECT_TRUE(sequence.is_connected);
  EXPECT_EQ(sequence.calls[1].unwritten, 0);
  EXPECT_EQ(sequence.calls[2].unwritten, 1);
}

TEST(Sequence, AnOperatorOfPytorchWhoseOperandsAreNotKnownReadsNothingOfOthers) {
  for (const std::size_t operand : {kUnknownOperand, std::size_t{1}}) {
    Laboratory laboratory;
    Model model = two_calls();
    model.layers[1].operation = Operation::parse("aten::relu(f32[1024])");
    model.calls[1].inputs = {{operand, 0, 2}};
    model.calls[2].inputs = {};
    const SequenceMeasurement sequence =
        measure_sequence(laboratory.session, model, one_condition(CacheState::warm, Load::burst), {});
    EXPECT_FALSE(sequence.is_connected);
    EXPECT_EQ(sequence.calls[1].unwritten, 1);
  }
}

TEST(Sequence, AnInterruptionWhilePreparingLeavesNoTime) {
  Laboratory laboratory;
  bool pressed = false;
  MeasureOptions options = one_condition(CacheState::warm, Load::burst);
  options.interrupted = [&] { return pressed; };
  const SequenceMeasurement sequence =
      measure_sequence(laboratory.session, two_calls(), options,
                       [&](const std::string&, std::size_t number, std::size_t) { pressed = number == 2; });
  EXPECT_EQ(sequence.calls.size(), 3u);
  EXPECT_EQ(calls_timed(sequence), 0);
  EXPECT_EQ(sequence.iteration.rounds, 0);
}

TEST(Sequence, ThePassMustBePreciseAsWell) {
  Laboratory laboratory;
  SequenceMeasurement sequence =
      measure_sequence(laboratory.session, two_calls(), one_condition(CacheState::warm, Load::burst), {});
  EXPECT_TRUE(reached_precision(sequence));
  sequence.iteration.high = sequence.iteration.median * 1.3;
  EXPECT_FALSE(reached_precision(sequence));
}

}  // namespace
}  // namespace jitterscope::scripted
