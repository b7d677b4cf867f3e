// A GPU and the library that a test is about, or a skip that says what is missing.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cuda_device.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope {

class ProviderTest : public testing::Test {
 protected:
  explicit ProviderTest(std::string library) : library_(std::move(library)) {}

  void SetUp() override {
    std::string problem = "no cuda:0 is listed";
    for (const DeviceListing& listing : cuda::list_cuda_devices()) {
      if (listing.id == "cuda:0") problem = listing.problem;
    }
    if (!problem.empty()) GTEST_SKIP() << problem;
    device_ = cuda::open_cuda_device(0);
    const LibraryInfo found = library();
    if (!found.problem.empty()) GTEST_SKIP() << found.problem;
    queue_ = device_->make_queue();
  }

  LibraryInfo library() {
    for (const LibraryInfo& library : device_->describe().libraries) {
      if (library.name == library_) return library;
    }
    return {.name = library_, .version = "", .path = "", .problem = "the device does not list " + library_};
  }
  Device& device() { return *device_; }
  Queue& queue() { return *queue_; }

 private:
  std::string library_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
};

inline std::vector<std::vector<double>> read_inputs(PreparedOperation& prepared) {
  std::vector<std::vector<double>> inputs;
  const std::size_t output = prepared.operation().operands().size() - 1;
  for (std::size_t i = 0; i < output; ++i) inputs.push_back(prepared.read_operand(i));
  return inputs;
}

inline std::vector<double> read_output(PreparedOperation& prepared) {
  return prepared.read_operand(prepared.operation().operands().size() - 1);
}

/// L2 norm of the difference over that of the reference; not a number where an element was never written.
inline double relative_error(const std::vector<double>& result, const std::vector<double>& reference) {
  if (result.size() != reference.size()) return std::numeric_limits<double>::infinity();
  double difference = 0.0, size = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    difference += (result[i] - reference[i]) * (result[i] - reference[i]);
    size += reference[i] * reference[i];
  }
  return std::sqrt(difference / size);
}

/// Rounding of inputs is not in these: the reference reads the inputs as they were rounded.
inline double tolerance(DataType dtype) {
  switch (dtype) {
    case DataType::i32:
    case DataType::i64: return 0.0;
    case DataType::f64: return 1e-12;
    case DataType::f32: return 1e-5;
    case DataType::tf32: return 1e-3;
    case DataType::f16: return 2e-3;
    case DataType::bf16: return 1e-2;
  }
  return 0.0;
}

inline constexpr std::array kProviderTypes = {DataType::f32, DataType::tf32, DataType::f16, DataType::bf16};

}  // namespace jitterscope
