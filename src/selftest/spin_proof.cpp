// Kernels that spin for a known time: what they take beyond it must be what the shortest of them takes too.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/names.hpp"
#include "selftest/proof_context.hpp"
#include "selftest/proof_lines.hpp"
#include "selftest/proofs.hpp"

namespace jitterscope::selftest {
namespace {

constexpr std::array<std::int64_t, 5> kKnown = {1000, 2000, 5000, 10'000, 50'000};  // nanoseconds
constexpr double kSlopeTolerance = 0.002;
// What a calibrated pair of events is good for, and three steps of the clock that the kernel itself reads.
constexpr Nanoseconds kResidualLimit = microseconds(0.1);

std::vector<std::int64_t> block_counts(const ProofContext& context) {
  if (!context.description().capabilities.launches_have_blocks) return {1};
  const std::int64_t processors = context.description().processors;
  return {1, processors, 8 * processors};
}

// A kernel's own start and end, which the empty one has as well, is no error of the instrument.
class SpinSeries {
 public:
  explicit SpinSeries(Nanoseconds empty) : empty_(empty) {}

  void add(Nanoseconds known, Nanoseconds reported) {
    known_.push_back(known.value());
    reported_.push_back(reported.value());
    residuals_.push_back(reported - known - empty_);
  }

  std::vector<ProofLine> judge(std::int64_t blocks) const {
    const std::string where = fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s");
    return {slope_line("slope, " + where, *statistics::fit_line(known_, reported_), kSlopeTolerance,
                       "reported over known time, 1 to 50 µs; 95 % interval of the fit"),
            residual_line("largest residual, " + where)};
  }

 private:
  ProofLine residual_line(std::string name) const {
    Nanoseconds worst;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < residuals_.size(); ++i) {
      if (std::abs(residuals_[i].value()) > std::abs(worst.value())) worst = residuals_[i];
      texts.push_back(fmt::format("{} at {:g} µs", microseconds_text(residuals_[i]), known_[i] * 1e-3));
    }
    return judged_line(
        std::move(name), "at most 0.1 µs", microseconds_text(worst),
        {ValueKind::seconds, worst.value() * 1e-9, {}, {}, around(0.0, to_seconds(kResidualLimit))},
        std::abs(worst.value()) <= kResidualLimit.value(),
        fmt::format("reported less known time, less the {:.3f} µs of an empty kernel: {}",
                    empty_.value() * 1e-3, joined(texts)));
  }

  Nanoseconds empty_;
  std::vector<double> known_, reported_;
  std::vector<Nanoseconds> residuals_;
};

}  // namespace

std::vector<ProofLine> prove_spin(ProofContext& context) {
  const std::vector<std::int64_t> counts = block_counts(context);
  const std::size_t total = counts.size() * (kKnown.size() + 1);
  std::size_t step = 0;
  const auto reported = [&](std::int64_t known, std::int64_t blocks) {
    const Operation operation(Spin{.amount = known, .blocks = blocks});
    context.begin_step(step++, total, operation.text());
    return measure_warm_burst(context, operation).time.median;
  };
  std::vector<ProofLine> lines;
  for (const std::int64_t blocks : counts) {
    SpinSeries series(reported(0, blocks));
    for (const std::int64_t known : kKnown) {
      series.add(Nanoseconds(static_cast<double>(known)), reported(known, blocks));
    }
    for (ProofLine& line : series.judge(blocks)) lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace jitterscope::selftest
