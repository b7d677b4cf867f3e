#include "device/virtual/operand_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "base/random.hpp"
#include "device/cpu/number_formats.hpp"
#include "device/cpu/reference.hpp"
#include "device/input_value.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// Each run of 4 Ki elements starts at a random place in a table of 64 Ki values: drawing 10^8 normal numbers
// anew would take 5 s. Smaller operands are drawn: a chain has a thousand of them.
constexpr std::size_t kTableSize = 1 << 16, kRun = 1 << 12;

// An odd factor of 64 random bits keeps (seed, operand) pairs apart.
std::uint64_t operand_seed(const InputData& data, std::size_t index) {
  return data.seed + 0xd1342543de82ef95u * (index + 1);
}

// What tensor units read of an f32: 10 bits behind the point, to nearest.
double as_tf32(double value) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + 0x1000u) & ~std::uint32_t{0x1fff});
}

// The data's kind says nothing of indices: which rows are named is random in any case.
std::vector<double> index_values(const Operand& operand, std::size_t index, const InputData& data) {
  Random random(operand_seed(data, index));
  std::vector<double> values(static_cast<std::size_t>(operand.count));
  for (double& value : values) {
    value = static_cast<double>(random.below(static_cast<std::uint64_t>(operand.index_limit)));
  }
  return values;
}

}  // namespace

double rounded_to(DataType dtype, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DataType::f64:
    case DataType::i32:
    case DataType::i64: return value;
    case DataType::f32:
    case DataType::tf32: return single;
    case DataType::f16: return cpu::Half::read(cpu::Half::write(single));
    case DataType::bf16: return cpu::BFloat16::read(cpu::BFloat16::write(single));
  }
  return value;
}

std::vector<double> input_values(const Operand& operand, std::size_t index, const InputData& data) {
  if (holds_indices(operand.dtype)) return index_values(operand, index, data);
  const auto count = static_cast<std::size_t>(operand.count);
  const bool is_drawn = count < kTableSize;
  Random random(is_drawn ? operand_seed(data, index) : data.seed);
  const double scale = scale_of(operand, data);
  std::vector<double> table(std::min(count, kTableSize));
  for (double& value : table) {
    value = rounded_to(operand.dtype, scale * draw_value(data.kind, random));
    if (operand.non_negative) value = std::abs(value);
  }
  if (is_drawn) return table;
  Random places(operand_seed(data, index));
  std::vector<double> values(count);
  for (std::size_t first = 0; first < values.size(); first += kRun) {
    const std::size_t length = std::min(kRun, values.size() - first);
    const auto begin = table.begin() + static_cast<std::ptrdiff_t>(places.below(kTableSize - kRun));
    std::copy_n(begin, length, values.begin() + static_cast<std::ptrdiff_t>(first));
  }
  return values;
}

std::vector<double> output_values(const Operation& operation, std::size_t output,
                                  std::vector<std::vector<double>> inputs, Elements elements) {
  std::vector<Operand> outputs;
  for (const Operand& operand : operation.operands()) {
    if (operand.role == OperandRole::output) outputs.push_back(operand);
  }
  if (operation.dtype() == DataType::tf32) {
    for (std::vector<double>& input : inputs) std::ranges::transform(input, input.begin(), as_tf32);
  }
  const DataType dtype = outputs.at(output).dtype;
  Reference reference(operation, std::move(inputs));
  if (elements == Elements::all) {
    std::vector<double> values = reference.all(output);
    for (double& value : values) value = rounded_to(dtype, value);
    return values;
  }
  std::vector<double> values(static_cast<std::size_t>(outputs[output].count));
  reference.for_each_sampled(output, [&](std::int64_t index, double value) {
    values[static_cast<std::size_t>(index)] = rounded_to(dtype, value);
  });
  return values;
}

}  // namespace jitterscope::virtual_gpu
