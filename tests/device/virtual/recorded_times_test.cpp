// The preset h200 against times that one H200 recorded (benchmarks/simulation/record_times.py): a grid of
// products, and some other operations.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "device/virtual/kernel_work.hpp"
#include "physics/preset.hpp"

namespace jitterscope::virtual_gpu {
namespace {

using nlohmann::json;

/// The preset without what varies.
physics::Parameters still_h200() {
  physics::Parameters parameters = physics::find_preset("h200");
  for (const physics::Mechanism mechanism :
       {physics::Mechanism::clock_states, physics::Mechanism::noise, physics::Mechanism::spikes,
        physics::Mechanism::placement, physics::Mechanism::process_effect, physics::Mechanism::device_effect})
    parameters = parameters.without(mechanism);
  return parameters;
}

double simulated_microseconds(const physics::Parameters& parameters, const Operation& operation,
                              bool is_cold) {
  physics::Machine machine(parameters, 1);
  std::vector<physics::Buffer> buffers;
  for (const Operand& operand : operation.operands()) buffers.push_back(machine.allocate(operand.bytes()));
  const physics::KernelWork work = kernel_work(parameters, operation, buffers, DataKind::normal);
  physics::Execution execution;
  for (int launch = 0; launch < 3; ++launch) {
    if (is_cold) machine.fill_cache(false);
    execution = machine.run(work, machine.free_at() + microseconds(1));
  }
  return execution.time().value() * 1e-3;
}

struct Reading {
  std::string operation;
  bool is_cold = false;
  double recorded = 0, simulated = 0;
  bool product = false;  ///< a plain one
  double error() const { return simulated / recorded - 1.0; }
  std::string text() const {
    return fmt::format("{} {}: {:.2f} us recorded, {:.2f} simulated ({:+.0f} %)", operation,
                       is_cold ? "cold" : "warm", recorded, simulated, 100 * error());
  }
};

std::vector<Reading> all_readings() {
  const physics::Parameters parameters = still_h200();
  std::ifstream file(JITTERSCOPE_TEST_DATA "/simulation/h200.json");
  const json record = json::parse(file);
  std::vector<Reading> readings;
  for (const json& point : record.at("points")) {
    if (point.contains("failure")) continue;
    const Operation operation = Operation::parse(point.at("operation").get<std::string>());
    for (const char* cache : {"warm", "cold"}) {
      Reading reading{.operation = operation.text(), .is_cold = cache == std::string("cold")};
      reading.recorded = point.at(cache).at("us");
      reading.simulated = simulated_microseconds(parameters, operation, reading.is_cold);
      const auto shape = product_shape(parameters, operation);
      reading.product = shape && shape->is_plain;
      readings.push_back(reading);
    }
  }
  return readings;
}

TEST(RecordedTimes, OfProductsAreMet) {
  std::vector<Reading> products = all_readings();
  std::erase_if(products, [](const Reading& reading) { return !reading.product; });
  ASSERT_GE(products.size(), 300u);
  std::vector<double> errors;
  for (const Reading& reading : products) {
    errors.push_back(std::abs(reading.error()));
    EXPECT_LE(errors.back(), 0.30) << reading.text();
  }
  std::ranges::sort(errors);
  EXPECT_LE(errors[errors.size() / 2], 0.10);
}

// Engines of cuDNN are many, so that these are fitted less closely. Layers of our own plain kernels are bytes
// and a floor alone.
TEST(RecordedTimes, OfConvolutionsAndAttentionAreNotFar) {
  std::vector<double> errors;
  for (const Reading& reading : all_readings()) {
    if (reading.product ||
        !(reading.operation.starts_with("conv2d") || reading.operation.starts_with("attention")))
      continue;
    errors.push_back(std::abs(reading.error()));
    EXPECT_LE(errors.back(), 0.6) << reading.text();
  }
  std::ranges::sort(errors);
  ASSERT_GE(errors.size(), 60u);
  EXPECT_LE(errors[errors.size() / 2], 0.25);
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
