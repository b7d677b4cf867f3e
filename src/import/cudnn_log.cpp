#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "import/import.hpp"
#include "import/library_log.hpp"
#include "import/model_builder.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"
#include "operation/operation.hpp"

// Imports logs of cuDNN 9: executions of plans, and calls of the older API.

namespace jitterscope::library_log {

struct CudnnExecution {
  std::int64_t line = 0;
  std::string thread;
  std::string name;    ///< name of its operations: CONVOLUTION_FORWARD
  std::string reason;  ///< why it is not timed; empty if `convolution` is set
  std::optional<LoggedConvolution> convolution;
  std::string engine;  ///< its tag; empty if a knob is unknown
  bool tensor_cores = false;
  bool may_use_tf32 = true;  ///< cuDNN's own setting; NVIDIA_TF32_OVERRIDE=0 disables it
};

/// Reads a record of cudnnBackendExecute with its plan. nullopt if it is damaged.
std::optional<CudnnExecution> read_execution(const ApiRecord& record);

/// Reads a tensor or filter descriptor of the graph API or the older one.
LoggedTensor read_tensor(const ApiFields& descriptor);

/// Returns "9.19.0" for 91900, "8.2.4" for 8204.
std::string cudnn_version(std::string_view number);

// Calls of the API before cuDNN's graphs, which PyTorch still makes for batch normalization.

/// True if the function launches work; others describe, query and prepare.
bool is_legacy_call(const ApiRecord& record);

struct LegacyCall {
  std::optional<Operation> operation;
  std::string reason;         ///< set if there is no operation
  bool lacks_engine = false;  ///< the log has an algorithm's number instead
};
/// Returns nullopt if the record is damaged.
std::optional<LegacyCall> read_legacy_call(const ApiRecord& record);

}  // namespace jitterscope::library_log

namespace jitterscope {
namespace {

using namespace library_log;

constexpr std::string_view kHowToRecordCudnn =
    "CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=log.txt before the program";

/// One call; which executions only timed engines is found out later.
struct CudnnCall {
  std::int64_t line = 0;
  std::string function;
  std::optional<CudnnExecution> execution;  ///< set for a plan
  LegacyCall legacy;                        ///< set otherwise
  bool is_left_out = false;                 ///< it failed, or timed an engine
};

class CudnnLogReader {
 public:
  explicit CudnnLogReader(LogModel& model) : model_(model) {}

  void read(const ApiRecord& record) {
    model_.in_process(record.process());
    if (version_.empty()) version_ = cudnn_version(record.version);
    const ApiFields arguments = record.arguments();
    if (device_.empty()) read_device(arguments);
    if (record.function == "cudnnBackendExecute") {
      read_backend_call(record, arguments);
    } else if (record.function == "cudnnBackendExecuteInternal") {
      read_inner_call(record, arguments);
    } else if (is_legacy_call(record)) {
      read_legacy(record);
    }
  }

  std::vector<CudnnCall>& calls() { return calls_; }
  const std::string& version() const { return version_; }
  const std::string& device() const { return device_; }

 private:
  void read_device(const ApiFields& arguments) {
    const std::optional<ApiFields> handle = arguments.find("handle");
    const std::optional<ApiFields> device = handle ? handle->find("deviceProp") : std::nullopt;
    const std::optional<ApiFields> name = device ? device->find("deviceName") : std::nullopt;
    if (name) device_ = quotable(name->value());
  }

  // cuDNN writes a record before the call, with its arguments, and one after it, with its status.
  void read_backend_call(const ApiRecord& record, const ApiFields& arguments) {
    if (const std::optional<ApiFields> status = arguments.find("status")) {
      if (status->value() == "CUDNN_STATUS_SUCCESS") return;
      if (CudnnCall* call = last_of(record.thread())) call->is_left_out = true;
      return;
    }
    const std::optional<CudnnExecution> execution =
        record.is_complete ? read_execution(record) : std::nullopt;
    if (!execution) {
      model_.add_damaged(record.line, "is an execution without its plan or its end");
      return;
    }
    calls_.push_back(
        {.line = record.line, .function = "cudnnBackendExecute", .execution = execution, .legacy = {}});
    last_of_thread_[execution->thread] = calls_.size() - 1;
  }

