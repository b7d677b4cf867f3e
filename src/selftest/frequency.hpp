// Lines about how often something happened in equal trials.
#pragma once

#include <cstdint>
#include <string>

#include "selftest/proof.hpp"

namespace jitterscope::selftest {

struct Frequency {
  std::int64_t hits = 0, trials = 0;

  void add(bool hit) {
    hits += hit ? 1 : 0;
    ++trials;
  }
  double value() const { return static_cast<double>(hits) / static_cast<double>(trials); }
};

/// "96 of 100: 96.0 % (90.1–98.9 %)": with its exact 95 % interval.
std::string frequency_text(const Frequency& share);

/// Missed where the exact interval of the share excludes `least` or more. Inconclusive where it holds that,
/// and also a share with twice the failures that `least` leaves: so few trials tell neither.
Verdict verdict_on(const Frequency& share, double least);

/// Missed where `holds` is false, else by verdict_on().
ProofLine at_least_line(std::string name, const Frequency& share, double least, bool holds, std::string note);
/// The same for `most` or less.
ProofLine at_most_line(std::string name, const Frequency& share, double most, std::string note);

}  // namespace jitterscope::selftest
