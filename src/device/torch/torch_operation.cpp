#include "device/torch/torch_operation.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

#include "device/torch/plugin.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"

namespace jitterscope::torch {
namespace {

// Calls a function of the plug-in, and throws what it answers.
template <class Function, class... Arguments>
void call(Function* function, Arguments... arguments) {
  std::array<char, 2048> error;  // written only on failure: clearing it would take as long as a launch
  error[0] = '\0';
  const JitterscopeTorchResult result = function(arguments..., error.data(), error.size());
  switch (result) {
    case JITTERSCOPE_TORCH_DONE: return;
    case JITTERSCOPE_TORCH_USAGE: throw UsageError(error.data());
    case JITTERSCOPE_TORCH_MISSING: throw MissingError(error.data());
    case JITTERSCOPE_TORCH_FAILED: break;
  }
  throw FailedError(error.data());
}

// The regions that a function of the plug-in lists.
template <class List>
std::vector<MemoryRegion> regions_of(List* list, const JitterscopeTorchOperation* operation) {
  std::vector<JitterscopeTorchRegion> regions(list(operation, nullptr, 0));
  regions.resize(list(operation, regions.data(), regions.size()));
  std::vector<MemoryRegion> result;
  for (const JitterscopeTorchRegion& region : regions)
    result.push_back({region.address, Bytes(region.bytes)});
  return result;
}

std::vector<JitterscopeTorchGiven> given_memory(const Operation& operation, const InputData& data) {
  std::vector<JitterscopeTorchGiven> given;
  for (const Bytes size : tensor_sizes(std::get<Aten>(operation.parameters()))) {
    const SharedOperand* shared = find_shared(data, given.size(), size);
    const auto memory = shared == nullptr ? std::nullopt : owned_memory(*shared);
    given.push_back({nullptr, 0});
    if (!memory) continue;
    given.back() = {static_cast<std::byte*>(memory->address) + shared->offset.value(),
                    is_filled_by_owner(*shared) ? 1 : 0};
  }
  return given;
}

}  // namespace

Handle::Handle(const Operation& operation, const InputData& data, const Place& place)
    : plugin_(&torch::plugin()), operation_(nullptr, plugin_->destroy) {
  const std::string text = operation.text(), kind(to_string(data.kind));
  const std::vector<JitterscopeTorchGiven> given = given_memory(operation, data);
  const JitterscopeTorchRequest request{text.c_str(),  place.device_type.c_str(),
                                        place.ordinal, place.queue,
                                        kind.c_str(),  data.seed,
                                        given.data(),  given.size()};
  JitterscopeTorchOperation* made = nullptr;
  call(plugin_->prepare, &request, &made);
  operation_.reset(made);
}

void TorchOperation::run(NativeQueue queue) { call(handle_.plugin().run, handle_.get(), queue); }

bool TorchOperation::produce_inputs(NativeQueue queue) {
  call(handle_.plugin().produce_inputs, handle_.get(), queue);
  return true;
}

std::vector<MemoryRegion> TorchOperation::memory() const {
  return regions_of(handle_.plugin().memory, handle_.get());
}

std::vector<MemoryRegion> TorchOperation::operand_memory() const {
  return regions_of(handle_.plugin().operands, handle_.get());
}

std::size_t TorchOperation::input_count() const {
  return tensor_sizes(std::get<Aten>(operation_.parameters())).size();
}

std::vector<double> TorchOperation::read_operand(std::size_t index) {
  const std::int64_t elements = handle_.plugin().output_elements(handle_.get(), index);
  if (elements < 0) {
    throw UsageError(fmt::format("{} has {} outputs; there is no output {}", algorithm(),
                                 handle_.plugin().output_count(handle_.get()), index));
  }
  std::vector<double> values(static_cast<std::size_t>(elements));
  call(handle_.plugin().read_output, handle_.get(), index, values.data());
  return values;
}

std::unique_ptr<PreparedOperation> prepare_aten(const Operation& operation, const InputData& data,
                                                const Place& place) {
  return std::make_unique<TorchOperation>(operation, Handle(operation, data, place));
}

}  // namespace jitterscope::torch
