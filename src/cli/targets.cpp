#include "cli/targets.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "capture/sampler.hpp"
#include "commands/records.hpp"
#include "device/can_run.hpp"
#include "import/data_flow.hpp"
#include "import/import.hpp"
#include "import/recognise.hpp"
#include "jitterscope/error.hpp"
#include "model/named_models.hpp"
#include "operation/chain.hpp"
#include "operation/layer_pattern.hpp"
#include "operation/parse.hpp"
#include "operation/pytorch.hpp"
#include "operation/samples.hpp"
#include "operation/words.hpp"
#include "timeline/analysis.hpp"
#include "timeline/captured_calls.hpp"

namespace jitterscope::cli {
namespace {

template <class Element>
void append(std::vector<Element>& all, std::vector<Element> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

void add_model(WorkList& work, Model model) {
  Model& all = work.model;
  all.recorded_gpu_time =
      work.is_model ? sum_if_known(all.recorded_gpu_time, model.recorded_gpu_time) : model.recorded_gpu_time;
  // None of several records says how another's program used its GPU.
  all.recorded_use = work.is_model ? std::nullopt : std::move(model.recorded_use);
  work.is_model = true;
  // The order of calls is that of one model: several models do not call each other.
  all.calls = all.layers.empty() ? std::move(model.calls) : std::vector<Call>();
  append(all.layers, std::move(model.layers));
  append(all.untimed, std::move(model.untimed));
  append(all.notes, std::move(model.notes));
  all.is_incomplete |= model.is_incomplete;
  if (all.format.empty()) all.format = std::move(model.format);
  all.recorded_device = model.recorded_device;
  all.recorded_cudnn = model.recorded_cudnn;
}

// Returns typed operations in order. They share operands of the same name, type and size: x, w and dy of a
// convolution and its gradients.
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

// A shell splits `conv2d: n=32, c=64` into three words.
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
    std::erase_if(together, [](char letter) { return letter == ' ' || letter == '\t'; });
    while (together.back() == ',') together.pop_back();
    throw UsageError(
        fmt::format("{} is separated by a space: write an operation in one piece, without spaces, as in {}",
                    in_quotes(targets[i]), printable(together, 200)));
  }
}

void refuse_bare_kernel(const std::string& target) {
  const std::string file = target.substr(0, target.find(".cu") + std::string_view(".cu").size());
  const bool is_source = file.ends_with(".cu") && (file == target || target[file.size()] == ':');
  if (!is_source) return;
  throw UsageError(
      fmt::format("{} is a CUDA source, not a model: name its kernel and how to launch it, as "
                  "cuda:{}:KERNEL,grid=4096,block=256,n=1Mi,x=f32[n],y=out:f32[n]",
                  in_quotes(target), printable(file, 100)));
}

bool has_type(const DeviceDescription& device, DataType type) {
  return std::ranges::find(device.data_types, type) != device.data_types.end();
}

// True for a chain if any step does.
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
  std::vector<std::string> names;  // names to choose from
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

void join_execution_trace(WorkList& work, const std::string& file) {
  const Model flow = import_file(file, {});
  const auto reads_any = [](const Call& call) { return !call.inputs.empty(); };
  if (std::ranges::none_of(flow.calls, reads_any)) {
    throw UsageError(fmt::format(
        "--execution-trace {}: it does not say which call reads what another wrote; name a file that "
        "torch.profiler.ExecutionTraceObserver wrote",
        file));
  }
  const JoinedCalls joined = take_data_flow(work.model, flow);
  work.model.notes.push_back(fmt::format(
      "Of {} calls, {} are in {}, which says what they read{}.", joined.of, joined.found, file,
      joined.steps > 1
          ? fmt::format("; it is of one step, and {} steps of the trace are like it", joined.steps)
          : ""));
}

void fit_to_device(WorkList& work, const DeviceDescription& device) {
  // However they are recorded, a simulated GPU has no PyTorch to run them.
  if (device.capabilities.is_simulated) {
    for (UntimedOperator& each : work.model.untimed) each.remedy.clear();
  }
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
  return "f32 convolutions run in tf32, as in PyTorch unless torch.backends.cudnn.allow_tf32 is False.";
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
                                     : fmt::format("none of the {} operations can run here; the first: {}",
                                                   impossible, first));
  }
  fmt::print(stderr, "jitterscope: {} of {} operations cannot run here and are left out; the first is {}\n",
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

namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

bool looks_like_path(const std::string& target) {
  if (target.find('/') != std::string::npos) return true;
  return std::ranges::any_of(std::initializer_list<std::string_view>{".json", ".gz", ".log", ".onnx", ".txt"},
                             [&](std::string_view ending) { return target.ends_with(ending); });
}

struct Target {
  std::string name, options;
};

// Takes an existing file as typed, because its name may hold a colon.
Target split_target(const std::string& target) {
  const std::size_t colon = target.rfind(':');
  if (exists(target) || colon == std::string::npos) return {target, ""};
  return {target.substr(0, colon), target.substr(colon + 1)};
}

void refuse_options(const Target& target) {
  if (target.options.empty()) return;
  throw UsageError(
      fmt::format("{}: a model file has its sizes in it; '{}' applies to networks by name and to ONNX files",
                  target.name, target.options));
}

std::vector<std::string> known_models() {
  std::vector<std::string> names = model_names();
  for (const ModelDescription& model : named_models()) names.push_back(model.name);
  return names;
}

const OperationHelp* find_operation(std::string_view kind) {
  for (const OperationHelp& help : operation_help()) {
    if (help.kind == kind) return &help;
  }
  return nullptr;
}

// Returns `batch=2` for `(batch=2)`, `, batch=2` and `batch=2,`, and no spaces, which the messages say not to
// write.
std::string without_brackets(std::string_view text) {
  constexpr std::string_view kAround = " \t,;:()[]";
  const std::size_t first = text.find_first_not_of(kAround);
  if (first == std::string_view::npos) return "…";
  std::string inner(text.substr(first, text.find_last_not_of(kAround) - first + 1));
  std::erase_if(inner, [](char letter) { return letter == ' ' || letter == '\t'; });
  return inner;
}

// Refuses a known name without a colon after it: resnet50,batch=32 and conv2d(n=1,c=3).
void refuse_other_separator(const std::string& text, const std::string& name) {
  const OperationHelp* help = find_operation(name);
  const bool is_model = std::ranges::count(known_models(), name) > 0;
  if ((help == nullptr && !is_model) || text.size() == name.size()) return;
  const std::string rest = without_brackets(std::string_view(text).substr(name.size()));
  throw UsageError(fmt::format(
      "{}: write the options of {} after a colon and without spaces, as in {}", in_quotes(text), name,
      help == nullptr || rest.find('=') != std::string::npos ? name + ":" + rest : help->example));
}

[[noreturn]] void fail_unknown(const std::string& text, const std::vector<std::string>& others) {
  const std::string name = text.substr(0, text.find_first_of(":,;( ["));
  if (name.find('=') != std::string::npos) {
    throw UsageError(
        fmt::format("{} is an option without a model or operation: write it after a colon, as in resnet18:{}",
                    in_quotes(text), without_brackets(text)));
  }
  if (name == "python") {
    throw UsageError(fmt::format(
        "{}: only run, compare, explain and gate take functions of Python, and not together with other "
        "work; for advice on a module use js.advise(model, batch) in Python",
        in_quotes(text)));
  }
  refuse_other_separator(text, name);
  if (const OperationHelp* help = find_operation(name)) {
    throw UsageError(
        fmt::format("{} is an operation without its parameters: write them after a colon, as in {}",
                    in_quotes(text), help->example));
  }
  const std::string problem = fmt::format("{} is not a model, an operation or a file", in_quotes(name));
  const std::vector<std::string> models = known_models();
  std::vector<std::string> known = others;
  known.insert(known.end(), models.begin(), models.end());
  for (const OperationHelp& help : operation_help()) known.push_back(help.kind);
  const std::string nearest = nearest_name(name, known);
  if (find_operation(nearest) != nullptr) throw UsageError(problem + kind_hint(name));
  if (nearest.empty()) {
    throw UsageError(fmt::format("{}; models are {}; jitterscope list shows all that can be timed", problem,
                                 joined(models)));
  }
  throw UsageError(fmt::format("{} (did you mean '{}'?); see jitterscope list", problem, nearest));
}

}  // namespace