  void read_inner_call(const ApiRecord& record, const ApiFields& arguments) {
    const std::optional<ApiFields> flag = arguments.find("enable_tf32");
    CudnnCall* call = last_of(record.thread());
    if (flag && call != nullptr) call->execution->may_use_tf32 = flag->value() != "false";
  }

  void read_legacy(const ApiRecord& record) {
    const std::optional<LegacyCall> call = record.is_complete ? read_legacy_call(record) : std::nullopt;
    if (!call) {
      model_.add_damaged(record.line, "is a call without all of its descriptors or its end");
      return;
    }
    calls_.push_back(
        {.line = record.line, .function = std::string(record.function), .execution = {}, .legacy = *call});
  }

  CudnnCall* last_of(std::string_view thread) {
    const auto found = last_of_thread_.find(std::string(thread));
    return found == last_of_thread_.end() ? nullptr : &calls_[found->second];
  }

  LogModel& model_;
  std::vector<CudnnCall> calls_;
  std::map<std::string, std::size_t> last_of_thread_;  // index of the thread's last execution
  std::string version_, device_;
};

bool is_fp32(const CudnnCall& call) {
  return call.execution && call.execution->convolution && call.execution->convolution->x.type == "FLOAT";
}

/// Returns the operation of an execution, or the reason why there is none.
std::pair<std::optional<Conv2d>, std::string> convolution_of(const CudnnExecution& execution, bool tf32) {
  if (!execution.convolution) return {std::nullopt, execution.reason};
  try {
    Conv2d conv = conv2d_of(*execution.convolution, tf32 && execution.may_use_tf32);
    conv.engine = execution.engine;
    return {conv, ""};
  } catch (const UsageError& why) {
    return {std::nullopt, why.what()};
  }
}

// Marks runs that timed engines. With torch.backends.cudnn.benchmark PyTorch runs each engine twice, to warm
// up and to time it, and then the winner.
void leave_out_timing_runs(std::vector<CudnnCall*>& runs_of_one_problem) {
  std::vector<CudnnCall*>& runs = runs_of_one_problem;
  const std::string winner = runs.back()->execution->engine;
  const auto is_winner = [&](const CudnnCall* call) { return call->execution->engine == winner; };
  const auto last = std::find_if_not(runs.rbegin(), runs.rend(), is_winner).base();
  if (last == runs.begin()) return;
  for (auto run = runs.begin(); run != last;) {
    const auto end = std::find_if(run, last, [&](const CudnnCall* call) {
      return call->execution->engine != (*run)->execution->engine;
    });
    if ((end - run) % 2 != 0) return;
    run = end;
  }
  const bool won_before = std::any_of(runs.begin(), last, is_winner);
  const auto own_timing = won_before ? 0 : std::min<std::ptrdiff_t>(2, runs.end() - last - 1);
  std::for_each(runs.begin(), last + own_timing, [](CudnnCall* call) { call->is_left_out = true; });
}

std::int64_t leave_out_timing_runs(std::vector<CudnnCall>& calls, bool tf32) {
  std::map<std::string, std::vector<CudnnCall*>> runs;  // by thread and convolution
  for (CudnnCall& call : calls) {
    if (!call.execution || call.is_left_out) continue;
    if (auto conv = convolution_of(*call.execution, tf32).first) {
      conv->engine.clear();
      runs[call.execution->thread + " " + Operation(*conv).text()].push_back(&call);
    }
  }
  const auto count_left_out = [&] {
    return std::count_if(calls.begin(), calls.end(), [](const CudnnCall& call) { return call.is_left_out; });
  };
  const std::int64_t before = count_left_out();
  for (auto& [problem, calls_of_it] : runs) leave_out_timing_runs(calls_of_it);
  return count_left_out() - before;
}

void add_calls(LogModel& model, const std::vector<CudnnCall>& calls, bool tf32) {
  std::int64_t without_engine = 0;
  for (const CudnnCall& call : calls) {
    if (call.is_left_out) continue;
    if (call.execution) {
      const auto [conv, reason] = convolution_of(*call.execution, tf32);
      if (conv) {
        model.add_call(Operation(*conv), call.function, call.line);
        without_engine += conv->engine.empty();
      } else {
        model.add_untimed(call.execution->name, reason);
      }
    } else if (call.legacy.operation) {
      model.add_call(*call.legacy.operation, call.function, call.line);
      without_engine += call.legacy.lacks_engine;
    } else {
      model.add_untimed(call.function, call.legacy.reason);
    }
  }
  if (without_engine > 0) {
    model.note(
        fmt::format("The engine of {} convolution{} is left to jitterscope's choice: the algorithms of "
                    "cudnnConvolutionForward and its like are not engines, nor are plans with unknown knobs.",
                    without_engine, without_engine == 1 ? "" : "s"));
  }
}

}  // namespace

Model import_cudnn_log(std::string_view text, std::string_view file_name) {
  LogModel model("cuDNN", file_name, kHowToRecordCudnn);
  CudnnLogReader reader(model);
  ApiRecordReader records(text, "cuDNN");
  while (const std::optional<ApiRecord> record = records.next()) reader.read(*record);
  std::vector<CudnnCall>& calls = reader.calls();
  const bool tf32 = std::any_of(calls.begin(), calls.end(), [](const CudnnCall& call) {
    return is_fp32(call) && call.execution->tensor_cores && call.execution->may_use_tf32;
  });
  if (const std::int64_t runs = leave_out_timing_runs(calls, tf32); runs > 0) {
    model.note(fmt::format(
        "{} executions that timed engines (torch.backends.cudnn.benchmark) are not counted.", runs));
  }
  add_calls(model, calls, tf32);
  if (std::any_of(calls.begin(), calls.end(), is_fp32)) model.note(precision_note(tf32));
  model.set_cudnn(reader.version());
  model.set_device(reader.device());
  return std::move(model).finish("no execution of cuDNN");
}

}  // namespace jitterscope

