// What launches do, beside their times: where a study counts it.
#include <gmock/gmock.h>

#include "output/comparison_table.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;
using testing::Not;

ComparedSide side_of(double microseconds_, std::optional<Amount> amount) {
  ComparedSide side;
  side.subject = Operation::parse("add:count=8");
  const Nanoseconds median = microseconds(microseconds_);
  side.time = {median, median * 0.999, median * 1.001, 100};
  side.amount = amount;
  return side;
}

ComparisonRecord record_of(std::optional<Amount> first, std::optional<Amount> second) {
  ComparisonRecord record;
  record.study = ComparedStudy{"access", "How fast?", {}};
  record.alternatives = {"near", "far"};
  record.processes_asked = 5;
  Comparison comparison;
  comparison.first = side_of(100, first);
  comparison.second = side_of(400, second);
  comparison.time = {4.0, 3.9, 4.1};
  comparison.processes = 5;
  comparison.verdict = statistics::EffectVerdict::slower;
  record.comparisons = {comparison};
  return record;
}

TEST(ComparisonRates, BytesAreARateBesideTheChange) {
  const std::string table = comparison_table(
      record_of(Amount{Amount::Unit::bytes, 4e8}, Amount{Amount::Unit::bytes, 4e8}), {.width = 120});
  EXPECT_THAT(table, HasSubstr("4.00 TB/s"));
  EXPECT_THAT(table, HasSubstr("1.00 TB/s"));
  EXPECT_THAT(table, HasSubstr("| slower"));
}

TEST(ComparisonRates, WhatDoesUnlikeThingsIsNotCompared) {
  const std::string table = comparison_table(
      record_of(Amount{Amount::Unit::loads, 1000}, Amount{Amount::Unit::additions, 4e8}), {.width = 120});
  EXPECT_THAT(table, HasSubstr("100.0 ns a load"));
  EXPECT_THAT(table, HasSubstr("1.00 T additions/s"));
  EXPECT_THAT(table, Not(HasSubstr("slower")));
  EXPECT_THAT(table, Not(HasSubstr("against near")));
}

TEST(ComparisonRates, WithoutAmountsThereIsNoColumn) {
  EXPECT_THAT(comparison_table(record_of({}, {}), {.width = 120}), Not(HasSubstr("rate")));
}

}  // namespace
}  // namespace jitterscope
