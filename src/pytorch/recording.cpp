#include "pytorch/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.hpp"
#include "base/names.hpp"
#include "base/subprocess.hpp"
#include "import/import.hpp"
#include "jitterscope/error.hpp"
#include "model/named_models.hpp"
#include "pytorch/training_script.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    const fs::path file = fs::path(folder) / name;
    if (!folder.empty() && fs::exists(file, ignored)) return file.string();
  }
  throw MissingError(
      fmt::format("{} is not on PATH; name Python interpreter that has PyTorch with --python", name));
}

std::vector<std::string> command_line(const RecordingRequest& request, const fs::path& script,
                                      const fs::path& folder) {
  std::vector<std::string> arguments = {find_program(request.python),
                                        script.string(),
                                        "--model",
                                        request.model,
                                        "--output",
                                        folder.string(),
                                        "--device",
                                        request.device};
  const auto add = [&](const char* flag, const std::string& value) {
    arguments.emplace_back(flag);
    arguments.push_back(value);
  };
  const ModelOptions& options = request.options;
  if (options.batch) add("--batch", std::to_string(*options.batch));
  if (options.dtype) add("--dtype", std::string(to_string(*options.dtype)));
  if (options.layout) add("--layout", std::string(to_string(*options.layout)));
  return arguments;
}

void require_known_model(const std::string& name) {
  std::vector<std::string> known;
  for (const ModelDescription& model : named_models()) known.push_back(model.name);
  if (std::ranges::find(known, name) != known.end()) return;
  throw UsageError(fmt::format("PyTorch's side has no network '{}'{}; compare your own with --trace", name,
                               suggestion(name, known)));
}

// Throws UsageError for options of jitterscope's networks that the script does not have.
void require_known_options(const std::string& name, const ModelOptions& options) {
  const std::vector<std::string> known = {"batch", "dtype", "layout"};
  if (!options.axes.empty()) {
    const std::string& option = options.axes.begin()->first;
    throw UsageError(
        fmt::format("{}: PyTorch's side has no option '{}'{}", name, option, suggestion(option, known)));
  }
  if (options.direction) {
    throw UsageError(
        fmt::format("{}: PyTorch's side trains, forward and backward; leave direction= out", name));
  }
  if (options.dtype == DataType::f64) {
    throw UsageError(fmt::format("{}: PyTorch's side trains in f32, tf32, f16 or bf16, not in f64", name));
  }
}

constexpr int kUsageStatus = 2;  // exit status of record_training.py and of Python's argparse

void require_success(const SubprocessOutcome& outcome, const std::string& model) {
  if (outcome.exit_code == 0) return;
  if (outcome.signal != 0) {
    throw FailedError(
        fmt::format("signal {} ({}) ended the Python that trained {}; a smaller batch= needs less memory",
                    outcome.signal, strsignal(outcome.signal), model));
  }
  std::string reason = last_line(outcome.errors);
  if (reason.empty()) reason = fmt::format("it ended with exit code {}", outcome.exit_code);
  const std::string sentence = fmt::format("PyTorch could not run {}: {}", model, reason);
  if (outcome.exit_code == kUsageStatus) throw UsageError(sentence);
  throw MissingError(sentence);
}

std::string version_text(std::int64_t cudnn) {
  return cudnn == 0 ? "" : fmt::format("{}.{}.{}", cudnn / 10000, cudnn / 100 % 100, cudnn % 100);
}

}  // namespace

RecordingRequest recording_request(std::string_view target) {
  RecordingRequest request;
  const std::size_t colon = target.find(':');
  request.model = target.substr(0, colon);
  require_known_model(request.model);
  if (colon != std::string_view::npos) {
    request.options = parse_model_options(target.substr(colon + 1), request.model);
  }
  require_known_options(request.model, request.options);
  return request;
}

PytorchRecording read_recording(const std::string& trace, const std::string& log) {
  PytorchRecording recording;
  recording.trace = import_file(trace, {});
  if (log.empty()) return recording;
  if (!fs::exists(log)) throw UsageError(log + " is not there");
  try {
    recording.plans = import_file(log, {});
  } catch (const UsageError& error) {
    recording.without_plans = error.what();
  }
  return recording;
}

PytorchRecording record_training(const RecordingRequest& request) {
  const TemporaryFolder folder;
  for (const PythonFile& file : training_script()) std::ofstream(folder.path() / file.name) << file.text;
  const fs::path script = folder.path() / training_script().front().name;
  const SubprocessOutcome outcome =
      run_subprocess(command_line(request, script, folder.path()), {.interrupted = request.interrupted});
  require_success(outcome, request.model);
  // If cuDNN was not called, there is no log.
  const fs::path log = folder.path() / "frontend.log";
  PytorchRecording recording =
      read_recording((folder.path() / "trace.json").string(), fs::exists(log) ? log.string() : "");
  if (!recording.without_plans.empty()) {
    recording.without_plans = "cudnn-frontend's log of the training names no convolution's plan";
  }
  std::ifstream file(folder.path() / "facts.json");
  const nlohmann::json facts = nlohmann::json::parse(file);
  recording.torch = facts.at("torch").get<std::string>();
  recording.cudnn = version_text(facts.at("cudnn").get<std::int64_t>());
  recording.steps = facts.at("steps").get<std::int64_t>();
  return recording;
}

}  // namespace jitterscope
