#include "cli/hidden_commands.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "cli/measure_flags.hpp"
#include "device/cuda/clock_lock.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/version.hpp"

namespace jitterscope::cli {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kReferenceArgument = "__calibration-reference";
constexpr std::string_view kTraceArgument = "__trace";

std::string reference_text(const std::vector<ReferenceTime>& reference) {
  nlohmann::json list = nlohmann::json::array();
  for (const ReferenceTime& entry : reference) {
    list.push_back({{"operation", entry.operation}, {"time_ns", entry.time.value()}});
  }
  return list.dump();
}

// Empty where the text is no list of times: a cache file cut in half is as good as none.
std::vector<ReferenceTime> parse_reference(std::string_view text) {
  std::vector<ReferenceTime> reference;
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array()) return {};
  for (const nlohmann::json& entry : list) {
    if (!entry.is_object() || !entry.contains("operation") || !entry.contains("time_ns")) return {};
    if (!entry["operation"].is_string() || !entry["time_ns"].is_number()) return {};
    reference.push_back({entry["operation"].get<std::string>(), Nanoseconds(entry["time_ns"].get<double>())});
  }
  return reference;
}

int print_reference(const std::string& device_name) {
  const std::unique_ptr<Device> device = open_device(device_name);
  fmt::print("{}\n", reference_text(trace_calibration_operations(*device)));
  return 0;
}

// OPERATION DEVICE DATA SEED REPETITIONS: an array of times in nanoseconds.
int print_trace(char** arguments) {
  MeasureFlags flags;
  flags.data = arguments[2];
  flags.seed = std::strtoull(arguments[3], nullptr, 10);
  const std::unique_ptr<Device> device = open_device(arguments[1]);
  nlohmann::json list = nlohmann::json::array();
  for (const Nanoseconds time : trace_operation(*device, Operation::parse(arguments[0]), flags.options(),
                                                std::strtoll(arguments[4], nullptr, 10))) {
    list.push_back(time.value());
  }
  fmt::print("{}\n", list.dump());
  return 0;
}

// $XDG_CACHE_HOME/jitterscope or ~/.cache/jitterscope; nothing where neither is set.
std::optional<fs::path> cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != '\0') {
    return fs::path(cache) / "jitterscope";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') {
    return fs::path(home) / ".cache" / "jitterscope";
  }
  return std::nullopt;
}

// What the times depend on: this GPU, its driver, and how this version of the tool reads them.
std::string cache_file_name(const DeviceDescription& device) {
  std::string driver = "unknown";
  for (const Property& property : device.properties) {
    if (property.key == "driver_version") driver = property.value;
  }
  return fmt::format("calibration-{}-{}-{}.json", device.uuid, driver, version());
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Best effort: without a cache the next run asks again.
void write_cache(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  const fs::path partial = file.string() + fmt::format(".{}.partial", getpid());
  std::ofstream stream(partial);
  stream << text;
  stream.close();
  if (stream) fs::rename(partial, file, error);
  fs::remove(partial, error);
}

// Standard output of a second jitterscope; its messages go nowhere but to `problem`.
std::string ask_second_process(const std::string& executable, const std::string& arguments,
                               std::string* problem) {
  const std::string command = fmt::format("'{}' {} 2>&1", executable, arguments);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::string text;
  std::array<char, 4096> buffer{};
  while (pipe && std::fgets(buffer.data(), buffer.size(), pipe.get()) != nullptr) text += buffer.data();
  if (text.starts_with("[")) return text;
  constexpr std::string_view kSpeaker = "jitterscope: ";
  if (text.starts_with(kSpeaker)) text.erase(0, kSpeaker.size());
  *problem =
      text.empty() ? "the process that was to ask it could not be started" : text.substr(0, text.find('\n'));
  return {};
}

}  // namespace

std::optional<int> run_hidden_command(int argc, char** argv) {
  if (argc < 2) return std::nullopt;
  const std::string_view name = argv[1];
  if (name == cuda::kGuardianArgument && argc == 4)
    return cuda::run_clock_guardian(argv[2], std::atoi(argv[3]));
  if (name == kReferenceArgument && argc == 3) return print_reference(argv[2]);
  if (name == kTraceArgument && argc == 7) return print_trace(argv + 2);
  return std::nullopt;
}

std::vector<ReferenceTime> calibration_reference(Device& device, const std::string& executable,
                                                 std::string* problem) {
  const DeviceDescription description = device.describe();
  if (!description.id.starts_with("cuda")) return {};
  const auto folder = cache_folder();
  const std::string name = cache_file_name(description);
  if (folder) {
    std::vector<ReferenceTime> cached = parse_reference(read_file(*folder / name));
    if (!cached.empty()) return cached;
  }
  const std::string text =
      ask_second_process(executable, fmt::format("{} {}", kReferenceArgument, description.id), problem);
  std::vector<ReferenceTime> reference = parse_reference(text);
  if (folder && !reference.empty()) write_cache(*folder / name, text);
  return reference;
}

TracedTimes traced_times(const std::string& device_id, const Operation& operation,
                         const MethodsRequest& request, const std::string& executable) {
  if (!device_id.starts_with("cuda")) return {{}, "CUPTI sees GPUs only, and this is none"};
  const std::string arguments =
      fmt::format("{} '{}' {} {} {} {}", kTraceArgument, operation.text(), device_id,
                  to_string(request.options.data), request.options.seed, request.repetitions);
  TracedTimes traced;
  const std::string text = ask_second_process(executable, arguments, &traced.problem);
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_array()) return traced;
  for (const nlohmann::json& time : list) {
    if (time.is_number()) traced.times.emplace_back(time.get<double>());
  }
  return traced;
}

}  // namespace jitterscope::cli
