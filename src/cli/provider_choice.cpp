#include "cli/provider_choice.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "operation/aten_text.hpp"
#include "operation/pytorch.hpp"
#include "operation/words.hpp"

namespace jitterscope::cli {
namespace {

// True if jitterscope runs the operation with the library that PyTorch calls for it.
bool runs_as_pytorch(const Operation& operation) {
  const Operation::Parameters& parameters = operation.parameters();
  if (const auto* convolution = std::get_if<Conv2d>(&parameters)) return pytorch_uses_cudnn(*convolution);
  if (const auto* norm = std::get_if<BatchNorm>(&parameters)) return pytorch_uses_cudnn(*norm);
  return std::holds_alternative<Matmul>(parameters) || std::holds_alternative<Linear>(parameters) ||
         std::holds_alternative<Copy>(parameters);
}

bool is_aten(const Operation& operation) { return std::holds_alternative<Aten>(operation.parameters()); }

// Returns null if the device cannot have PyTorch's operators, such as a simulated GPU.
const LibraryInfo* torch_of(const DeviceDescription& device) {
  const auto found = std::ranges::find(device.libraries, "torch", &LibraryInfo::name);
  return found == device.libraries.end() ? nullptr : &*found;
}

// Returns an empty text if the provider can be used.
std::string torch_problem(const DeviceDescription& device) {
  if (const LibraryInfo* torch = torch_of(device)) return torch->problem;
  return fmt::format("{} has no torch provider; --device cpu and cuda can have one", device.name);
}

void leave_out(WorkList& work, const Layer& layer, const std::string& problem) {
  UntimedOperator left_out{std::get<Aten>(layer.operation.parameters()).name,
                           std::max<std::int64_t>(1, std::ssize(layer.names)),
                           "only PyTorch has this operator: " + problem};
  left_out.recorded_time = layer.recorded_time();
  add_untimed(work.model.untimed, std::move(left_out));
}

// Lists the operators and why none can be timed.
std::string nothing_left(const WorkList& work) {
  constexpr std::size_t kNamed = 4;
  const std::vector<UntimedOperator>& untimed = work.model.untimed;
  std::vector<std::string> operators;
  for (const UntimedOperator& each : untimed) {
    if (operators.size() == kNamed) {
      operators.push_back(fmt::format("{} more", untimed.size() - kNamed));
      break;
    }
    operators.push_back(fmt::format("{} ×{} ({})", printable(each.name, 100), each.count, each.why()));
  }
  return fmt::format("nothing of {} can be timed here: {}", printable(work.title, 200), joined(operators));
}

// Returns the recorded operator, else the known one. The operands' places are known for the latter, and for
// the former if both take tensors of the same sizes.
std::optional<LayerAten> operator_of(const Layer& layer) {
  std::optional<LayerAten> known = aten_of_layer(layer.operation);
  if (!layer.aten) return known;
  LayerAten recorded{*layer.aten, {}};
  const auto& aten = std::get<Aten>(recorded.operation.parameters());
  if (known) {
    const auto& ours = std::get<Aten>(known->operation.parameters());
    if (aten.name == ours.name && tensor_sizes(aten) == tensor_sizes(ours))
      recorded.operands = known->operands;
  }
  return recorded;
}

// Returns the operand's place among those of the operator that now runs the layer.
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
  std::vector<std::optional<LayerAten>> now;  // layers that PyTorch runs in place of jitterscope
  for (Layer& layer : work.model.layers) {
    const bool is_layer = !layer.names.empty();
    const bool wanted =
        provider == Provider::torch || (is_layer && !keep_own && !runs_as_pytorch(layer.operation));
    now.push_back(may_be_torch && wanted && !is_aten(layer.operation) ? operator_of(layer) : std::nullopt);
    if (now.back()) layer.operation = now.back()->operation;
    const bool can_run = !is_aten(layer.operation) || may_be_torch;
    keep.push_back(can_run);
    if (!can_run) {
      leave_out(work, layer, provider == Provider::builtin ? "--provider builtin was asked for" : problem);
    }
  }
  count_operands_anew(work.model.calls, now);
  keep_layers(work, keep);
  if (!work.model.layers.empty()) return;
  if (provider == Provider::builtin) throw UsageError(nothing_left(work) + "; leave that flag out");
  if (torch_of(device) == nullptr) throw UsageError(nothing_left(work));
  throw MissingError(nothing_left(work));
}

void add_untimed(std::vector<UntimedOperator>& untimed, UntimedOperator more) {
  const auto same = std::ranges::find_if(untimed, [&](const UntimedOperator& known) {
    return known.name == more.name && known.reason == more.reason;
  });
  if (same == untimed.end()) {
    untimed.push_back(std::move(more));
    return;
  }
  same->count += more.count;
  same->recorded_time = sum_if_known(same->recorded_time, more.recorded_time);
}

}  // namespace jitterscope::cli
