// Many trials of one scene, the truth that they share, and how often their intervals hold it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "selftest/proof.hpp"
#include "selftest/proof_context.hpp"
#include "selftest/trial.hpp"

namespace jitterscope::selftest {

struct Sample {
  std::string scene;
  std::vector<Trial> trials;  ///< each with one measurement
};

/// Steps `first` to `first + count` of `total`, told to the user. Throws InterruptedError.
Sample run_trials(ProofContext& context, const Scene& scene, std::string_view proof, std::size_t count);

/// What the events add, less what slopes add: the constant that the calibration estimates, exactly.
Nanoseconds true_events_constant(const physics::Parameters& gpu);
/// What was taken off a measurement's times should have been this, by its instrument.
Nanoseconds true_constant(const Measurement& measurement, const physics::Parameters& gpu);

/// Median over the rounds of all trials, as far as all trials have them, the true constant taken off: what
/// the median of round medians tends to in these conditions.
Nanoseconds true_time(const Sample& sample, const physics::Parameters& gpu);

struct Coverage {
  std::int64_t trials = 0, covered = 0;
  std::int64_t below = 0, above = 0;  ///< whole intervals below the truth, and above it
  double share() const { return static_cast<double>(covered) / static_cast<double>(trials); }
  void count(double low, double high, double truth);
};

/// A line that passes where the exact interval of the coverage meets [lowest, highest].
ProofLine coverage_line(std::string name, const Coverage& coverage, double lowest, double highest,
                        std::string note);
/// "95.1 % (94.0–96.0) of 2000"
std::string coverage_text(const Coverage& coverage);

}  // namespace jitterscope::selftest
