// Lines about how often something happened in equal trials.
#pragma once

#include <cstdint>
#include <string>

#include "selftest/proof.hpp"

namespace jitterscope::selftest {

struct Share {
  std::int64_t hits = 0, trials = 0;

  void add(bool hit) {
    hits += hit ? 1 : 0;
    ++trials;
  }
  double value() const { return static_cast<double>(hits) / static_cast<double>(trials); }
};

/// "96 of 100: 96.0 % (90.1–98.9 %)": with its exact 95 % interval.
std::string share_text(const Share& share);

/// Passes where `holds` and the exact interval of the share does not exclude `least` or more.
ProofLine at_least_line(std::string name, const Share& share, double least, bool holds, std::string note);
/// The same for `most` or less.
ProofLine at_most_line(std::string name, const Share& share, double most, std::string note);

}  // namespace jitterscope::selftest
