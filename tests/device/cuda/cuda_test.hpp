// A GPU to test on, or a skip that says why there is none.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cuda_device.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::vector<DeviceListing> listed = cuda::list_cuda_devices();
    if (listed.empty()) GTEST_SKIP() << "the driver lists no GPU";
    if (!listed.front().problem.empty()) GTEST_SKIP() << listed.front().problem;
    device_ = cuda::open_cuda_device(0);
    queue_ = device_->make_queue();
  }

  Device& device() { return *device_; }
  Queue& queue() { return *queue_; }
  std::unique_ptr<PreparedOperation> prepare(std::string_view text, const InputData& data = {}) {
    return device_->prepare(Operation::parse(text), data);
  }
  bool has(DataType dtype) {
    const std::vector<DataType> types = device_->describe().data_types;
    return std::find(types.begin(), types.end(), dtype) != types.end();
  }
  std::vector<double> run_and_read(PreparedOperation& prepared) {
    queue_->launch(prepared);
    queue_->wait();
    return prepared.read_operand(prepared.operation().operands().size() - 1);
  }

 private:
  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
};

/// A workload made of a lambda.
template <class Function>
class FunctionWorkload : public Workload {
 public:
  explicit FunctionWorkload(Function function) : function_(std::move(function)) {}
  void run(NativeQueue queue) override { function_(queue); }

 private:
  Function function_;
};

inline Nanoseconds median(std::vector<Nanoseconds> times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace jitterscope
