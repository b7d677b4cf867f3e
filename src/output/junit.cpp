#include "output/junit.hpp"

#include <fmt/format.h>

#include <vector>

#include "output/display_text.hpp"
#include "output/gate_text.hpp"

namespace jitterscope {
namespace {

using statistics::EffectVerdict;

std::string escaped_xml(std::string_view text) {
  std::string made;
  for (const char letter : one_line(text)) {
    switch (letter) {
      case '&': made += "&amp;"; break;
      case '<': made += "&lt;"; break;
      case '>': made += "&gt;"; break;
      case '"': made += "&quot;"; break;
      default: made += letter;
    }
  }
  return made;
}

struct Counts {
  int tests = 0, failures = 0, errors = 0, skipped = 0;

  std::string attributes() const {
    return fmt::format(R"(tests="{}" failures="{}" errors="{}" skipped="{}")", tests, failures, errors,
                       skipped);
  }
  void add(const Counts& other) {
    tests += other.tests;
    failures += other.failures;
    errors += other.errors;
    skipped += other.skipped;
  }
};

struct Suite {
  Counts counts;
  std::string tests;
};

std::string test(const std::string& suite, const std::string& name, double seconds,
                 const std::string& inner) {
  const std::string head = fmt::format(R"(    <testcase classname="{}" name="{}" time="{:.9f}")",
                                       escaped_xml(suite), escaped_xml(name), seconds);
  return inner.empty() ? head + "/>\n" : fmt::format("{}>\n      {}\n    </testcase>\n", head, inner);
}

std::string element(std::string_view kind, std::string_view type, const std::string& message) {
  return type.empty() ? fmt::format(R"(<{} message="{}"/>)", kind, escaped_xml(message))
                      : fmt::format(R"(<{} type="{}" message="{}"/>)", kind, type, escaped_xml(message));
}

void add_case(const GateCase& each, const ComparisonRecord& record, const std::string& suite_name,
              bool is_strict, Suite& suite) {
  ++suite.counts.tests;
  std::string inner;
  if (!each.failure.empty()) {
    ++suite.counts.errors;
    inner = element("error", "no time", each.failure);
  } else if (each.verdict == EffectVerdict::slower ||
             (each.verdict == EffectVerdict::undecided && is_strict)) {
    ++suite.counts.failures;
    inner = element("failure", to_string(each.verdict), change_words(each, record.margin));
  } else if (each.verdict == EffectVerdict::undecided) {
    ++suite.counts.skipped;
    inner = element("skipped", "", "undecided: " + change_words(each, record.margin));
  }
  suite.tests += test(suite_name, case_label(each), to_seconds(each.now.median), inner);
}

std::string suite_of(const GateOutcome& outcome, bool is_strict, Counts& all) {
  const ComparisonRecord& record = outcome.record;
  const std::string name = record.baseline ? record.baseline->name : "gate";
  Suite suite;
  if (!outcome.failure.empty()) {
    suite.counts = {.tests = 1, .errors = 1};
    suite.tests = test(name, name, 0.0, element("error", "no comparison", outcome.failure));
  } else {
    for (const GateCase& each : gate_cases(record)) add_case(each, record, name, is_strict, suite);
    if (record.interrupted) {
      suite.counts.add({.tests = 1, .errors = 1});
      suite.tests +=
          test(name, "all that was asked for", 0.0,
               element("error", "interrupted", "the gate was interrupted before all was measured"));
    }
  }
  all.add(suite.counts);
  // Without the Z: the format has no time zones.
  std::string moment = record.environment.time;
  if (moment.ends_with('Z')) moment.pop_back();
  return fmt::format("  <testsuite name=\"{}\" {} timestamp=\"{}\">\n{}  </testsuite>\n", escaped_xml(name),
                     suite.counts.attributes(), escaped_xml(moment), suite.tests);
}

}  // namespace

std::string junit_xml(std::span<const GateOutcome> outcomes, bool is_strict) {
  Counts all;
  std::string suites;
  for (const GateOutcome& outcome : outcomes) suites += suite_of(outcome, is_strict, all);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"jitterscope gate\" {}>\n{}</testsuites>\n",
      all.attributes(), suites);
}

}  // namespace jitterscope
