#include "selftest/trial.hpp"

#include "base/random.hpp"
#include "device/virtual/virtual_device.hpp"
#include "finding/finding.hpp"
#include "measure/measure_operation.hpp"

namespace jitterscope::selftest {

Trial run_trial(const Scene& scene, std::uint64_t seed) {
  const auto device = virtual_gpu::make_virtual_device(scene.gpu, seed);
  Session session(*device);
  MeasureOptions options = scene.options;
  options.seed = seed;
  Trial trial;
  trial.calibration = session.calibration();
  trial.result = measure_operation(session, scene.operation, options, false);
  const DeviceDescription description = device->describe();
  const Ceilings none;
  trial.result.findings = find_all(trial.result, {.device = description,
                                                  .calibration = trial.calibration,
                                                  .ceilings = none,
                                                  .other_processes = device->other_processes(),
                                                  .cache_proof = std::nullopt,
                                                  .on_gpu = true});
  return trial;
}

std::uint64_t trial_seed(std::uint64_t base, std::string_view proof, std::uint64_t number) {
  std::uint64_t seed = Random(base).next();
  for (const char letter : proof) seed = Random(seed ^ static_cast<unsigned char>(letter)).next();
  return Random(seed ^ number).next();
}

}  // namespace jitterscope::selftest
