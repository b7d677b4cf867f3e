#include "selftest/simulated_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "base/random.hpp"
#include "device/virtual/virtual_device.hpp"
#include "finding/finding.hpp"
#include "measure/machine.hpp"
#include "measure/trials.hpp"
#include "physics/preset.hpp"
#include "selftest/proof.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::selftest {

namespace {

bool asks_for_cold(const MeasureOptions& options) {
  return std::ranges::find(options.caches, CacheState::cold) != options.caches.end();
}

}  // namespace

SimulatedRun simulate_run(const Scene& scene, std::uint64_t seed, const OnLaunch& on_launch) {
  const auto device = virtual_gpu::make_virtual_device(scene.gpu, seed);
  Session session(*device);
  MeasureOptions options = scene.options;
  options.seed = seed;
  SimulatedRun trial;
  trial.calibration = session.calibration();
  device->on_launch = on_launch;  // the calibration's launches are not the operation's
  trial.result = measure_operation(session, scene.operation, options, false);
  device->on_launch = nullptr;
  trial.duration = device->host_time();
  const DeviceDescription description = device->describe();
  const Ceilings none;
  FindingContext context{.device = description,
                         .calibration = trial.calibration,
                         .ceilings = none,
                         .other_processes = device->other_processes(),
                         .cache_proof = std::nullopt,
                         .on_gpu = true};
  if (asks_for_cold(options)) context.cache_proof = prove_cold(session);
  trial.result.findings = find_all(trial.result, context);
  trial.machine_findings = machine_findings(context);
  return trial;
}

std::uint64_t trial_seed(std::uint64_t base, std::string_view proof, std::uint64_t number) {
  std::uint64_t seed = Random(base).next();
  for (const char letter : proof) seed = Random(seed ^ static_cast<unsigned char>(letter)).next();
  return Random(seed ^ number).next();
}

Operation long_convolution() {
  return Operation::parse("conv2d:n=256,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc");
}
Operation large_product() { return Operation::parse("matmul:m=8192,n=8192,k=8192,dtype=bf16"); }
Operation small_product() { return Operation::parse("matmul:m=512,n=512,k=512,dtype=bf16"); }
Operation large_copy() { return Operation::parse("copy:bytes=1Gi"); }

MeasureOptions one_load(Load load) {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {load};
  // Variation within a process is proven separately from differences between processes.
  options.process_variation = ProcessVariation();
  options.placement = 0;
  return options;
}

physics::Parameters one_process(const std::string& preset) {
  return physics::find_preset(preset)
      .without(physics::Mechanism::process_effect)
      .without(physics::Mechanism::placement);
}

Sample run_trials(ProofContext& context, const Scene& scene, std::string_view proof, std::size_t count) {
  Sample sample;
  sample.scene = scene.name;
  for (std::size_t i = 0; i < count; ++i) {
    context.begin_step(i, count, scene.name);
    sample.trials.push_back(simulate_run(scene, trial_seed(context.seed(), proof, i)));
  }
  return sample;
}

Nanoseconds true_events_constant(const physics::Parameters& gpu) {
  const bool has_instruments = gpu.has(physics::Mechanism::instrument);
  const physics::Instruments& instruments = gpu.instruments;
  const Nanoseconds none(0);
  return (has_instruments ? instruments.mark_overhead - instruments.node_overhead : none) -
         gpu.launch.graph_gap;
}

Nanoseconds constant_error(const Measurement& measurement, const physics::Parameters& gpu) {
  const bool by_events = measurement.instrument == Instrument::events;
  return measurement.constant.value - (by_events ? true_events_constant(gpu) : Nanoseconds(0));
}

Nanoseconds true_time(const Sample& sample, const physics::Parameters& gpu) {
  std::size_t rounds = SIZE_MAX;
  for (const SimulatedRun& trial : sample.trials) {
    rounds = std::min(rounds, trial.result.measurements.front().rounds.size());
  }
  std::vector<double> times;
  for (const SimulatedRun& trial : sample.trials) {
    const Measurement& measurement = trial.result.measurements.front();
    const Nanoseconds error = constant_error(measurement, gpu);
    for (std::size_t i = 0; i < rounds; ++i) {
      times.push_back((measurement.rounds[i].time() + error).value());
    }
  }
  return Nanoseconds(statistics::median(times));
}

