// Many trials of one scene, the truth that they share, and how often their intervals hold it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "selftest/frequency.hpp"
#include "selftest/proof.hpp"
#include "selftest/proof_context.hpp"
#include "selftest/simulated_run.hpp"

namespace jitterscope::selftest {

struct Sample {
  std::string scene;
  std::vector<SimulatedRun> trials;  ///< each with one measurement
};

/// Steps `first` to `first + count` of `total`, told to the user. Throws InterruptedError.
Sample run_trials(ProofContext& context, const Scene& scene, std::string_view proof, std::size_t count);

/// What the events add, less what slopes add: the constant that the calibration estimates, exactly.
Nanoseconds true_events_constant(const physics::Parameters& gpu);
/// How much too large a constant was taken off a measurement's times.
Nanoseconds constant_error(const Measurement& measurement, const physics::Parameters& gpu);

/// Median over the rounds of all trials, as far as all trials have them, the true constant taken off: what
/// the median of round medians tends to in these conditions.
Nanoseconds true_time(const Sample& sample, const physics::Parameters& gpu);

/// Whether a measurement's interval of the time holds the truth, but for the error of its constant.
bool holds_time(const Measurement& measurement, const physics::Parameters& gpu, Nanoseconds truth);

/// A line that passes where the exact interval of the share of intervals that hold meets [lowest, highest].
ProofLine coverage_line(std::string name, const Frequency& held, double lowest, double highest,
                        std::string note);

}  // namespace jitterscope::selftest