bool names_operation(std::string_view target) {
  const std::size_t colon = target.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view word = trimmed(target.substr(0, colon));
  return std::ranges::any_of(operation_help(), [&](const OperationHelp& help) { return help.kind == word; });
}

void fail_nothing_chosen(const std::string& only, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 5;
  // Takes names from the whole model: its first layers are all of one kind.
  std::vector<std::string> some;
  const std::size_t step = std::max<std::size_t>(1, names.size() / kShown);
  for (std::size_t i = 0; i < names.size() && some.size() < kShown; i += step) {
    some.push_back(printable(names[i], 60));
  }
  // Other flags take a list with commas, but a regular expression needs | for "or".
  std::string either = only;
  std::ranges::replace(either, ',', '|');
  const std::string hint =
      either == only ? std::string() : fmt::format("; for one or the other write {}", in_quotes(either));
  throw UsageError(fmt::format("--only: no layer's name or operation contains {}{}; layers are {} …",
                               in_quotes(only), hint, joined(some)));
}

Model read_model_target(const std::string& text, const std::vector<std::string>& others) {
  const Target target = split_target(text);
  const std::vector<std::string> models = known_models();
  const bool is_file = exists(target.name), is_model = std::ranges::count(models, target.name) > 0;
  if (!is_file && !is_model) {
    if (looks_like_path(target.name)) require_readable(target.name);
    fail_unknown(text, others);
  }
  const ModelOptions options = parse_model_options(target.options, target.name);
  if (is_file && std::filesystem::is_directory(target.name)) {
    if (!capture::is_capture(target.name)) require_readable(target.name);
    refuse_options(target);
    return timeline::captured_model(timeline::read_capture(target.name));
  }
  if (is_file) {
    Model model = import_file(target.name, options);
    // Only a profiler's trace says when the GPU worked.
    if (model.recorded_gpu_time)
      model.recorded_use = timeline::recorded_use(timeline::read_profiler_trace(target.name));
    return model;
  }
  if (auto model = named_model(target.name, options)) return *std::move(model);
  if (const auto file = find_model(target.name)) {
    refuse_options(target);
    return load_model(*file);
  }
  fail_unknown(text, others);
}

