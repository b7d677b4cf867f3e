#include "selftest/proof.hpp"

#include <cmath>

#include <fmt/format.h>

#include "statistics/statistics.hpp"

namespace jitterscope::selftest {

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::passed: return "passed";
    case Verdict::missed: return "missed";
    case Verdict::inconclusive: return "inconclusive";
    case Verdict::skipped: return "skipped";
  }
  return "";
}

std::string_view to_string(ValueKind kind) {
  switch (kind) {
    case ValueKind::seconds: return "seconds";
    case ValueKind::share: return "share";
    case ValueKind::ratio: return "ratio";
    case ValueKind::bytes_per_second: return "bytes per second";
  }
  return "";
}

ProofLine judged_line(std::string name, std::string target, std::string measured, ProofValue value,
                      bool holds, std::string note) {
  return judged_line(std::move(name), std::move(target), std::move(measured), value,
                     holds ? Verdict::passed : Verdict::missed, std::move(note));
}

ProofLine judged_line(std::string name, std::string target, std::string measured, ProofValue value,
                      Verdict verdict, std::string note) {
  return {.group = {},
          .name = std::move(name),
          .target = std::move(target),
          .measured = std::move(measured),
          .value = value,
          .verdict = verdict,
          .note = std::move(note)};
}

ProofTarget around(double middle, double distance) { return {middle - distance, middle + distance}; }

ProofLine skipped_line(std::string name, std::string target, std::string reason) {
  return {.group = {},
          .name = std::move(name),
          .target = std::move(target),
          .measured = {},
          .value = {},
          .verdict = Verdict::skipped,
          .note = std::move(reason)};
}

ProofLine slope_line(std::string name, const statistics::LinearFit& fit, double tolerance, std::string note) {
  const statistics::Interval& interval = fit.slope_interval;
  return judged_line(std::move(name), fmt::format("1.000 ± {:.3f}", tolerance),
                     fmt::format("{:.4f} ({:.4f}–{:.4f})", fit.slope, interval.low, interval.high),
                     {ValueKind::ratio, fit.slope, interval.low, interval.high, around(1.0, tolerance)},
                     std::abs(fit.slope - 1.0) <= tolerance, std::move(note));
}

std::string microseconds_text(Nanoseconds time) { return fmt::format("{:+.3f} µs", time.value() * 1e-3); }

namespace {

ProofLine share_line(std::string name, std::string words, const Frequency& share, ProofTarget target,
                     Verdict verdict, std::string note) {
  const statistics::Interval interval = statistics::clopper_pearson(share.hits, share.trials);
  return judged_line(std::move(name), std::move(words), frequency_text(share),
                     {ValueKind::share, share.value(), interval.low, interval.high, target}, verdict,
                     std::move(note));
}

}  // namespace

std::string frequency_text(const Frequency& share) {
  const statistics::Interval interval = statistics::clopper_pearson(share.hits, share.trials);
  return fmt::format("{} of {}: {:.1f} % ({:.1f}–{:.1f} %)", share.hits, share.trials, share.value() * 100,
                     interval.low * 100, interval.high * 100);
}

Verdict verdict_on(const Frequency& share, double least) {
  const statistics::Interval interval = statistics::clopper_pearson(share.hits, share.trials);
  if (interval.high < least) return Verdict::missed;
  const double refuting = 1.0 - 2.0 * (1.0 - least);
  return interval.low <= refuting ? Verdict::inconclusive : Verdict::passed;
}

ProofLine at_least_line(std::string name, const Frequency& share, double least, bool holds,
                        std::string note) {
  const Verdict verdict = holds ? verdict_on(share, least) : Verdict::missed;
  return share_line(std::move(name), fmt::format("at least {:g} %", least * 100), share, {least, 1.0},
                    verdict, std::move(note));
}

ProofLine at_most_line(std::string name, const Frequency& share, double most, std::string note) {
  const Verdict verdict = verdict_on({share.trials - share.hits, share.trials}, 1.0 - most);
  return share_line(std::move(name), fmt::format("at most {:g} %", most * 100), share, {0.0, most}, verdict,
                    std::move(note));
}

}  // namespace jitterscope::selftest
