#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "import/cudnn_execution.hpp"
#include "import/cudnn_legacy.hpp"
#include "import/library_logs.hpp"
#include "import/log_model.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using namespace library_log;

constexpr std::string_view kHowToRecordCudnn =
    "CUDNN_LOGLEVEL_DBG=3 CUDNN_LOGDEST_DBG=log.txt before the program";

/// One call, before it is known which of the executions were there to time engines.
struct CudnnCall {
  std::int64_t line = 0;
  std::string function;
  std::optional<CudnnExecution> execution;  ///< of a plan
  LegacyCall legacy;                        ///< else
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
  std::map<std::string, std::size_t> last_of_thread_;  // its last execution
  std::string version_, device_;
};

bool is_fp32(const CudnnCall& call) {
  return call.execution && call.execution->convolution && call.execution->convolution->x.type == "FLOAT";
}

/// The operation of an execution, or why there is none.
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

// With torch.backends.cudnn.benchmark PyTorch runs each engine twice, once to warm up and once to time it,
// and then the one that won.
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
  std::map<std::string, std::vector<CudnnCall*>> runs;  // by thread and problem
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
                    "cudnnConvolutionForward and its like are no engines, nor are plans with unknown knobs.",
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
