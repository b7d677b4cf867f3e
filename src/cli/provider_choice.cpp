#include "cli/provider_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "device/cuda/operations/batch_norm_rules.hpp"
#include "device/cuda/operations/pytorch_rules.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/layer_aten.hpp"

namespace jitterscope::cli {
namespace {

// Whether the library that PyTorch itself calls for it runs the operation here.
bool runs_as_pytorch(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  if (const auto* convolution = std::get_if<Conv2d>(&parameters))
    return cuda::pytorch_uses_cudnn(*convolution);
  if (const auto* norm = std::get_if<BatchNorm>(&parameters)) return cuda::is_cudnn_batch_norm(*norm);
  return std::holds_alternative<Matmul>(parameters) || std::holds_alternative<Linear>(parameters) ||
         std::holds_alternative<Copy>(parameters);
}

bool is_aten(const Operation& operation) { return std::holds_alternative<Aten>(operation.parameters()); }

// Empty where the provider can be used.
std::string torch_problem(const DeviceDescription& device) {
  for (const LibraryInfo& library : device.libraries) {
    if (library.name == "torch") return library.problem;
  }
  return fmt::format("{} has no torch provider", device.name);
}

void leave_out(WorkList& work, const WorkItem& item, const std::string& problem) {
  UntimedOperator left_out{std::get<Aten>(item.operation.parameters()).name,
                           std::max<std::int64_t>(1, std::ssize(item.layers)),
                           "only PyTorch has this operator: " + problem};
  if (item.recorded_time) {
    left_out.recorded_time = *item.recorded_time * static_cast<double>(left_out.count);
  }
  for (UntimedOperator& known : work.untimed) {
    if (known.name != left_out.name || known.reason != left_out.reason) continue;
    known.count += left_out.count;
    if (left_out.recorded_time) {
      known.recorded_time = known.recorded_time.value_or(Nanoseconds(0)) + *left_out.recorded_time;
    }
    return;
  }
  work.untimed.push_back(std::move(left_out));
}

// The operator that was recorded, else the one that is known. Where its operands are is known of the latter,
// and of the former where both take tensors of the same sizes.
std::optional<LayerAten> operator_of(const WorkItem& item) {
  std::optional<LayerAten> known = aten_of_layer(item.operation);
  if (!item.aten) return known;
  LayerAten recorded{*item.aten, {}};
  const auto& aten = std::get<Aten>(recorded.operation.parameters());
  if (known) {
    const auto& ours = std::get<Aten>(known->operation.parameters());
    if (aten.name == ours.name && tensor_sizes(aten) == tensor_sizes(ours))
      recorded.operands = known->operands;
  }
  return recorded;
}

// The operand's place among those of the operator that runs the layer now.
std::size_t place_of(const std::optional<LayerAten>& now, std::size_t operand) {
  if (!now) return operand;
  return operand < now->operands.size() ? now->operands[operand] : kUnknownOperand;
}

void count_operands_anew(std::vector<Call>& calls, const std::vector<std::optional<LayerAten>>& now) {
  for (Call& call : calls) {
    for (OperandSource& input : call.inputs) {
      input.operand = place_of(now[call.layer], input.operand);
      input.source_operand = place_of(now[calls[input.call].layer], input.source_operand);
    }
  }
}

}  // namespace

Provider parse_provider(const std::string& word) {
  const std::vector<std::string> known = {"auto", "torch", "builtin"};
  const auto found = std::find(known.begin(), known.end(), word);
  if (found == known.end()) {
    throw UsageError(fmt::format("--provider: unknown word '{}'{}", word, suggestion(word, known)));
  }
  return static_cast<Provider>(found - known.begin());
}

void choose_provider(WorkList& work, Provider provider, const DeviceDescription& device, bool keep_own) {
  if (!work.is_model && provider != Provider::torch) return;
  const std::string problem = torch_problem(device);
  if (provider == Provider::torch && !problem.empty()) throw MissingError("--provider torch: " + problem);
  const bool may_be_torch = provider != Provider::builtin && problem.empty();
  std::vector<bool> keep;
  std::vector<std::optional<LayerAten>> now;  // of the items that PyTorch runs in place of jitterscope
  for (WorkItem& item : work.items) {
    const bool is_layer = !item.layers.empty();
    const bool wanted =
        provider == Provider::torch || (is_layer && !keep_own && !runs_as_pytorch(item.operation));
    now.push_back(may_be_torch && wanted && !is_aten(item.operation) ? operator_of(item) : std::nullopt);
    if (now.back()) item.operation = now.back()->operation;
    const bool can_run = !is_aten(item.operation) || may_be_torch;
    keep.push_back(can_run);
    if (!can_run) {
      leave_out(work, item, provider == Provider::builtin ? "--provider builtin was asked for" : problem);
    }
  }
  count_operands_anew(work.calls, now);
  keep_items(work, keep);
}

}  // namespace jitterscope::cli