namespace jitterscope::library_log {
namespace {

// The names of cudnnBackendKnobType_t in cuDNN 9.19, by value from 0. Plan tags hold the values.
// clang-format off
constexpr std::string_view kKnobs[] = {
    "SPLIT_K", "SWIZZLE", "TILE_SIZE", "USE_TEX", "EDGE", "KBLOCK", "LDGA", "LDGB", "CHUNK_K", "SPLIT_H",
    "WINO_TILE", "MULTIPLY", "SPLIT_K_BUF", "TILEK", "STAGES", "REDUCTION_MODE", "CTA_SPLIT_K_MODE",
    "SPLIT_K_SLC", "IDX_MODE", "SLICED", "SPLIT_RS", "SINGLEBUFFER", "LDGC", "SPECFILT", "KERNEL_CFG",
    "WORKSPACE", "TILE_CGA", "TILE_CGA_M", "TILE_CGA_N", "BLOCK_SIZE", "OCCUPANCY", "ARRAY_SIZE_PER_THREAD",
    "NUM_C_PER_BLOCK", "SPLIT_COLS", "TILE_ROWS", "TILE_COLS", "LOAD_SIZE", "CTA_COUNT", "STREAM_K",
    "SPLIT_P_SLC", "TILE_M", "TILE_N", "WARP_SPEC_CFG", "SWAP_AB"};
// clang-format on

// Returns CONVOLUTION_FORWARD for CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR.
std::string_view operation_name(const ApiFields& operation) {
  std::string_view name = operation.type();
  consume(name, "CUDNN_BACKEND_OPERATION_");
  constexpr std::string_view kSuffix = "_DESCRIPTOR";
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return name;
}

// Reads a filter descriptor, which has a format in place of strides in the older API.
LoggedTensor read_filter(const ApiFields& descriptor) {
  LoggedTensor filter = read_tensor(descriptor);
  const bool is_possible = std::ranges::all_of(filter.dimensions, [](std::int64_t size) { return size > 0; });
  if (filter.dimensions.size() == 4 && filter.strides.empty() && is_possible) {
    const bool is_nhwc = descriptor.word("format", "CUDNN_TENSOR_") == "NHWC";
    filter.strides = dense_strides(filter.dimensions, is_nhwc ? Layout::nhwc : Layout::nchw);
  }
  return filter;
}

// Reads a convolution of the graph API or the older one. nullopt if a descriptor is missing.
std::optional<LoggedConvolution> read_convolution(const ApiFields& call, const ConvolutionWords& words) {
  const auto descriptor = [&](std::string_view operand) { return call.find(fmt::format("{}Desc", operand)); };
  const auto x = descriptor(words.x), y = descriptor(words.y), w = descriptor(words.w);
  const auto numbers = call.find("convDesc");
  if (!x || !y || !w || !numbers) return std::nullopt;
  const auto list = [&](std::string_view name, std::string_view older) {
    const std::optional<ApiFields> found = numbers->find(name), older_one = numbers->find(older);
    if (!found && !older_one) return std::vector<std::int64_t>();
    return (found ? found : older_one)->numbers();
  };
  LoggedConvolution result{.direction = words.direction,
                           .x = read_tensor(*x),
                           .y = read_tensor(*y),
                           .w = read_filter(*w),
                           .pad_before = list("lowerPadA", "padA"),
                           .pad_after = list("upperPadA", "padA"),
                           .stride = list("strideA", ""),
                           .dilation = list("dilationA", ""),
                           .mode = numbers->word("mode", "CUDNN_"),
                           .alpha = real_number(call.word("alpha")).value_or(1.0),
                           .beta = real_number(call.word("beta")).value_or(0.0)};
  const bool is_whole = !result.x.dimensions.empty() && !result.y.dimensions.empty() &&
                        !result.w.dimensions.empty() && !result.mode.empty();
  return is_whole ? std::optional(std::move(result)) : std::nullopt;
}

// Returns the tag as cudnn-frontend makes it: ConvFwd_eng38_k2=1_k13=0. Empty if a knob is unknown.
std::string plan_tag(const ApiFields& engine, std::string_view prefix) {
  const std::optional<ApiFields> id = engine.find("engine_id");
  if (!id || !id->number()) return {};
  std::string tag = fmt::format("{}_eng{}", prefix, *id->number());
  const std::optional<ApiFields> knobs = engine.find("knobDesc");
  if (!knobs) return tag;
  for (const ApiFields& knob : knobs->all()) {
    std::string_view name = knob.name();
    consume(name, "CUDNN_KNOB_TYPE_");
    const auto* const known = std::ranges::find(kKnobs, name);
    if (known == std::end(kKnobs) || !knob.number()) return {};
    tag += fmt::format("_k{}={}", known - std::begin(kKnobs), *knob.number());
  }
  return is_engine(tag) ? tag : std::string();
}

bool has_tensor_cores(const ApiFields& engine) {
  const std::optional<ApiFields> notes = engine.find("numericalNotes");
  if (!notes) return false;
  const std::optional<ApiFields> note = notes->find("CUDNN_NUMERICAL_NOTE_TENSOR_CORE");
  return note && note->value() == "true";
}

std::optional<ApiFields> engine_in(const ApiRecord& record) {
  std::optional<ApiFields> at = record.arguments();
  for (const std::string_view name : {"executionPlan", "engcfg", "engine"}) {
    at = at->find(name);
    if (!at) return std::nullopt;
  }
  return at;
}

}  // namespace

namespace {

// The fields of a call's words: `name=value` or `name=[1,2]`, apart by spaces.
std::map<std::string_view, std::string_view> fields_of_words(std::string_view words) {
  std::map<std::string_view, std::string_view> fields;
  while (!words.empty()) {
    const std::string_view word = until(words, " ");
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) fields.try_emplace(word.substr(0, equals), word.substr(equals + 1));
  }
  return fields;
}

}  // namespace

