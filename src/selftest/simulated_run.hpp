// One simulated run from the opening of a device to its findings, as a user would have it.
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

// The scenes that the simulated proofs share.

/// fp16 NHWC convolution 3×3 64→64, 56², N 256: 128 µs on an H200, compute and memory alike.
Operation long_convolution();
/// bf16 GEMM 8192³: 1.4 ms, held by the power limits.
Operation large_product();
/// bf16 GEMM 512³: 3.3 µs, timed by slopes.
Operation small_product();
/// 1 GiB within the device: 0.5 ms, memory alone.
Operation large_copy();

MeasureOptions one_load(Load load);

/// A preset as one process sees it: without what differs between processes and between allocations, which no
/// interval of one process can hold.
physics::Parameters one_process(const std::string& preset);

// Many trials of one scene, the truth that they share, and how often their intervals hold it.

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

// Operations that stand for what people time, in types that the device has.

/// A convolution, a copy and a product, all over 20 µs on an H200: shorter ones differ between processes by
/// more than any interval of one process can hold.
std::vector<Operation> sample_operations(const DeviceDescription& device);

/// The short product, of which launch and kernel are equally long.
Operation short_product(const DeviceDescription& device);

/// One of the kinds of layers, of any size and type that 2 GiB hold.
Operation random_operation(Random& random);

}  // namespace jitterscope::selftest
