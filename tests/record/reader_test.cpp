#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "record/describe_run.hpp"
#include "record/values.hpp"

namespace jitterscope {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::string refusal(const std::string& json) {
  try {
    read_value<T>(Json::parse(json), "part.json");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "read";
}

TEST(Writer, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(write_value(SensorReading()).dump(), "{}");
  EXPECT_EQ(write_value(LibraryInfo{"cudnn", "", "", ""}).dump(), R"({"name":"cudnn"})");
  EXPECT_EQ(write_value(Mode{Nanoseconds(kNotANumber), 0.5}).dump(), R"({"weight":0.5})");
  EXPECT_EQ(write_value(std::vector<Nanoseconds>{microseconds(1), Nanoseconds(kNotANumber)}).dump(),
            "[1e-06]");
}

TEST(Writer, NoIntervalBelowSixRounds) {
  const TimeEstimate three{microseconds(20), microseconds(20), microseconds(20), 3};
  EXPECT_EQ(write_value(three).dump(), R"({"median_seconds":2e-05,"rounds":3})");
}

TEST(Writer, NamedValuesAreAnObject) {
  const std::vector<Evidence> evidence = {
      {"clock_hz", 1716e6}, {"processes", std::int64_t{2}}, {"known", true}, {"first", "4711 python"}};
  const Json written = write_value(evidence);
  EXPECT_EQ(written.dump(), R"({"clock_hz":1716000000.0,"processes":2,"known":true,"first":"4711 python"})");
  EXPECT_EQ(read_value<std::vector<Evidence>>(written, "x"), evidence);
}

TEST(Reader, WhatIsMissingKeepsItsDefault) {
  const Conditions read = read_value<Conditions>(Json::parse(R"({"cache": "cold", "other": 1})"), "x");
  Conditions expected;
  expected.cache = CacheState::cold;
  EXPECT_EQ(read, expected);
}

TEST(Reader, UnknownDataIsNoWordOfTheEnumeration) {
  Conditions conditions;
  conditions.data.reset();
  EXPECT_EQ(read_value<Conditions>(write_value(conditions), "x"), conditions);
}

TEST(Reader, RefusalsNameThePlace) {
  EXPECT_EQ(refusal<std::vector<Measurement>>(R"([{}, {"time": {"median_seconds": "20 us"}}])"),
            "part.json: [1].time.median_seconds: a number was expected; the file was changed, or something "
            "else wrote it");
  EXPECT_EQ(
      refusal<Result>(R"({"operation": "add:count=8", "measurements": [{"rounds": [{"clock_hertz": []}]}]})"),
      "part.json: measurements[0].rounds[0].clock_hertz: a number was expected; the file was changed, or "
      "something else wrote it");
  EXPECT_EQ(refusal<Conditions>(R"({"cache": "wram"})"),
            "part.json: cache: unknown word 'wram' (did you mean 'warm'?)");
  EXPECT_EQ(
      refusal<Finding>(R"({"evidence": {"clock_hz": null}})"),
      "part.json: evidence.clock_hz: a number, a text, true or false was expected; the file was changed, or "
      "something else wrote it");
  EXPECT_EQ(refusal<Conditions>("3"),
            "part.json: an object was expected; the file was changed, or something else wrote it");
  EXPECT_EQ(refusal<Result>("{}"),
            "part.json: operation: a value was expected; the file was changed, or something else wrote it");
}

TEST(Reader, RefusesNumbersOutOfRange) {
  const std::string changed = " was expected; the file was changed, or something else wrote it";
  EXPECT_EQ(refusal<Conditions>(R"({"seed": -1})"),
            "part.json: seed: a whole number from 0 to 18446744073709551615" + changed);
  EXPECT_EQ(refusal<DeviceDescription>(R"({"processors": 3000000000})"),
            "part.json: processors: a whole number from -2147483648 to 2147483647" + changed);
  EXPECT_EQ(refusal<Verification>(R"({"total": 18446744073709551615})"),
            "part.json: total: a whole number from -9223372036854775808 to 9223372036854775807" + changed);
  EXPECT_EQ(refusal<TimeEstimate>(R"({"rounds": 1.5})"),
            "part.json: rounds: a whole number from -9223372036854775808 to 9223372036854775807" + changed);
  EXPECT_EQ(refusal<TimeEstimate>(R"({"median_seconds": 1e300})"),
            "part.json: median_seconds: a number of seconds below 1e299" + changed);
  EXPECT_EQ(refusal<Round>(R"({"launches_per_value": 0})"),
            "part.json: launches_per_value: a number of launches, at least 1," + changed);
}

TEST(Reader, OperationsAreReadByTheirParser) {
  EXPECT_EQ(
      operation_of(read_value<Result>(Json::parse(R"({"operation": "add:count=8"})"), "x").subject)->text(),
      Operation::parse("add:count=8").text());
  EXPECT_EQ(refusal<Result>(R"({"operation": "add:count=0"})").substr(0, 22), "part.json: operation: ");
  Result written;
  written.subject = Callable{"add:count=8"};
  const Result callable = read_value<Result>(write_value(written), "x");
  EXPECT_EQ(callable.subject, Subject(Callable{"add:count=8"}));
  written.subject = Callable{"total(n=256)", {{"n", "256"}, {"kind", "list"}}};
  EXPECT_EQ(write_value(written).at("parameters").dump(), R"({"n":256,"kind":"list"})");
  EXPECT_EQ(read_value<Result>(write_value(written), "x").subject, written.subject);
}

}  // namespace
}  // namespace jitterscope
