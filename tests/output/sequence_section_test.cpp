// A network in sequence, as text: what it is a time of.
#include <gmock/gmock.h>

#include <algorithm>

#include "commands/run/table.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::Not;

TimeEstimate time_of(double us) { return {microseconds(us), microseconds(us), microseconds(us), 12}; }

Measurement alone(CacheState cache, Load load) {
  Measurement measurement;
  measurement.conditions.cache = cache;
  measurement.conditions.load = load;
  measurement.time = time_of(20);
  return measurement;
}

RunRecord three_calls() {
  RunRecord record;
  Result result;
  result.subject = Operation::parse("relu:count=1024");
  result.measurements = {alone(CacheState::warm, Load::burst)};
  record.entries = {{.result = result, .count = 3, .layers = {"first", "second", "third"}}};
  SequenceMeasurement sequence;
  sequence.precision_asked = 0.005;
  sequence.is_connected = true;
  for (const char* name : {"first", "second", "third"}) {
    SequenceCall call{name, 0, {}};
    call.time = time_of(20);
    sequence.calls.push_back(call);
  }
  sequence.iteration = time_of(60);
  record.sequence = sequence;
  return record;
}

// On one line, since where lines break does not matter.
std::string text_of(const RunRecord& record) {
  std::string text = sequence_section({record, label_conditions(record), {"relu"}, {0}, {.details = true}});
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

TEST(SequenceSection, AWholeNetworkHasATime) {
  const std::string text = text_of(three_calls());
  EXPECT_THAT(text, HasSubstr("In sequence: all 3 calls"));
  EXPECT_THAT(text, HasSubstr("one pass as a whole takes 60"));
  EXPECT_THAT(text, HasSubstr("| alone, warm |"));
  EXPECT_THAT(text, Not(HasSubstr("no call of the sequence wrote")));
  EXPECT_THAT(text, Not(HasSubstr("did not reach")));
}

TEST(SequenceSection, AnEmptyQueueIsSaid) {
  RunRecord record = three_calls();
  EXPECT_THAT(text_of(record), Not(HasSubstr("launched when")));
  record.sequence->queue = QueueMode::eager;
  EXPECT_THAT(text_of(record), HasSubstr("each call launched when the one before has ended"));
}

TEST(SequenceSection, APartOfTheCallsHasNoTimeOfTheNetwork) {
  RunRecord record = three_calls();
  record.sequence->calls[1].time = {};
  record.sequence->calls[1].failure = "too large";
  const std::string text = text_of(record);
  EXPECT_THAT(text, HasSubstr("In sequence: only 2 of 3 calls"));
  EXPECT_THAT(text, HasSubstr("these 2 calls take 60"));
  EXPECT_THAT(text, HasSubstr("which is not the time of the network"));
  EXPECT_THAT(text, HasSubstr("1 call was left out, the first second: too large"));
  EXPECT_THAT(text, Not(HasSubstr("one pass as a whole takes")));
}

TEST(SequenceSection, WhatWasInterruptedBeforeTheFirstPassSaysSo) {
  RunRecord record = three_calls();
  for (SequenceCall& call : record.sequence->calls) call.time = {};
  record.sequence->iteration = {};
  const std::string text = text_of(record);
  EXPECT_THAT(text, HasSubstr("none of 3 calls was timed"));
  EXPECT_THAT(text, Not(HasSubstr("passes")));
}

TEST(SequenceSection, TheLoadIsSaidWhereThereAreTwo) {
  RunRecord record = three_calls();
  record.entries[0].result.measurements.push_back(alone(CacheState::warm, Load::sustained));
  const std::string text = text_of(record);
  EXPECT_THAT(text, HasSubstr("| alone, warm burst |"));
  EXPECT_THAT(text, HasSubstr("| alone, warm sustained |"));
}

TEST(SequenceSection, TimesInPlaceHaveTheirPrecision) {
  RunRecord record = three_calls();
  for (SequenceCall& call : record.sequence->calls) {
    call.time.low = microseconds(19.8);
    call.time.high = microseconds(20.2);
  }
  EXPECT_THAT(text_of(record), HasSubstr("± 1 %"));
}

TEST(SequenceSection, CallsThatReadWhatNoneWroteAreCounted) {
  RunRecord record = three_calls();
  record.sequence->calls[2].unwritten = 2;
  EXPECT_THAT(text_of(record), HasSubstr("1 of them reads data that no call of the sequence wrote"));
  record.sequence->is_connected = false;
  EXPECT_THAT(text_of(record), HasSubstr("each with memory of its own"));
}

TEST(SequenceSection, TheFirstPageSaysWhichTimeAloneIsNearest) {
  const RunRecord record = three_calls();
  const std::string text = sequence_section({record, label_conditions(record), {"relu"}, {0}, {}});
  EXPECT_THAT(text, HasSubstr("| nearest to |"));
  EXPECT_THAT(text, HasSubstr("| warm       |"));
  EXPECT_THAT(text, Not(HasSubstr("alone")));
  EXPECT_THAT(sequence_section({record, label_conditions(record), {"relu"}, {}, {}}), Not(HasSubstr("relu")));
}

}  // namespace
}  // namespace jitterscope