bool holds_time(const Measurement& measurement, const physics::Parameters& gpu, Nanoseconds truth) {
  const Nanoseconds error = constant_error(measurement, gpu);
  const TimeEstimate& own = measurement.repeatability;  // without the errors of process and constant
  return own.low + error <= truth && truth <= own.high + error;
}

ProofLine coverage_line(std::string name, const Frequency& held, double lowest, double highest,
                        std::string note) {
  const statistics::Interval interval = statistics::clopper_pearson(held.hits, held.trials);
  const std::string target = highest < 1.0 ? fmt::format("{:.0f}–{:.0f} %", 100 * lowest, 100 * highest)
                                           : fmt::format("at least {:.0f} %", 100 * lowest);
  const std::string measured = fmt::format("{:.1f} % ({:.1f}–{:.1f}) of {}", 100 * held.value(),
                                           100 * interval.low, 100 * interval.high, held.trials);
  return judged_line(
      std::move(name), target, measured,
      {ValueKind::share, held.value(), interval.low, interval.high, ProofTarget{lowest, highest}},
      interval.low > highest ? Verdict::missed : verdict_on(held, lowest), std::move(note));
}

namespace {

DataType usual_type(const DeviceDescription& device) {
  const auto& types = device.data_types;
  const bool has_half = std::find(types.begin(), types.end(), DataType::f16) != types.end();
  return has_half ? DataType::f16 : DataType::f32;
}

std::int64_t log_uniform(Random& random, double least, double most) {
  return std::llround(std::exp(random.uniform(std::log(least), std::log(most))));
}

DataType any_type(Random& random) {
  constexpr std::array kTypes = {DataType::f32, DataType::f16, DataType::bf16};
  return kTypes[random.below(kTypes.size())];
}

Operation any_operation(Random& random) {
  const std::int64_t elements = log_uniform(random, 1 << 14, 1 << 28);
  const DataType dtype = any_type(random);
  switch (random.below(6)) {
    case 0: return Operation(Copy{.bytes = 4 * elements});
    case 1: return Operation(Elementwise{.kind = ElementwiseKind::add, .count = elements, .dtype = dtype});
    case 2: return Operation(Elementwise{.kind = ElementwiseKind::relu, .count = elements, .dtype = dtype});
    case 3: {
      const std::int64_t m = log_uniform(random, 64, 8192), n = log_uniform(random, 64, 8192),
                         k = log_uniform(random, 64, 8192);
      return Operation(Matmul{.m = m, .n = n, .k = k, .dtype = dtype});
    }
    case 4: {
      const std::int64_t images = log_uniform(random, 1, 128), size = log_uniform(random, 7, 112),
                         channels = 8 * log_uniform(random, 2, 64);
      return Operation(Conv2d{.n = images,
                              .c = channels,
                              .h = size,
                              .w = size,
                              .k = channels,
                              .r = 3,
                              .s = 3,
                              .pad_h = 1,
                              .pad_w = 1,
                              .dtype = dtype,
                              .layout = Layout::nhwc});
    }
    default: {
      const std::int64_t columns = log_uniform(random, 32, 4096);
      return Operation(
          Softmax{.rows = std::max<std::int64_t>(1, elements / columns), .columns = columns, .dtype = dtype});
    }
  }
}

}  // namespace

std::vector<Operation> sample_operations(const DeviceDescription& device) {
  const DataType dtype = usual_type(device);
  // Sizes that fill a GPU if the device runs launches in blocks.
  const bool is_large = device.capabilities.launches_have_blocks;
  const std::int64_t images = is_large ? 64 : 1, size = is_large ? 4096 : 256;
  const Conv2d convolution{.n = images,
                           .c = 64,
                           .h = 56,
                           .w = 56,
                           .k = 64,
                           .r = 3,
                           .s = 3,
                           .pad_h = 1,
                           .pad_w = 1,
                           .dtype = dtype,
                           .layout = device.capabilities.fast_layout};
  return {Operation(convolution), Operation(Copy{.bytes = is_large ? 256 << 20 : 4 << 20}),
          Operation(Matmul{.m = size, .n = size, .k = size, .dtype = dtype})};
}

Operation short_product(const DeviceDescription& device) {
  return Operation(Matmul{.m = 512, .n = 512, .k = 512, .dtype = usual_type(device)});
}

Operation random_operation(Random& random) {
  constexpr Bytes kMost = Bytes(std::int64_t{2} << 30);
  while (true) {
    const Operation operation = any_operation(random);
    if (operation.bytes() <= kMost) return operation;
  }
}

}  // namespace jitterscope::selftest