Operation convolution_of_words(std::string_view words, std::string_view engine) {
  const std::string_view name = until(words, " ");
  if (name.find('+') != std::string_view::npos)
    throw UsageError("operations that cuDNN fuses into one graph are not timed");
  const ConvolutionWords* known = find_convolution(&ConvolutionWords::operation, name);
  if (known == nullptr) throw UsageError("of cuDNN's graphs only convolutions are timed");
  const auto fields = fields_of_words(words);
  const auto field = [&](const std::string& key) {
    const auto found = fields.find(key);
    return found == fields.end() ? std::string_view() : found->second;
  };
  const auto numbers = [&](const std::string& key) {
    return number_list(field(key)).value_or(std::vector<std::int64_t>());
  };
  const auto tensor = [&](std::string_view operand) {
    const std::string beginning(operand);
    return LoggedTensor{numbers(beginning + "_dims"), numbers(beginning + "_strides"),
                        quotable(field(beginning + "_type"))};
  };
  LoggedConvolution convolution{.direction = known->direction,
                                .x = tensor(known->x),
                                .y = tensor(known->y),
                                .w = tensor(known->w),
                                .pad_before = numbers("pre"),
                                .pad_after = numbers("post"),
                                .stride = numbers("stride"),
                                .dilation = numbers("dilation"),
                                .mode = quotable(field("mode")),
                                .alpha = real_number(field("alpha")).value_or(1.0),
                                .beta = real_number(field("beta")).value_or(0.0)};
  if (convolution.y.dimensions.empty()) throw UsageError("its record lacks the shape of its output");
  // The engine that ran tells whether fp32 was rounded.
  Conv2d conv = conv2d_of(convolution, field("tensor_cores") == "1");
  if (is_engine(engine)) conv.engine = engine;
  return Operation(conv);
}

