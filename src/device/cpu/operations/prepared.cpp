#include "device/cpu/operations/prepared.hpp"

#include <algorithm>
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
void fill_runs(std::byte* memory, std::int64_t count, const std::vector<double>& table, std::uint64_t seed) {
  auto* elements = reinterpret_cast<typename Format::Stored*>(memory);
#pragma omp parallel for schedule(static) if (count > 16 * kRun)
  for (std::int64_t first = 0; first < count; first += kRun) {
    Random random(seed + static_cast<std::uint64_t>(first));
    const double* values = table.data() + random.below(kTableSize - kRun);
    const std::int64_t length = std::min(kRun, count - first);
    for (std::int64_t i = 0; i < length; ++i) {
      elements[first + i] = Format::write(static_cast<typename Format::Value>(values[i]));
    }
  }
}

template <class Format>
void read_all(std::vector<double>& values, const std::byte* memory) {
  const auto* elements = reinterpret_cast<const typename Format::Stored*>(memory);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = Format::read(elements[i]);
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
  }
}

}  // namespace

InputTable::InputTable(const InputData& data) : data_(data), values_(kTableSize) {
  Random random(data.seed);
  for (double& value : values_) value = draw_value(data.kind, random);
}

void InputTable::fill(std::byte* memory, std::int64_t count, DataType dtype, std::uint64_t stream) const {
  const std::uint64_t seed = Random(data_.seed ^ (stream << 48)).next();
  with_format(dtype, [&]<class Format>(Format) { fill_runs<Format>(memory, count, values_, seed); });
}

Bytes operand_memory(const Operation& operation) {
  Bytes sum;
  for (const Operand& operand : operation.operands()) sum += operand.bytes();
  return sum;
}

CpuOperation::CpuOperation(const Operation& operation, const InputTable& inputs)
    : operation_(operation), operands_(operation.operands()) {
  memory_.reserve(operands_.size());
  for (const Operand& operand : operands_) {
    AlignedMemory& memory = memory_.emplace_back(operand.bytes());
    const std::uint64_t stream = memory_.size();
    if (operand.role == OperandRole::input) inputs.fill(memory.data(), operand.count, operand.dtype, stream);
  }
  CpuOperation::poison_outputs();
}

// Rewriting one word makes a whole line modified in the cache of the core that did it, which is all that a
// producer leaves behind.
bool CpuOperation::produce_inputs(NativeQueue) {
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    if (operands_[index].role != OperandRole::input) continue;
    auto* words = data<volatile std::uint64_t>(index);
    const std::int64_t count = memory_[index].size().value() / 8;
#pragma omp parallel for schedule(static) if (count > 8192)
    for (std::int64_t i = 0; i < count; i += 8) words[i] = words[i];
  }
  return true;
}

std::vector<MemoryRegion> CpuOperation::memory() const {
  std::vector<MemoryRegion> regions;
  for (const AlignedMemory& memory : memory_) regions.push_back({memory.data(), memory.size()});
  return regions;
}

void CpuOperation::poison_outputs() {
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    if (operands_[index].role != OperandRole::output) continue;
    std::memset(memory_[index].data(), 0xff, static_cast<std::size_t>(memory_[index].size().value()));
  }
}

std::vector<double> CpuOperation::read_operand(std::size_t index) {
  const Operand& operand = operands_.at(index);
  std::vector<double> values(static_cast<std::size_t>(operand.count));
  with_format(operand.dtype, [&]<class Format>(Format) { read_all<Format>(values, memory_[index].data()); });
  return values;
}

}  // namespace jitterscope::cpu
