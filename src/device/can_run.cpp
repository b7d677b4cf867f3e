#include "device/can_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "device/allocation/allocators.hpp"
#include "device/compiler/user_kernel.hpp"
#include "device/cpu/operations/carried_loops.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "operation/kinds_collective.hpp"
#include "operation/operation.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kLongestText = 200;

bool is_product(const Operation::Parameters& parameters) {
  return std::holds_alternative<Conv2d>(parameters) || std::holds_alternative<Matmul>(parameters) ||
         std::holds_alternative<Linear>(parameters);
}

// Returns a lower bound: a copy between host and device has only one buffer in device memory.
Bytes least_memory(const Operation& operation) {
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  if (copy != nullptr && copy->kind != CopyKind::d2d) return Bytes(copy->bytes);
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain != nullptr && !chain->fused) {
    Bytes sum;
    for (std::size_t step = 0; step < chain->steps.size(); ++step) {
      sum += least_memory(chain->steps[step]);
      if (is_linked(*chain, step)) sum -= chain->steps[step].operands().front().bytes();
    }
    return std::max(Bytes(0), sum * chain->lanes);
  }
  if (const auto* allocation = std::get_if<Allocation>(&operation.parameters())) {
    return most_at_once(pattern_of(*allocation));
  }
  return operand_memory(operation);
}

// The data types that the device needs, each with the parameter that sets it.
std::vector<std::pair<const char*, DataType>> types_needed(const Operation& operation) {
  if (const auto* convert = std::get_if<Convert>(&operation.parameters())) {
    return {{"dtype", convert->dtype}, {"to_dtype", convert->to_dtype}};
  }
  if (!has_type_of_its_own(operation)) return {};
  return {{"dtype", operation.dtype()}};
}

template <class Value>
std::string words_of_all(const std::vector<Value>& values) {
  std::vector<std::string> words;
  for (const Value value : values) words.emplace_back(to_string(value));
  return joined(words);
}

}  // namespace

bool has_type_of_its_own(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  return !std::holds_alternative<Spin>(parameters) && !std::holds_alternative<Copy>(parameters) &&
         !std::holds_alternative<Aten>(parameters) && !std::holds_alternative<CudaKernel>(parameters) &&
         !std::holds_alternative<Chain>(parameters) && !std::holds_alternative<Allocation>(parameters) &&
         !std::holds_alternative<Convert>(parameters);
}

void check_can_run(const Operation& operation, const DeviceDescription& device) {
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    for (const Operation& step : chain->steps) check_can_run(step, device);
    refuse_unfusible(operation, device.id, device.capabilities);
    if (!device.capabilities.chains_have_streams) refuse_streams(operation, device.id);
  }
  if (device.capabilities.is_host) refuse_kernel(operation, device.id);
  refuse_collective(operation, device.id, device.capabilities, true);
  if (const auto* kernel = std::get_if<CudaKernel>(&operation.parameters())) kernel_source(kernel->file);
  require_data_type(operation, device.id, device.data_types, device.further_types);
  require_means(operation, device.id, device.capabilities);
  require_memory(operation.text(), least_memory(operation), device.memory_free, device.id);
}

void refuse_streams(const Operation& operation, std::string_view device_id) {
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain == nullptr || !needs_streams(*chain)) return;
  throw UsageError(fmt::format(
      "{} runs one launch after the other, and this chain asks for streams, a wait, a priority or a load: leave "
      "those out, or use --device cuda or virtual",
      device_id));
}

void refuse_unfusible(const Operation& operation, std::string_view device_id, const DeviceCapabilities& can) {
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  if (chain == nullptr || !chain->fused) return;
  const std::string reason = can.reason_not_fusible == nullptr ? "it runs each step as a launch of its own"
                                                               : can.reason_not_fusible(*chain);
  if (reason.empty()) return;
  throw UsageError(
      fmt::format("{} cannot fuse this chain: {}; change that, or leave out fused=1", device_id, reason));
}

void refuse_kernel(const Operation& operation, std::string_view device_id) {
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  if (kernel == nullptr || cpu::has_carried_loops(*kernel)) return;
  throw UsageError(
      fmt::format("{} is a kernel for a GPU, and {} has no loops for it; use --device cuda, or virtual",
                  printable(kernel->kernel, kLongestText), device_id));
}

void refuse_collective(const Operation& operation, std::string_view device_id, const DeviceCapabilities& can,
                       bool has_joined) {
  if (!has_collective(operation)) return;
  const std::string text = printable(operation.text(), kLongestText);
  if (!can.has_collectives) {
    throw UsageError(
        fmt::format("{}: {} has no collectives; take GPUs (--device cuda), or a simulated cluster (--device "
                    "virtual:cluster-2xh200)",
                    text, device_id));
  }
  if (has_joined) return;
  throw UsageError(fmt::format(
      "{}: a collective needs several ranks, and this process is alone; start them with --local N "
      "for N processes of this host, or by mpirun -n N",
      text));
}

void require_data_type(const Operation& operation, std::string_view device_id,
                       const std::vector<DataType>& data_types, const std::vector<DataType>& further_types) {
  std::vector<DataType> types = data_types;
  if (!is_product(operation.parameters())) {
    types.insert(types.end(), further_types.begin(), further_types.end());
  }
  for (const auto& [parameter, type] : types_needed(operation)) {
    if (std::ranges::find(types, type) != types.end()) continue;
    throw UsageError(fmt::format("{}: {} has no {} for {}; write {}= with one of {}",
                                 printable(operation.text(), kLongestText), device_id, to_string(type),
                                 operation.kind(), parameter, words_of_all(types)));
  }
}

void require_means(const Operation& operation, std::string_view device_id, const DeviceCapabilities& can) {
  if (const auto* chain = std::get_if<Chain>(&operation.parameters())) {
    for (const Operation& step : chain->steps) require_means(step, device_id, can);
    return;
  }
  if (const auto* allocation = std::get_if<Allocation>(&operation.parameters())) {
    if (can.allocators.empty()) {
      throw UsageError(fmt::format(
          "allocation: {} is simulated and gives out no memory; use device cpu or cuda", device_id));
    }
    if (std::ranges::find(can.allocators, allocation->by) == can.allocators.end()) {
      throw UsageError(fmt::format("allocation: {} has nothing for by={}; write by= with one of {}",
                                   device_id, to_string(allocation->by), words_of_all(can.allocators)));
    }
  }
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  if (copy == nullptr || copy->kind == CopyKind::d2d || can.host_memories.empty()) return;
  if (std::ranges::find(can.host_memories, copy->memory) == can.host_memories.end()) {
    throw UsageError(fmt::format("copy: {} has nothing for memory={}; write memory= with one of {}",
                                 device_id, to_string(copy->memory), words_of_all(can.host_memories)));
  }
  const bool is_known =
      copy->node < 0 || std::ranges::find(can.memory_nodes, copy->node) != can.memory_nodes.end();
  if (!is_known) {
    throw UsageError(fmt::format("copy: {} has no memory on NUMA node {} beside it; its nodes: {}", device_id,
                                 copy->node, fmt::join(can.memory_nodes, ", ")));
  }
}

void require_memory(std::string_view purpose, Bytes needed, Bytes free, std::string_view device_id) {
  if (needed <= free) return;
  throw UsageError(
      fmt::format("{} needs {} of memory, and {} has {} free; free some, or make the shape smaller",
                  printable(purpose, kLongestText), bytes_text(needed), device_id, bytes_text(free)));
}

}  // namespace jitterscope
