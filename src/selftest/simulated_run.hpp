// One simulated run from the opening of a device to its findings, as a user would have it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jitterscope/measure.hpp"
#include "measure/run_record.hpp"
#include "physics/machine.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::selftest {

/// A virtual GPU, and what is measured on it.
struct Scene {
  std::string name;
  physics::Parameters gpu;
  Operation operation;
  MeasureOptions options;
};

struct SimulatedRun {
  Calibration calibration;
  Result result;  ///< with its findings
  std::vector<Finding> machine_findings;
  Nanoseconds duration;  ///< simulated, from the opening of the device to the last time measured
};

/// Told of each launch of the operation as it really ran.
using OnLaunch = std::function<void(const physics::Execution&)>;

/// A fresh process on the scene's GPU: everything random follows from the seed. Where a cold time is asked
/// for, it is proven, as `run` does; after measuring, so that this changes no time.
SimulatedRun simulate_run(const Scene& scene, std::uint64_t seed, const OnLaunch& on_launch = {});

/// Seeds of trials: far apart for neighbouring numbers, and different for each proof.
std::uint64_t trial_seed(std::uint64_t base, std::string_view proof, std::uint64_t number);

}  // namespace jitterscope::selftest
