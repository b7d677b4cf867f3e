#include "device/cpu/operations/prepared.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.hpp"
#include "device/cpu/number_formats.hpp"
#include "device/input_value.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

// A table of 1 Mi random values; each run of 4 Ki elements of an operand starts at a random place in it.
// Drawing each element anew would take 10 s for 10^8 of them. The data keep the entropy that matters to a
// power cap or a compressing memory: no line is repeated within reach of either.
constexpr std::int64_t kTableSize = 1 << 20;
constexpr std::int64_t kRun = 4096;

template <class Format>
void fill_runs(std::byte* memory, const Operand& operand, const std::vector<double>& table,
               std::uint64_t seed) {
  const std::int64_t count = operand.count;
  auto* elements = reinterpret_cast<typename Format::Stored*>(memory);
#pragma omp parallel for schedule(static) if (count > 16 * kRun)
  for (std::int64_t first = 0; first < count; first += kRun) {
    Random random(seed + static_cast<std::uint64_t>(first));
    const double* values = table.data() + random.below(kTableSize - kRun);
    const std::int64_t length = std::min(kRun, count - first);
    for (std::int64_t i = 0; i < length; ++i) {
      const double value = operand.non_negative ? std::abs(values[i]) : values[i];
      elements[first + i] = Format::write(static_cast<typename Format::Value>(value));
    }
  }
}

void fill_indices(std::byte* memory, const Operand& operand, std::uint64_t seed) {
  auto* indices = reinterpret_cast<std::int64_t*>(memory);
#pragma omp parallel for schedule(static) if (operand.count > 16 * kRun)
  for (std::int64_t first = 0; first < operand.count; first += kRun) {
    Random random(seed + static_cast<std::uint64_t>(first));
    for (std::int64_t i = first; i < std::min(first + kRun, operand.count); ++i) {
      indices[i] = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(operand.index_limit)));
    }
  }
}

template <class Format>
void read_all(std::vector<double>& values, const std::byte* memory) {
  const auto* elements = reinterpret_cast<const typename Format::Stored*>(memory);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(Format::read(elements[i]));
}

// Calls the function with the format of a type, as in function(Half()).
template <class Function>
void with_format(DataType dtype, const Function& function) {
  switch (dtype) {
    case DataType::f64: return function(Native<double>());
    case DataType::f32:
    case DataType::tf32: return function(Native<float>());
    case DataType::f16: return function(Half());
    case DataType::bf16: return function(BFloat16());
    case DataType::i64: return function(Native<std::int64_t>());
  }
}

}  // namespace

InputTable::InputTable(const InputData& data) : data_(data), values_(kTableSize) {
  Random random(data.seed);
  for (double& value : values_) value = draw_value(data.kind, random);
}

void InputTable::fill(std::byte* memory, const Operand& operand, std::uint64_t stream) const {
  const std::uint64_t seed = Random(data_.seed ^ (stream << 48)).next();
  if (operand.dtype == DataType::i64) return fill_indices(memory, operand, seed);
  with_format(operand.dtype,
              [&]<class Format>(Format) { fill_runs<Format>(memory, operand, values_, seed); });
}

Bytes operand_memory(const Operation& operation) {
  Bytes sum;
  for (const Operand& operand : operation.operands()) sum += operand.bytes();
  return sum;
}

CpuOperation::CpuOperation(const Operation& operation, const InputTable& inputs)
    : operation_(operation), operands_(operation.operands()) {
  memory_.reserve(operands_.size());
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    memory_.push_back(shared_memory(index, inputs.data()));
    if (!memory_.back()) memory_.back() = std::make_shared<AlignedMemory>(operands_[index].bytes());
    if (operands_[index].role == OperandRole::input) {
      inputs.fill(memory_.back()->data(), operands_[index], index + 1);
    }
  }
  CpuOperation::poison_outputs();
}

std::shared_ptr<AlignedMemory> CpuOperation::shared_memory(std::size_t index, const InputData& data) const {
  for (const SharedOperand& shared : data.shared) {
    const auto* owner = dynamic_cast<const CpuOperation*>(shared.owner);
    if (shared.operand != index || owner == nullptr) continue;
    const bool same_size = owner->operands_.at(shared.owner_operand).bytes() == operands_[index].bytes();
    if (same_size) return owner->memory_[shared.owner_operand];
  }
  return nullptr;
}

// Rewriting one word makes a whole line modified in the cache of the core that did it, which is all that a
// producer leaves behind.
bool CpuOperation::produce_inputs(NativeQueue) {
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    if (operands_[index].role != OperandRole::input) continue;
    auto* words = data<volatile std::uint64_t>(index);
    const std::int64_t count = memory_[index]->size().value() / 8;
#pragma omp parallel for schedule(static) if (count > 8192)
    for (std::int64_t i = 0; i < count; i += 8) words[i] = words[i];
  }
  return true;
}

std::vector<MemoryRegion> CpuOperation::memory() const {
  std::vector<MemoryRegion> regions;
  for (const auto& memory : memory_) regions.push_back({memory->data(), memory->size()});
  return regions;
}

void CpuOperation::poison_outputs() {
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    if (operands_[index].role != OperandRole::output) continue;
    std::memset(memory_[index]->data(), 0xff, static_cast<std::size_t>(memory_[index]->size().value()));
  }
}

std::vector<double> CpuOperation::read_operand(std::size_t index) {
  const Operand& operand = operands_.at(index);
  std::vector<double> values(static_cast<std::size_t>(operand.count));
  with_format(operand.dtype, [&]<class Format>(Format) { read_all<Format>(values, memory_[index]->data()); });
  return values;
}

}  // namespace jitterscope::cpu
