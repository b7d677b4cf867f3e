#include "torch_plugin/pooling_indices.hpp"

#include <ATen/ATen.h>

#include <optional>
#include <string>
#include <string_view>

namespace jitterscope::torch_plugin {
namespace {

constexpr std::string_view kGradient = "_with_indices_backward", kBackward = "_backward";

}  // namespace

void point_at_maxima(const Binding& binding, const Inputs& inputs, torch::jit::Stack& arguments) {
  const std::string& name = binding.schema().name();
  if (!name.ends_with(kGradient)) return;
  const auto pooling =
      c10::Dispatcher::singleton().findSchema({name.substr(0, name.size() - kBackward.size()), ""});
  const auto indices = place_of(binding.schema(), "indices");
  if (!pooling || !indices || inputs.was_filled(arguments[*indices].toTensor())) return;
  torch::jit::Stack stack;
  for (const c10::Argument& argument : pooling->schema().arguments()) {
    const auto place = place_of(binding.schema(), argument.name());
    if (!place) return;
    stack.push_back(arguments[*place]);
  }
  pooling->callBoxed(&stack);
  arguments[*indices].toTensor().copy_(stack.back().toTensor());
}

}  // namespace jitterscope::torch_plugin
