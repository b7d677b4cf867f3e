// The same operation measured by two fresh processes: how often the second finds itself in the first one's
// interval.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "selftest/frequency.hpp"
#include "selftest/proof_context.hpp"
#include "selftest/proof_lines.hpp"
#include "selftest/proofs.hpp"
#include "selftest/sample_operations.hpp"
#include "statistics/binomial.hpp"

namespace jitterscope::selftest {
namespace {

constexpr int kPairs = 12;
// Two estimates with the same normal error differ by less than 1.96 of it with probability
// 2·Φ(1.96/√2) - 1 = 0.834, not 0.95: the second one errs as well.
constexpr double kExpectedShare = 0.834;
constexpr std::string_view kTarget = "83 % or more";

struct Pairs {
  Frequency inside;
  double largest_distance = 0.0;  ///< relative

  void add(const TimeEstimate& first, const TimeEstimate& second) {
    inside.add(second.median >= first.low && second.median <= first.high);
    largest_distance = std::max(largest_distance, std::abs(second.median / first.median - 1.0));
  }
};

ProofLine pairs_line(const Operation& operation, const Pairs& pairs) {
  const Frequency& inside = pairs.inside;
  const statistics::Interval interval = statistics::clopper_pearson(inside.hits, inside.trials);
  const double probability = statistics::probability_of_at_most(inside.hits, inside.trials, kExpectedShare);
  return judged_line(
      operation.text(), std::string(kTarget),
      fmt::format("{} of {}: {:.0f} % ({:.0f}–{:.0f} %)", inside.hits, inside.trials, inside.value() * 100,
                  interval.low * 100, interval.high * 100),
      {ValueKind::share, inside.value(), interval.low, interval.high, ProofTarget{kExpectedShare, 1.0}},
      verdict_on(inside, kExpectedShare),
      fmt::format(
          "second estimates within the first one's 95 % interval, with the exact 95 % interval of "
          "their share; so few have a probability of {:.2g} where intervals are right; largest distance "
          "{}",
          probability, percent_text(pairs.largest_distance)));
}

}  // namespace

std::vector<ProofLine> prove_pairs(ProofContext& context) {
  const MeasureInFreshProcess& measure = context.options().measure_in_fresh_process;
  if (!measure) throw UsageError("nothing here can start another process");
  std::vector<Operation> operations = sample_operations(context.description());
  if (context.quick()) operations.resize(1, operations.front());
  const std::size_t total = operations.size() * kPairs * 2;
  std::size_t run = 0;
  const auto next = [&](const Operation& operation) {
    context.begin_step(run, total, operation.text());
    // Another seed each time: other idles and orders, as two people would meet.
    return measure(operation, context.seed() + run++);
  };
  std::vector<ProofLine> lines;
  for (const Operation& operation : operations) {
    Pairs pairs;
    for (int pair = 0; pair < kPairs; ++pair) {
      const TimeEstimate first = next(operation);
      pairs.add(first, next(operation));
    }
    lines.push_back(pairs_line(operation, pairs));
  }
  return lines;
}

}  // namespace jitterscope::selftest
