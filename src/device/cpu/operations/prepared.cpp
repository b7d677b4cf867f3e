#include "device/cpu/operations/prepared.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.hpp"
#include "device/cpu/number_formats.hpp"
#include "device/input_value.hpp"
#include "device/shared_operand.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

// A table of 1 Mi random values; each run of 4 Ki elements of an operand starts at a random place in it.
// Drawing each element anew would take 10 s for 10^8 of them. The data keep the entropy that matters to a
// power cap or a compressing memory: no line is repeated within reach of either.
constexpr std::int64_t kTableSize = 1 << 20;
constexpr std::int64_t kRun = 4096;

template <class Format>
void fill_runs(std::byte* memory, const Operand& operand, const std::vector<double>& table, double scale,
               std::uint64_t seed) {
  const std::int64_t count = operand.count;
  auto* elements = reinterpret_cast<typename Format::Stored*>(memory);
#pragma omp parallel for schedule(static) if (count > 16 * kRun)
  for (std::int64_t first = 0; first < count; first += kRun) {
    Random random(seed + static_cast<std::uint64_t>(first));
    const double* values = table.data() + random.below(kTableSize - kRun);
    const std::int64_t length = std::min(kRun, count - first);
    for (std::int64_t i = 0; i < length; ++i) {
      const double value = scale * (operand.non_negative ? std::abs(values[i]) : values[i]);
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
    case DataType::i32: return function(Native<std::int32_t>());
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
  const double scale = scale_of(operand, data_);
  with_format(operand.dtype,
              [&]<class Format>(Format) { fill_runs<Format>(memory, operand, values_, scale, seed); });
}

CpuOperation::CpuOperation(const Operation& operation, const InputTable& inputs)
    : operation_(operation), operands_(operation.operands()) {
  places_.reserve(operands_.size());
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    const Bytes size = operands_[index].bytes();
    const SharedOperand* shared = find_shared(inputs.data(), index, size);
    const auto* owner = shared ? dynamic_cast<const CpuOperation*>(shared->owner) : nullptr;
    places_.push_back(owner ? owner->part(*shared, size) : Place::of_its_own(size));
    const bool is_filled = owner != nullptr && is_filled_by_owner(*shared);
    if (operands_[index].role == OperandRole::input && !is_filled) {
      inputs.fill(places_.back().begin(), operands_[index], index + 1);
    }
  }
  CpuOperation::poison_outputs();
}

CpuOperation::Place CpuOperation::Place::of_its_own(Bytes size) {
  auto memory = std::make_shared<AlignedMemory>(size);
  const Bytes whole_lines = memory->size();
  return {std::move(memory), Bytes(0), whole_lines};
}

CpuOperation::Place CpuOperation::part(const SharedOperand& shared, Bytes size) const {
  const Place& whole = places_[shared.owner_operand];
  const Operand& owned = operands_[shared.owner_operand];
  const bool is_whole = size == owned.bytes();
  return {whole.memory, whole.offset + shared.offset, is_whole ? whole.size : size};
}

// Rewriting one word makes a whole line modified in the cache of the core that did it, which is all that a
// producer leaves behind.
bool CpuOperation::produce_inputs(NativeQueue) {
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    if (operands_[index].role != OperandRole::input) continue;
    auto* words = data<volatile std::uint64_t>(index);
    const std::int64_t count = places_[index].size.value() / 8;
#pragma omp parallel for schedule(static) if (count > 8192)
    for (std::int64_t i = 0; i < count; i += 8) words[i] = words[i];
  }
  return true;
}

std::vector<MemoryRegion> CpuOperation::memory() const {
  std::vector<MemoryRegion> regions;
  for (const Place& place : places_) regions.push_back({place.begin(), place.size});
  return regions;
}

void CpuOperation::poison_outputs() {
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    if (operands_[index].role != OperandRole::output) continue;
    std::memset(places_[index].begin(), 0xff, static_cast<std::size_t>(places_[index].size.value()));
  }
}

std::vector<double> CpuOperation::read_operand(std::size_t index) {
  const Operand& operand = operands_.at(index);
  std::vector<double> values(static_cast<std::size_t>(operand.count));
  with_format(operand.dtype, [&]<class Format>(Format) { read_all<Format>(values, places_[index].begin()); });
  return values;
}

void CpuOperation::write_operand(std::size_t index, const std::vector<double>& values) {
  with_format(operands_.at(index).dtype, [&]<class Format>(Format) {
    auto* elements = data<typename Format::Stored>(index);
    for (std::size_t i = 0; i < values.size(); ++i) {
      elements[i] = Format::write(static_cast<typename Format::Value>(values[i]));
    }
  });
}

double CpuOperation::read_element(std::size_t operand, std::int64_t index) const {
  double value = 0.0;
  with_format(operands_[operand].dtype, [&]<class Format>(Format) {
    value = static_cast<double>(Format::read(data<const typename Format::Stored>(operand)[index]));
  });
  return value;
}

}  // namespace jitterscope::cpu