LoggedTensor read_tensor(const ApiFields& descriptor) {
  LoggedTensor result;
  for (const ApiFields& field : descriptor.all()) {
    if (field.name() == "dimA") result.dimensions = field.numbers();
    if (field.name() == "strideA") result.strides = field.numbers();
    if (field.name() == "type" || field.name() == "dataType") {
      std::string_view type = field.value();
      consume(type, "CUDNN_DATA_");
      result.type = quotable(type);
    }
  }
  return result;
}

std::optional<CudnnExecution> read_execution(const ApiRecord& record) {
  const std::optional<ApiFields> engine = engine_in(record);
  const std::optional<ApiFields> graph = engine ? engine->find("opGraph") : std::nullopt;
  const std::vector<ApiFields> operations = graph ? graph->find_all("operation") : std::vector<ApiFields>();
  if (operations.empty()) return std::nullopt;
  CudnnExecution result{.line = record.line,
                        .thread = std::string(record.thread()),
                        .name = {},
                        .reason = {},
                        .convolution = {},
                        .engine = {}};
  for (const ApiFields& operation : operations) {
    result.name += fmt::format("{}{}", result.name.empty() ? "" : "+", quotable(operation_name(operation)));
  }
  const ConvolutionWords* known = find_convolution(&ConvolutionWords::operation, result.name);
  if (operations.size() > 1) {
    result.reason = "operations that cuDNN fuses into one graph are not timed";
  } else if (known == nullptr) {
    result.reason = "of cuDNN's graphs only convolutions are timed";
  } else {
    result.convolution = read_convolution(operations.front(), *known);
    if (!result.convolution) return std::nullopt;
    result.engine = plan_tag(*engine, engine_prefix(known->direction));
    result.tensor_cores = has_tensor_cores(*engine);
  }
  return result;
}

std::string cudnn_version(std::string_view text) {
  const std::int64_t number = whole_number(text).value_or(0);
  if (number <= 0) return {};
  // Since version 9 the major version is followed by four digits, before by three.
  const std::int64_t major_unit = number >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", number / major_unit, number % major_unit / 100, number % 100);
}

