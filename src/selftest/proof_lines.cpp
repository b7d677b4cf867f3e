#include "selftest/proof_lines.hpp"

#include <fmt/format.h>

#include <cmath>

namespace jitterscope::selftest {

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

}  // namespace jitterscope::selftest
