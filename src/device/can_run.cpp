#include "device/can_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "device/kernel_source.hpp"
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

// At least: of a copy between host and device one side lies in the device's memory.
Bytes least_memory(const Operation& operation) {
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  if (copy != nullptr && copy->kind != CopyKind::d2d) return Bytes(copy->bytes);
  return operand_memory(operation);
}

bool has_type_of_its_own(const Operation::Parameters& parameters) {
  return !std::holds_alternative<Spin>(parameters) && !std::holds_alternative<Copy>(parameters) &&
         !std::holds_alternative<Aten>(parameters) && !std::holds_alternative<CudaKernel>(parameters);
}

}  // namespace

void check_can_run(const Operation& operation, const DeviceDescription& device) {
  if (device.capabilities.is_host) refuse_kernel(operation, device.id);
  if (const auto* kernel = std::get_if<CudaKernel>(&operation.parameters())) kernel_source(kernel->file);
  require_data_type(operation, device.id, device.data_types, device.further_types);
  require_memory(operation.text(), least_memory(operation), device.memory_free, device.id);
}

void refuse_kernel(const Operation& operation, std::string_view device_id) {
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  if (kernel == nullptr) return;
  throw UsageError(fmt::format("{} is a kernel for a GPU, and {} runs none; use --device cuda, or virtual",
                               printable(kernel->kernel, kLongestText), device_id));
}

void require_data_type(const Operation& operation, std::string_view device_id,
                       const std::vector<DataType>& data_types, const std::vector<DataType>& further_types) {
  if (!has_type_of_its_own(operation.parameters())) return;
  std::vector<DataType> types = data_types;
  if (!is_product(operation.parameters())) {
    types.insert(types.end(), further_types.begin(), further_types.end());
  }
  if (std::ranges::find(types, operation.dtype()) != types.end()) return;
  std::vector<std::string> names;
  for (const DataType type : types) names.emplace_back(to_string(type));
  throw UsageError(fmt::format("{}: {} has no {} for {}; write dtype= with one of {}",
                               printable(operation.text(), kLongestText), device_id,
                               to_string(operation.dtype()), operation.kind(), joined(names)));
}

void require_memory(std::string_view purpose, Bytes needed, Bytes free, std::string_view device_id) {
  if (needed <= free) return;
  throw UsageError(
      fmt::format("{} needs {} of memory, and {} has {} free; free some, or make the shape smaller",
                  printable(purpose, kLongestText), bytes_text(needed), device_id, bytes_text(free)));
}

}  // namespace jitterscope
