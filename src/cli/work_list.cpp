#include "cli/work_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/names.hpp"
#include "cli/model_target.hpp"
#include "device/can_run.hpp"
#include "jitterscope/error.hpp"
#include "operation/chain.hpp"
#include "operation/layer_pattern.hpp"
#include "operation/pytorch_rules.hpp"
#include "operation/words.hpp"

namespace jitterscope::cli {
namespace {

template <class Element>
void append(std::vector<Element>& all, std::vector<Element> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void add_model(WorkList& work, Model model) {
  work.is_model = true;
  Model& all = work.model;
  // The order is that of one model: several do not run one in the other.
  all.calls = all.layers.empty() ? std::move(model.calls) : std::vector<Call>();
  append(all.layers, std::move(model.layers));
  append(all.untimed, std::move(model.untimed));
  append(all.notes, std::move(model.notes));
  all.is_incomplete |= model.is_incomplete;
  if (all.format.empty()) all.format = std::move(model.format);
  all.recorded_cudnn = model.recorded_cudnn;
  if (model.recorded_gpu_time) {
    all.recorded_gpu_time = all.recorded_gpu_time.value_or(Nanoseconds(0)) + *model.recorded_gpu_time;
  }
}

// Operations that were typed run in the order typed, and share what has the same name, type and size: the x,
// w and dy of a convolution and its gradients.
std::vector<Call> calls_in_order(const std::vector<Layer>& layers) {
  std::vector<Call> calls;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Call call{.layer = i, .name = layers[i].operation.text(), .inputs = {}};
    const std::vector<Operand> operands = layers[i].operation.operands();
    for (std::size_t operand = 0; operand < operands.size(); ++operand) {
      for (std::size_t earlier = 0; earlier < i; ++earlier) {
        const std::vector<Operand> others = layers[earlier].operation.operands();
        const auto same = std::ranges::find_if(others, [&](const Operand& other) {
          return other.name == operands[operand].name && other.dtype == operands[operand].dtype &&
                 other.bytes() == operands[operand].bytes();
        });
        if (same == others.end()) continue;
        call.inputs.push_back({operand, earlier, static_cast<std::size_t>(same - others.begin())});
        break;
      }
    }
    calls.push_back(std::move(call));
  }
  return calls;
}

// A shell parts `conv2d: n=32, c=64` into three.
void refuse_spaces(const std::vector<std::string>& targets) {
  for (std::size_t i = 1; i < targets.size(); ++i) {
    const std::size_t equals = targets[i].find('=');
    if (equals == std::string::npos || targets[i].find_first_of(":/.") < equals) continue;
    std::string together = targets[i - 1];
    if (together.find(':') == std::string::npos) together += ':';
    for (std::size_t k = i; k < targets.size() && targets[k].find('=') != std::string::npos; ++k) {
      if (together.back() != ':' && together.back() != ',') together += ',';
      together += targets[k];
    }
    while (together.back() == ',') together.pop_back();
    throw UsageError(
        fmt::format("{} stands alone: write what is to be timed in one piece without spaces, as in {}",
                    in_quotes(targets[i]), printable(together, 200)));
  }
}

void refuse_bare_kernel(const std::string& target) {
  const std::string file = target.substr(0, target.find(".cu") + std::string_view(".cu").size());
  const bool is_source = file.ends_with(".cu") && (file == target || target[file.size()] == ':');
  if (!is_source) return;
  throw UsageError(
      fmt::format("{} is a CUDA source and no model: name its kernel and how it is launched, as "
                  "cuda:{}:KERNEL,grid=4096,block=256,n=1Mi,x=f32[n],y=out:f32[n]",
                  in_quotes(target), printable(file, 100)));
}

bool has_type(const DeviceDescription& device, DataType type) {
  return std::ranges::find(device.data_types, type) != device.data_types.end();
}

// Of a chain any step.
bool any_runs_in_tf32(const Operation& operation) {
  const auto* chain = std::get_if<Chain>(&operation.parameters());
  return chain == nullptr ? pytorch_runs_in_tf32(operation)
                          : std::ranges::any_of(chain->steps, pytorch_runs_in_tf32);
}

}  // namespace

WorkList read_targets(const std::vector<std::string>& targets, const std::string& only) {
  refuse_spaces(targets);
  const std::optional<LayerPattern> pattern = only.empty() ? std::nullopt : std::optional<LayerPattern>(only);
  WorkList work;
  work.title = joined(targets, " ");
  std::vector<std::string> names;  // of what there is to choose from
  for (const std::string& target : targets) {
    if (names_operation(target)) {
      work.model.calls.clear();
      for (Operation& operation : parse_sweep(target)) {
        names.push_back(operation.text());
        if (!pattern || pattern->finds(names.back())) work.model.layers.push_back({{}, std::move(operation)});
      }
      continue;
    }
    refuse_bare_kernel(target);
    Model model = read_model_target(target);
    for (const Layer& layer : model.layers) names.push_back(layer.names.front());
    if (pattern) keep_layers(model, *pattern);
    add_model(work, std::move(model));
  }
  if (pattern && work.model.layers.empty()) fail_nothing_chosen(only, names);
  if (pattern) work.title += " --only " + only;
  if (!work.is_model) work.model.calls = calls_in_order(work.model.layers);
  work.model.name = work.title;
  return work;
}

void fit_to_device(WorkList& work, const DeviceDescription& device) {
  if (!work.is_model || has_type(device, DataType::tf32)) return;
  std::size_t changed = 0;
  for (Layer& layer : work.model.layers) {
    if (layer.names.empty() || layer.operation.dtype() != DataType::tf32) continue;
    layer.operation = layer.operation.with_dtype(DataType::f32);
    ++changed;
  }
  if (changed == 0) return;
  work.model.notes.push_back(
      fmt::format("{} of {} operations use TF32, which {} does not have: they run in f32.", changed,
                  work.model.layers.size(), device.name));
}

std::string take_as_pytorch(WorkList& work, const DeviceDescription& device) {
  if (!has_type(device, kPytorchConvolutionOfF32)) return {};
  bool any = false;
  for (Layer& layer : work.model.layers) {
    if (!layer.names.empty() || !pytorch_runs_in_tf32(layer.operation)) continue;
    layer.operation = layer.operation.with_dtype(kPytorchConvolutionOfF32);
    any = true;
  }
  if (!any) return {};
  return "Convolutions of f32 are taken in tf32, as PyTorch runs them unless torch.backends.cudnn.allow_tf32 is "
         "False.";
}

std::string note_on_f32(const WorkList& work, const DeviceDescription& device) {
  if (!has_type(device, kPytorchConvolutionOfF32)) return {};
  const bool any = std::ranges::any_of(work.model.layers, [&](const Layer& layer) {
    return (layer.names.empty() || work.model.format.empty()) && any_runs_in_tf32(layer.operation);
  });
  if (!any) return {};
  return "In f32 a convolution is not as PyTorch runs it: unless torch.backends.cudnn.allow_tf32 is False it "
         "multiplies float32 tensors in tf32, which dtype=tf32 asks for.";
}

void refuse_impossible(const WorkList& work, const DeviceDescription& device) {
  std::size_t impossible = 0;
  std::string first;
  for (const Layer& layer : work.model.layers) {
    try {
      check_can_run(layer.operation, device);
    } catch (const UsageError& error) {
      if (impossible++ == 0) first = error.what();
    }
  }
  if (impossible == 0) return;
  if (impossible == work.model.layers.size()) {
    throw UsageError(impossible == 1 ? first
                                     : fmt::format("none of the {} operations can run here; the first is {}",
                                                   impossible, first));
  }
  fmt::print(
      stderr,
      "jitterscope: {} of {} operations cannot run here, and only the others are timed; the first is {}\n",
      impossible, work.model.layers.size(), first);
}

void keep_layers(WorkList& work, const std::vector<bool>& keep) {
  Model& model = work.model;
  std::vector<std::size_t> new_layer, new_call;
  std::vector<Layer> layers;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    new_layer.push_back(keep[i] ? layers.size() : kGone);
    if (keep[i]) layers.push_back(std::move(model.layers[i]));
  }
  for (const Call& call : model.calls) new_call.push_back(new_layer[call.layer]);
  model.layers = std::move(layers);
  model.calls = kept_calls(std::move(model.calls), new_call);
}

}  // namespace jitterscope::cli
