#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/invocation.hpp"
#include "cli/measure_flags.hpp"
#include "cli/output_flags.hpp"
#include "commands/records.hpp"
#include "commands/verify_pytorch/record.hpp"
#include "measure/machine.hpp"
#include "measure/trials.hpp"
#include "output/output_file.hpp"
#include "output/progress.hpp"

namespace jitterscope::cli {
namespace {

struct VerifyFlags {
  RecordFlags record;
  std::string model, device = "cuda", python = "python3", trace, log;
};

constexpr const char* kVerifyPytorchExamples = R"(Examples:
  jitterscope verify-pytorch resnet18
  jitterscope verify-pytorch resnet50:batch=64,dtype=f16,layout=nhwc --json verify.json
  jitterscope verify-pytorch resnet18 --html verify.html
  jitterscope verify-pytorch bert-base:dtype=bf16 --python ~/venv/bin/python3
  jitterscope verify-pytorch my-network --trace trace.json --log frontend.log

To record a network of your own, run it with CUDNN_FRONTEND_LOG_INFO=1 CUDNN_FRONTEND_LOG_FILE=frontend.log,
within torch.profiler.profile(record_shapes=True), and write export_chrome_trace("trace.json").

Exit codes: 0 the same engines and kernels, 1 an engine or a kernel differs, 2 usage, 3 device, library or PyTorch
missing, or nothing to compare, 5 a layer or PyTorch failed, 130 interrupted.)";

class VerifyCommand {
 public:
  VerifyCommand(const VerifyFlags& flags, Invocation& invocation) : flags_(flags), invocation_(invocation) {}

  void run() {
    if (!flags_.log.empty() && flags_.trace.empty()) {
      throw UsageError("--log needs --trace: the trace has the layers, the log their plans");
    }
    // Refuses a model that cannot be trained before opening a device and starting Python.
    const std::optional<RecordingRequest> request =
        flags_.trace.empty() ? std::optional(recording_request(flags_.model)) : std::nullopt;
    RecordFiles files(flags_.record);
    const std::unique_ptr<Device> device = open_device(flags_.device);
    record_.device = device->describe();
    record_.environment = read_environment(invocation_.command_line);
    ProgressLine line(stderr, [&] { return device->host_time(); });
    if (request) line.show("PyTorch trains " + flags_.model, {1, 1});
    const PytorchRecording recording = request ? train(*request) : read_recording(flags_.trace, flags_.log);
    compare(*device, recording, line);
    line.clear();
    files.write(record_);
    invocation_.exit_code = exit_code();
    const std::string reason = record_.comparison.nothing_compared();
    if (invocation_.exit_code == ExitCode::check_failed && !reason.empty()) throw MissingError(reason);
  }

 private:
  PytorchRecording train(RecordingRequest request) const {
    request.python = flags_.python;
    request.device = record_.device.capabilities.pytorch_device;
    request.interrupted = is_interrupted;
    return record_training(request);
  }

  void compare(Device& device, const PytorchRecording& recording, ProgressLine& line) {
    PytorchComparison& comparison = record_.comparison;
    comparison.model = flags_.model;
    comparison.torch = recording.torch;
    comparison.cudnn = recording.cudnn;
    comparison.recorded_gpu_time = recording.trace.recorded_gpu_time;
    comparison.without_plans = recording.without_plans;
    comparison.not_compared = other_operators(recording);
    Session session(device);
    const std::vector<ReferenceLayer> references = reference_layers(recording);
    if (references.empty()) {
      throw UsageError(
          "the recording holds no convolution, product, batch normalization or attention of cuDNN's to "
          "compare");
    }
    std::vector<Operation> operations;
    for (const ReferenceLayer& reference : references) operations.push_back(reference.operation);
    measure_in_turn(
        session, trials_of(operations, options_here()), false,
        [&](std::size_t number) {
          line.show(operations[number].text(), {number + 1, operations.size()});
          return !is_interrupted();
        },
        [&](std::size_t first, std::vector<Outcome> outcomes) {
          for (std::size_t i = 0; i < outcomes.size(); ++i) {
            Result here = result_of(outcomes[i], operations[first + i]);
            if (is_interrupted() && here.failure.empty() && here.kernels.empty()) return;
            comparison.layers.push_back(compare_layer(references[first + i], std::move(here)));
          }
        });
    comparison.interrupted = is_interrupted();
  }

  static MeasureOptions options_here() {
    MeasureOptions options;
    options.caches = {CacheState::warm};
    options.loads = {Load::burst};
    options.time_limit = milliseconds(200);
    options.kernels = true;
    options.interrupted = is_interrupted;
    return options;
  }

  static Result result_of(Outcome& outcome, const Operation& operation) {
    Result result = std::move(outcome.result);
    result.subject = operation;
    if (outcome.error) {
      result.failure = outcome.error->what();
    } else if (result.without_kernels) {
      result.failure = result.without_kernels->reason;  // nothing to compare
    }
    return result;
  }

  ExitCode exit_code() const {
    if (record_.comparison.interrupted) return ExitCode::interrupted;
    if (record_.comparison.has_failure()) return ExitCode::failed;
    return record_.comparison.is_equal() ? ExitCode::done : ExitCode::check_failed;
  }

  const VerifyFlags& flags_;
  Invocation& invocation_;
  PytorchRecord record_;
};

}  // namespace

void add_verify_pytorch_command(CLI::App& app, Invocation& invocation) {
  const auto [command, flags] = declare_command<VerifyFlags>(
      app, "verify-pytorch", "check that a network runs here as in PyTorch: engines, kernels and times",
      kVerifyPytorchExamples,
      [&](const VerifyFlags& typed, const CLI::App&) { VerifyCommand(typed, invocation).run(); });
  command.add_option("model", flags.model, "a network with its options, as resnet50:batch=64,dtype=f16")
      ->required();
  command.add_option("--device", flags.device, kDeviceHelp)->capture_default_str();
  command.add_option("--python", flags.python, "Python interpreter that has PyTorch")->capture_default_str();
  command.add_option("--trace", flags.trace, "compare with this profiler trace instead of running PyTorch");
  command.add_option("--log", flags.log, "cudnn-frontend log of the same run");
  flags.record.add_to(command);
}

}  // namespace jitterscope::cli