std::string with_one_sample(const std::string& text) {
  std::string parameter;
  const Target target = split_target(text);
  if (names_operation(text)) {
    parameter = batch_parameter(trimmed(text.substr(0, text.find(':'))));
  } else if (!exists(target.name) && network_named_by(text)) {
    parameter = "batch";
  }
  const std::string setting = parameter + "=";
  if (parameter.empty() || text.find(':' + setting) != std::string::npos ||
      text.find(',' + setting) != std::string::npos) {
    return text;
  }
  const bool is_first = text.find(':') == std::string::npos || text.ends_with(':');
  return text + (text.find(':') == std::string::npos ? ":" : is_first ? "" : ",") + setting + '1';
}

namespace {

struct Place {
  std::size_t begin = 0, end = 0;
};
// Returns the place of the option batch's value in a target's options; nullopt if there is none.
std::optional<Place> place_of_batch(const std::string& options) {
  constexpr std::string_view kBatch = "batch=";
  const std::size_t at = options.find(kBatch);
  const bool is_option = at == 0 || (at != std::string::npos && options[at - 1] == ',');
  if (!is_option) return std::nullopt;
  const std::size_t begin = at + kBatch.size();
  return Place{begin, std::min(options.find(',', begin), options.size())};
}

}  // namespace

std::optional<std::int64_t> batch_named_in(const std::string& text) {
  const Target target = split_target(text);
  if (names_operation(text) || !place_of_batch(target.options)) return std::nullopt;
  return parse_model_options(target.options, target.name).batch;
}

std::string with_batch(const std::string& text, std::int64_t batch) {
  const Target target = split_target(text);
  const Place place = place_of_batch(target.options).value();
  return target.name + ':' + target.options.substr(0, place.begin) + std::to_string(batch) +
         target.options.substr(place.end);
}

namespace {

// Unpacks gzip, in which traces are accepted, too.
std::string unpacked(std::string text, const std::string& file) {
  constexpr std::string_view kGzip = "\x1f\x8b";
  return text.starts_with(kGzip) ? unpack_gzip(text, file).text : std::move(text);
}

bool begins_as_record(const std::string& path) {
  constexpr std::size_t kBeginning = 4096;  // the format stands in the first line
  std::ifstream file(path);
  std::string text(kBeginning, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return recognise(unpacked(std::move(text), path)) == FileKind::own;
}

}  // namespace

bool is_file(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

void refuse_missing_files(const std::vector<std::string>& targets) {
  for (const std::string& target : targets) {
    if (target.ends_with(".json") || target.ends_with(".json.gz")) require_readable(target);
  }
}

void refuse_file_as_operation(const std::string& target) {
  if (!is_file(target)) return;
  throw UsageError(fmt::format(
      "{} is a file; write one operation, as matmul:m=512,n=512,k=512 (`jitterscope run` takes files)",
      target));
}

bool are_records(const std::vector<std::string>& targets) {
  const auto record = std::ranges::find_if(targets, begins_as_record);
  if (record == targets.end()) return false;
  const auto other = std::ranges::find_if_not(targets, is_file);
  if (other == targets.end()) return true;
  if (looks_like_path(*other) || exists(*other)) require_readable(*other);
  throw UsageError(fmt::format(
      "{} is a record and {} is not a file: compare a record with another record, which `jitterscope run "
      "… --json FILE` writes",
      *record, *other));
}

std::string read_text(const std::string& file) {
  if (file == "-") return unpacked({std::istreambuf_iterator<char>(std::cin), {}}, "standard input");
  FileContents contents = read_file(file);
  if (contents.ends_early) throw UsageError(file + ": the gzip file ends early; was it copied in full?");
  return std::move(contents.text);
}

RunRecord read_run_file(const std::string& path) { return read_run_record(read_text(path), path); }

}  // namespace jitterscope::cli
