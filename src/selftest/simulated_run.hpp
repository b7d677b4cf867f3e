// Simulates a whole run, from opening the device to the findings, and the trials that proofs make of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/measure.hpp"
#include "measure/run_record.hpp"
#include "physics/machine.hpp"
#include "physics/parameters.hpp"
#include "selftest/proof.hpp"
#include "selftest/run_proofs.hpp"

namespace jitterscope::selftest {

/// A virtual GPU and an operation to measure on it.
struct Scene {
  std::string name;
  physics::Parameters gpu;
  Operation operation;
  MeasureOptions options;
};

struct SimulatedRun {
  Calibration calibration;
  Result result;  ///< includes its findings
  std::vector<Finding> machine_findings;
  Nanoseconds duration;  ///< simulated, from opening the device to the last measured time
};

/// Called with each launch of the operation as it really ran.
using OnLaunch = std::function<void(const physics::Execution&)>;

/// Simulates a fresh process on the scene's GPU; the seed determines everything random. Like `run`, proves
/// cold times if they are asked for, after measuring, so that the proof changes no time.
SimulatedRun simulate_run(const Scene& scene, std::uint64_t seed, const OnLaunch& on_launch = {});

/// Returns a trial's seed: unrelated for neighbouring numbers, and different for each proof.
std::uint64_t trial_seed(std::uint64_t base, std::string_view proof, std::uint64_t number);

// Below: operations and parameters that simulated proofs share.

/// fp16 NHWC convolution 3×3 64→64, 56², N 256: 128 µs on an H200, bound by compute and memory alike.
Operation long_convolution();
/// bf16 GEMM 8192³: 1.4 ms, limited by power.
Operation large_product();
/// bf16 GEMM 512³: 3.3 µs, timed by slopes.
Operation small_product();
/// Copy of 1 GiB within the device: 0.5 ms, bound by memory.
Operation large_copy();

MeasureOptions one_load(Load load);

/// Returns a preset without differences between processes and between allocations, which no interval of one
/// process can hold.
physics::Parameters one_process(const std::string& preset);

// Below: many trials of one scene, their true value, and how often their intervals hold it.

struct Sample {
  std::string scene;
  std::vector<SimulatedRun> trials;  ///< with one measurement each
};

/// Simulates `count` trials and reports progress. Throws InterruptedError.
Sample run_trials(ProofContext& context, const Scene& scene, std::string_view proof, std::size_t count);

/// Returns the exact constant that the calibration estimates: the overhead of events less that of slopes.
Nanoseconds true_events_constant(const physics::Parameters& gpu);
/// Returns the error of the constant that was subtracted from a measurement's times; positive if too large.
Nanoseconds constant_error(const Measurement& measurement, const physics::Parameters& gpu);

/// Returns the median over rounds with the true constant subtracted: the limit of the median of round
/// medians. Uses as many rounds of each trial as every trial has.
Nanoseconds true_time(const Sample& sample, const physics::Parameters& gpu);

/// True if the measurement's interval holds the true time, apart from the error of its constant.
bool holds_time(const Measurement& measurement, const physics::Parameters& gpu, Nanoseconds truth);

/// Makes a line that passes if the exact interval of the share of hits meets [lowest, highest].
ProofLine coverage_line(std::string name, const Frequency& held, double lowest, double highest,
                        std::string note);

// Below: typical operations, in types that the device has.

/// Returns a convolution, a copy and a product, each over 20 µs on an H200: shorter ones differ between
/// processes by more than any interval of one process can hold.
std::vector<Operation> sample_operations(const DeviceDescription& device);

/// Returns a product whose launch and kernel take about as long.
Operation short_product(const DeviceDescription& device);

/// Returns a random kind of layer of random size and type, at most 2 GiB.
Operation random_operation(Random& random);

}  // namespace jitterscope::selftest
