#include "device/cpu/operations/cpu_operation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/random.hpp"
#include "device/cpu/memory.hpp"
#include "device/cpu/number_formats.hpp"
#include "device/operands.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

// The table holds 1 Mi random values; each run of 4 Ki elements of an operand starts at a random place in it.
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

template <class Index>
void fill_indices(std::byte* memory, const Operand& operand, std::uint64_t seed) {
  auto* indices = reinterpret_cast<Index*>(memory);
#pragma omp parallel for schedule(static) if (operand.count > 16 * kRun)
  for (std::int64_t first = 0; first < operand.count; first += kRun) {
    Random random(seed + static_cast<std::uint64_t>(first));
    for (std::int64_t i = first; i < std::min(first + kRun, operand.count); ++i) {
      indices[i] = static_cast<Index>(random.below(static_cast<std::uint64_t>(operand.index_limit)));
    }
  }
}

// Returns where the element with this dense index lies.
std::size_t place_of(std::size_t index, const OperandRows& rows) {
  if (rows.are_packed()) return index;
  const auto length = static_cast<std::size_t>(rows.length), stride = static_cast<std::size_t>(rows.stride);
  return index / length * stride + index % length;
}

// Moves packed rows apart, with zeros between. Starts with the last, since each moves to where later ones
// were.
void move_rows_apart(std::byte* memory, const Operand& operand, const OperandRows& rows) {
  if (rows.are_packed()) return;
  const std::int64_t element = element_size(operand.dtype).value();
  const std::int64_t length = rows.length * element, stride = rows.stride * element;
  for (std::int64_t row = rows.count; row-- > 0;) {
    std::memmove(memory + row * stride, memory + row * length, static_cast<std::size_t>(length));
    std::memset(memory + row * stride + length, 0, static_cast<std::size_t>(stride - length));
  }
}

template <class Format>
void read_all(std::vector<double>& values, const std::byte* memory, const OperandRows& rows) {
  const auto* elements = reinterpret_cast<const typename Format::Stored*>(memory);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(Format::read(elements[place_of(i, rows)]));
  }
}

// Calls `function` with the format of a type, as in function(Half()).
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
  if (operand.dtype == DataType::i64) return fill_indices<std::int64_t>(memory, operand, seed);
  if (operand.dtype == DataType::i32) return fill_indices<std::int32_t>(memory, operand, seed);
  const double scale = scale_of(operand, data_);
  with_format(operand.dtype,
              [&]<class Format>(Format) { fill_runs<Format>(memory, operand, values_, scale, seed); });
}

CpuOperation::CpuOperation(const Operation& operation, const InputTable& inputs, RowsApart rows)
    : operation_(operation),
      operands_(operation.operands()),
      has_row_strides_(rows == RowsApart::as_asked && has_matrices(operation)),
      rows_(operand_rows(operation, inputs.data().rows)) {
  if (inputs.data().rows != RowStride() && !has_row_strides_) {
    throw UsageError(fmt::format("{}: its operands have no rows that could lie apart", operation_.text()));
  }
  const Bytes offset = inputs.data().offset;
  if (offset.value() % CpuOperation::operand_alignment()->value() != 0) {
    throw UsageError(
        fmt::format("{}: operands cannot begin {} bytes behind where they are: take a multiple of {}",
                    operation_.text(), offset.value(), CpuOperation::operand_alignment()->value()));
  }
  places_.reserve(operands_.size());
  for (std::size_t index = 0; index < operands_.size(); ++index) {
    const Bytes size = bytes_with_rows(operands_[index], rows_[index]);
    const SharedOperand* shared = find_shared(inputs.data(), index, size);
    const auto* owner = shared ? dynamic_cast<const CpuOperation*>(shared->owner) : nullptr;
    places_.push_back(owner ? owner->part(*shared, size) : Place::of_its_own(size, inputs.data()));
    const bool is_filled = owner != nullptr && is_filled_by_owner(*shared);
    if (operands_[index].role == OperandRole::input && !is_filled) {
      inputs.fill(places_.back().begin(), operands_[index], index + 1);
      move_rows_apart(places_.back().begin(), operands_[index], rows_[index]);
    }
  }
  CpuOperation::poison_outputs();
}

CpuOperation::Place CpuOperation::Place::of_its_own(Bytes size, const InputData& data) {
  const Bytes whole = size + data.offset;
  auto memory = data.heap_piece > 0
                    ? std::make_shared<AlignedMemory>(memory_in_pieces(whole, data.heap_piece, data.seed))
                    : std::make_shared<AlignedMemory>(whole);
  const Bytes to_the_end = memory->size() - data.offset;
  return {std::move(memory), data.offset, to_the_end};
}

CpuOperation::Place CpuOperation::part(const SharedOperand& shared, Bytes size) const {
  const Place& whole = places_[shared.owner_operand];
  const Operand& owned = operands_[shared.owner_operand];
  const bool is_whole = size == owned.bytes();
  return {whole.memory, whole.offset + shared.offset, is_whole ? whole.size : size};
}

// Rewriting one word makes a whole line modified in the cache of the core that did it, which is all that a
// producer would leave behind.
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
  with_format(operand.dtype,
              [&]<class Format>(Format) { read_all<Format>(values, places_[index].begin(), rows_[index]); });
  return values;
}

void CpuOperation::write_operand(std::size_t index, const std::vector<double>& values) {
  with_format(operands_.at(index).dtype, [&]<class Format>(Format) {
    auto* elements = data<typename Format::Stored>(index);
    for (std::size_t i = 0; i < values.size(); ++i) {
      elements[place_of(i, rows_[index])] = Format::write(static_cast<typename Format::Value>(values[i]));
    }
  });
}

double CpuOperation::read_element(std::size_t operand, std::int64_t index) const {
  double value = 0.0;
  with_format(operands_[operand].dtype, [&]<class Format>(Format) {
    const std::size_t place = place_of(static_cast<std::size_t>(index), rows_[operand]);
    value = static_cast<double>(Format::read(data<const typename Format::Stored>(operand)[place]));
  });
  return value;
}

void CpuOperation::for_each_element(std::size_t operand,
                                    const std::function<void(std::int64_t, double)>& look) const {
  with_format(operands_[operand].dtype, [&]<class Format>(Format) {
    const auto* elements = data<const typename Format::Stored>(operand);
    for (std::int64_t i = 0; i < operands_[operand].count; ++i) {
      const std::size_t place = place_of(static_cast<std::size_t>(i), rows_[operand]);
      look(i, static_cast<double>(Format::read(elements[place])));
    }
  });
}

}  // namespace jitterscope::cpu
