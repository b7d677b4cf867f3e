#include "device/can_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "operation/traffic.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kLongestText = 200;

bool is_product(const Operation::Parameters& parameters) {
  return std::holds_alternative<Conv2d>(parameters) || std::holds_alternative<Matmul>(parameters) ||
         std::holds_alternative<Linear>(parameters);
}

bool computes_in_its_type(const Operation& operation, const DeviceDescription& device) {
  const Operation::Parameters& parameters = operation.parameters();
  if (std::holds_alternative<Spin>(parameters) || std::holds_alternative<Copy>(parameters) ||
      std::holds_alternative<Aten>(parameters)) {
    return true;
  }
  // The types of a CPU are those of its products; its loops take the other ones too.
  const DataType type = operation.dtype();
  if (device.id == "cpu" && !is_product(parameters) && type != DataType::tf32) return true;
  return std::find(device.data_types.begin(), device.data_types.end(), type) != device.data_types.end();
}

// At least: of a copy between host and device one side lies in the device's memory.
Bytes least_memory(const Operation& operation) {
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  if (copy != nullptr && copy->kind != CopyKind::d2d) return Bytes(copy->bytes);
  return operand_memory(operation);
}

}  // namespace

void check_can_run(const Operation& operation, const DeviceDescription& device) {
  if (!computes_in_its_type(operation, device)) {
    std::vector<std::string> types;
    for (const DataType type : device.data_types) types.emplace_back(to_string(type));
    throw UsageError(fmt::format("{}: {} has no {} for {}; write dtype= with one of {}",
                                 printable(operation.text(), kLongestText), device.id,
                                 to_string(operation.dtype()), operation.kind(), joined(types)));
  }
  const Bytes needed = least_memory(operation);
  if (needed <= device.memory_free) return;
  throw UsageError(fmt::format("{}: its operands need {} and {} has {} free; make the shape smaller",
                               printable(operation.text(), kLongestText), bytes_text(needed), device.id,
                               bytes_text(device.memory_free)));
}

}  // namespace jitterscope