namespace {

// PyTorch sets CUDNN_FMA_MATH if fp32 may not become TF32.
bool may_use_tf32(const ApiFields& call) {
  const std::optional<ApiFields> numbers = call.find("convDesc");
  return numbers && numbers->word("mathType", "CUDNN_") != "FMA_MATH";
}

std::optional<Pass> normalization_pass(std::string_view function) {
  if (!consume(function, "cudnnBatchNormalization")) return std::nullopt;
  if (function.starts_with("ForwardTraining")) return Pass::forward;
  if (function.starts_with("Backward")) return Pass::backward;
  return Pass::inference;
}

// Returns nullopt if the record is damaged. Throws UsageError that says why batch_norm cannot represent it.
std::optional<BatchNorm> read_normalization(const ApiFields& call, Pass pass) {
  const std::optional<ApiFields> descriptor = call.find("xDesc");
  if (!descriptor) return std::nullopt;
  const LoggedTensor x = read_tensor(*descriptor);
  if (x.dimensions.size() != x.strides.size() || x.dimensions.empty()) return std::nullopt;
  const std::string mode = call.word("mode", "CUDNN_BATCHNORM_");
  if (mode.empty()) return std::nullopt;
  if (!mode.starts_with("SPATIAL")) throw UsageError("it normalizes each activation, not each channel");
  const std::string fused = call.word("bnOps", "CUDNN_BATCHNORM_OPS_");
  if (!fused.empty() && fused != "BN") throw UsageError("it is fused with an activation, which is not timed");
  if (x.dimensions.size() != 4) {
    throw UsageError(fmt::format("its x has {} dimensions, and that of batch_norm 4", x.dimensions.size()));
  }
  const std::optional<DataType> dtype = data_type_of(x.type, false);
  if (!dtype) throw UsageError(fmt::format("its x is of {}, which batch_norm is not", x.type));
  BatchNorm norm{.n = x.dimensions[0],
                 .c = x.dimensions[1],
                 .h = x.dimensions[2],
                 .w = x.dimensions[3],
                 .dtype = *dtype,
                 .layout = Layout::nchw,
                 .pass = pass};
  const Operation checked(norm);  // checks the sizes before strides are computed
  const std::optional<Layout> layout = layout_of({&x});
  if (!layout) throw UsageError("the strides of its x are those of neither nchw nor nhwc");
  norm.layout = *layout;
  return norm;
}

}  // namespace

bool is_legacy_call(const ApiRecord& record) {
  // clang-format off
  constexpr std::string_view kNames[] = {
      "cudnnConvolutionForward", "cudnnConvolutionBackwardData", "cudnnConvolutionBackwardFilter",
      "cudnnConvolutionBackwardBias", "cudnnConvolutionBiasActivationForward",
      "cudnnBatchNormalizationForwardTraining", "cudnnBatchNormalizationForwardTrainingEx",
      "cudnnBatchNormalizationForwardInference", "cudnnBatchNormalizationBackward",
      "cudnnBatchNormalizationBackwardEx", "cudnnActivationForward", "cudnnActivationBackward",
      "cudnnPoolingForward", "cudnnPoolingBackward", "cudnnSoftmaxForward", "cudnnSoftmaxBackward",
      "cudnnDropoutForward", "cudnnDropoutBackward", "cudnnLRNCrossChannelForward",
      "cudnnLRNCrossChannelBackward", "cudnnRNNForward", "cudnnRNNBackwardData_v8",
      "cudnnRNNBackwardWeights_v8", "cudnnCTCLoss_v8", "cudnnMultiHeadAttnForward", "cudnnAddTensor",
      "cudnnOpTensor", "cudnnReduceTensor", "cudnnTransformTensor", "cudnnSetTensor"};
  // clang-format on
  // A second record of the same call has only its status.
  return std::ranges::find(kNames, record.function) != std::end(kNames) && !record.arguments().find("status");
}

std::optional<LegacyCall> read_legacy_call(const ApiRecord& record) {
  LegacyCall result{.operation = {}, .reason = {}};
  const ConvolutionWords* known = find_convolution(&ConvolutionWords::function, record.function);
  const std::optional<Pass> pass = normalization_pass(record.function);
  try {
    if (pass) {
      const std::optional<BatchNorm> norm = read_normalization(record.arguments(), *pass);
      if (!norm) return std::nullopt;
      result.operation = Operation(*norm);
      return result;
    }
    if (known == nullptr)
      throw UsageError("of cuDNN's functions only convolution and batch normalization are timed");
    const std::optional<LoggedConvolution> convolution = read_convolution(record.arguments(), *known);
    if (!convolution) return std::nullopt;
    result.operation = Operation(conv2d_of(*convolution, may_use_tf32(record.arguments())));
    result.lacks_engine = true;
  } catch (const UsageError& why) {
    result.reason = why.what();
  }
  return result;
}

}  // namespace jitterscope::library_log
