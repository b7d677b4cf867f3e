#include "cli/noise_floor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/quantity_text.hpp"
#include "cli/interruption.hpp"
#include "measure/ceilings.hpp"
#include "measure/measure_operation.hpp"
#include "output/progress.hpp"

namespace jitterscope::cli {
namespace {

constexpr Nanoseconds kCalibrationTime = seconds(0.5);  // and the proof that eviction evicts
constexpr Nanoseconds kMeasuringTime = seconds(4.2);    // all operations together

Nanoseconds time_each(const std::vector<Operation>& operations) {
  return kMeasuringTime / static_cast<double>(operations.size());
}

bool has_library(const DeviceDescription& device, std::string_view name) {
  return std::any_of(device.libraries.begin(), device.libraries.end(), [&](const LibraryInfo& library) {
    return library.name == name && library.problem.empty();
  });
}

MeasureOptions noise_floor_options(Nanoseconds time) {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.minimum_rounds = 1'000'000;  // all of the time: what it reaches is what is asked here
  options.time_limit = time;
  options.interrupted = is_interrupted;
  return options;
}

Result measure_one(Session& session, const Operation& operation, const MeasureOptions& options) {
  try {
    return measure_operation(session, operation, options, false);
  } catch (const Error& error) {
    Result result;
    result.subject = operation;
    result.failure = error.what();
    return result;
  }
}

std::optional<Nanoseconds> least_launch_cost(const std::vector<Result>& results) {
  std::optional<Nanoseconds> least;
  for (const Result& result : results) {
    if (result.failure.empty()) least = std::min(least.value_or(result.launch_cost), result.launch_cost);
  }
  return least;
}

}  // namespace

std::vector<Operation> noise_floor_operations(const DeviceDescription& device) {
  std::vector<Operation> operations = {Operation(Spin{.amount = 10'000}), Operation(Copy{.bytes = 4 << 20})};
  if (has_library(device, "cublaslt")) {
    operations.emplace_back(Matmul{.m = 512, .n = 512, .k = 512, .dtype = DataType::bf16});
  }
  return operations;
}

NoiseFloor measure_noise_floor(Device& device) {
  const Nanoseconds start = device.host_time();
  const DeviceDescription description = device.describe();
  const std::vector<Operation> operations = noise_floor_operations(description);
  ProgressLine line(stderr, [&] { return device.host_time(); });
  PlanPosition position{1, operations.size()};
  MeasureOptions options = noise_floor_options(time_each(operations));
  options.progress = [&](const Progress& progress) { line.show(progress, position); };

  Session session(device);
  NoiseFloor floor;
  floor.calibration = session.calibration();
  for (const Operation& operation : operations) {
    if (is_interrupted()) break;
    floor.results.push_back(measure_one(session, operation, options));
    ++position.number;
  }
  if (!is_interrupted()) floor.cache_proof = prove_cold(session);
  floor.launch_cost = least_launch_cost(floor.results);
  floor.interrupted = is_interrupted();
  floor.duration = device.host_time() - start;
  return floor;
}

std::string noise_floor_plan(const DeviceDescription& device) {
  const std::vector<Operation> operations = noise_floor_operations(device);
  std::string text = fmt::format("The noise floor of {} ({}) would be measured in about {}:\n\n", device.id,
                                 device.name, duration_text(kCalibrationTime + kMeasuringTime));
  text += "constants of the instruments, and whether one eviction empties the cache\n";
  for (const Operation& operation : operations) {
    text += fmt::format("{}  (cache warm, load burst, {})\n", operation.text(),
                        duration_text(time_each(operations)));
  }
  return text;
}

}  // namespace jitterscope::cli
