#include "pytorch/recording.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/subprocess.hpp"
#include "import/import.hpp"
#include "jitterscope/error.hpp"
#include "pytorch/training_script.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

// Gone with its content when the recording has been read.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (fs::temp_directory_path() / "jitterscope-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      throw FailedError("no temporary folder could be made in " + fs::temp_directory_path().string());
    }
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code ignored;
    const fs::path file = fs::path(folder) / name;
    if (!folder.empty() && fs::exists(file, ignored)) return file.string();
  }
  throw MissingError(fmt::format("{} is not on PATH; name the Python that has PyTorch with --python", name));
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

std::string last_line(const std::string& text) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

std::string version_text(std::int64_t cudnn) {
  return cudnn == 0 ? "" : fmt::format("{}.{}.{}", cudnn / 10000, cudnn / 100 % 100, cudnn % 100);
}

}  // namespace

PytorchRecording read_recording(const std::string& trace, const std::string& log) {
  PytorchRecording recording;
  recording.trace = import_file(trace, {});
  std::error_code ignored;
  if (!log.empty() && fs::exists(log, ignored) && fs::file_size(log, ignored) > 0) {
    recording.plans = import_file(log, {});
  }
  return recording;
}

PytorchRecording record_training(const RecordingRequest& request) {
  const TemporaryFolder folder;
  const fs::path script = folder.path() / "record_training.py";
  std::ofstream(script) << training_script();
  const SubprocessOutcome outcome =
      run_subprocess(command_line(request, script, folder.path()), {.interrupted = request.interrupted});
  if (outcome.exit_code != 0) {
    throw MissingError(fmt::format("PyTorch could not run {}: {}", request.model, last_line(outcome.errors)));
  }
  PytorchRecording recording =
      read_recording((folder.path() / "trace.json").string(), (folder.path() / "frontend.log").string());
  std::ifstream file(folder.path() / "facts.json");
  const nlohmann::json facts = nlohmann::json::parse(file);
  recording.torch = facts.at("torch").get<std::string>();
  recording.cudnn = version_text(facts.at("cudnn").get<std::int64_t>());
  recording.steps = facts.at("steps").get<std::int64_t>();
  return recording;
}

}  // namespace jitterscope
