#include "selftest/simulated_run.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "device/virtual/virtual_device.hpp"
#include "finding/finding.hpp"
#include "measure/ceilings.hpp"
#include "measure/measure_operation.hpp"

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

}  // namespace jitterscope::selftest
