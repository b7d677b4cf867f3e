#include "emulated_plan.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>

#include "base/random.hpp"
#include "emulated_gpu_launch.hpp"

namespace emulation {

using namespace jitterscope;
using namespace jitterscope::cuda;

/// Aligned as the GPU's allocations are, with a guard behind it that nobody may write.
class EmulatedPlan::Memory {
 public:
  explicit Memory(Bytes size)
      : size_(static_cast<std::size_t>(size.value())),
        bytes_(static_cast<unsigned char*>(::operator new(size_ + kGuard, std::align_val_t(256)))) {
    std::memset(bytes_, 0, size_);
    std::memset(bytes_ + size_, kMark, kGuard);
  }
  ~Memory() { ::operator delete(bytes_, std::align_val_t(256)); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  unsigned char* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }
  bool is_overrun() const {
    for (std::size_t i = 0; i < kGuard; ++i) {
      if (bytes_[size_ + i] != kMark) return true;
    }
    return false;
  }

 private:
  static constexpr std::size_t kGuard = 64;
  static constexpr unsigned char kMark = 0xa5;

  std::size_t size_;
  unsigned char* bytes_;
};

namespace {

template <class Function>
auto with_type(DataType dtype, Function function) {
  switch (dtype) {
    case DataType::f64: return function(double());
    case DataType::f16: return function(__half());
    case DataType::bf16: return function(__nv_bfloat16());
    case DataType::i64: return function(std::int64_t());
    case DataType::i32: return function(std::int32_t());
    default: return function(float());
  }
}
template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, __half> || std::is_same_v<T, __nv_bfloat16>) {
    return static_cast<float>(value);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return value == -1 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
  } else {
    return value;
  }
}

double draw(const Operand& operand, Random& random) {
  if (operand.dtype == DataType::i64) {
    return static_cast<double>(random.below(static_cast<std::uint64_t>(operand.index_limit)));
  }
  const double value = random.normal();
  return operand.non_negative ? std::abs(value) : value;
}

}  // namespace

EmulatedPlan::EmulatedPlan(const Operation& operation) : descriptions_(operation.operands()) {
  Random random(1);
  for (std::size_t i = 0; i < descriptions_.size(); ++i) {
    const Operand& operand = descriptions_[i];
    operands_.push_back(std::make_shared<Memory>(operand.bytes()));
    if (operand.role == OperandRole::output) continue;
    std::vector<double> values(static_cast<std::size_t>(operand.count));
    for (double& value : values) value = draw(operand, random);
    write(i, values);
  }
  forget_outputs();
}

void EmulatedPlan::forget_outputs() {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (descriptions_[i].role != OperandRole::output) continue;
    std::memset(operands_[i]->bytes(), 0xff, operands_[i]->size());
  }
}

DeviceAddress EmulatedPlan::operand(std::size_t index) const {
  return reinterpret_cast<DeviceAddress>(operands_.at(index)->bytes());
}

DeviceAddress EmulatedPlan::workspace(Bytes size) {
  workspaces_.push_back(std::make_shared<Memory>(size));
  return reinterpret_cast<DeviceAddress>(workspaces_.back()->bytes());
}

void EmulatedPlan::add_zero(const ZeroStep& step) { zeros_.push_back(step); }

void EmulatedPlan::run() {
  for (const ZeroStep& zero : zeros_) {
    std::memset(reinterpret_cast<void*>(zero.address), 0, static_cast<std::size_t>(zero.size.value()));
  }
  for (KernelStep& step : steps_) {
    launch(step.kernel.c_str(), step.blocks, step.threads, step.arguments.data());
  }
  for (const auto& list : {operands_, workspaces_}) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i]->is_overrun()) throw std::out_of_range(fmt::format("memory {} was overrun", i));
    }
  }
}

std::vector<double> EmulatedPlan::read(std::size_t index) const {
  std::vector<double> values(static_cast<std::size_t>(descriptions_[index].count));
  with_type(descriptions_[index].dtype, [&](auto type) {
    const auto* numbers = reinterpret_cast<const decltype(type)*>(operands_[index]->bytes());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_double(numbers[i]);
  });
  return values;
}

void EmulatedPlan::write(std::size_t index, const std::vector<double>& values) {
  with_type(descriptions_[index].dtype, [&](auto type) {
    using T = decltype(type);
    auto* numbers = reinterpret_cast<T*>(operands_[index]->bytes());
    for (std::size_t i = 0; i < values.size(); ++i) numbers[i] = static_cast<T>(values[i]);
  });
}

}  // namespace emulation
