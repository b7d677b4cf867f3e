// How proofs make their lines.
#pragma once

#include <string>

#include "selftest/proof.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {

/// A judged line: passed where the claim holds.
ProofLine judged_line(std::string name, std::string target, std::string measured, ProofValue value,
                      bool holds, std::string note = {});
ProofLine judged_line(std::string name, std::string target, std::string measured, ProofValue value,
                      Verdict verdict, std::string note = {});
/// A target that is met this far to either side of a value.
ProofTarget around(double middle, double distance);
/// A line without a value, and why.
ProofLine skipped_line(std::string name, std::string target, std::string reason);

/// Passes where the fit's slope is within `tolerance` of one; its 95 % interval goes beside it.
ProofLine slope_line(std::string name, const statistics::LinearFit& fit, double tolerance,
                     std::string note = {});

/// "+0.013 µs": in microseconds, the unit of the targets.
std::string microseconds_text(Nanoseconds time);

}  // namespace jitterscope::selftest
