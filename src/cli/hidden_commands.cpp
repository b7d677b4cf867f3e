#include "cli/hidden_commands.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cli/measure_flags.hpp"
#include "device/cuda/clock_lock.hpp"
#include "device/device_name.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cli {
namespace {

constexpr std::string_view kTraceArgument = "__trace";

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
  if (name == kTraceArgument && argc == 7) return print_trace(argv + 2);
  return std::nullopt;
}

TracedTimes traced_times(const std::string& device_id, const Operation& operation,
                         const MethodsRequest& request, const std::string& executable) {
  if (names_virtual_device(device_id)) {
    // Another instance of the same GPU: in virtual time nothing disturbs this process.
    const std::unique_ptr<Device> device = open_device(device_id, request.options.seed);
    return {trace_operation(*device, operation, request.options, request.repetitions), ""};
  }
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
