#include "capture/watch.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <memory>
#include <utility>

#include <elf.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.hpp"
#include "base/host.hpp"
#include "capture/sampler.hpp"
#include "device/cuda/nvml.hpp"

namespace jitterscope::capture {
namespace {

namespace fs = std::filesystem;

constexpr const char *kRecorderFile = "libjitterscope_recorder.so",
                     *kNamesOfCallsFile = "libjitterscope_calls.so";
constexpr const char* kRecorderVariable = "JITTERSCOPE_RECORDER";
// The driver and NVTX open one library each at a program's first use of them.
constexpr std::array kInjections = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};
constexpr const char* kPreload = "LD_PRELOAD";
constexpr int kMostFolders = 10'000;

std::string value_of(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? std::string() : value;
}

std::int64_t realtime_now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void refuse_other_tools(const fs::path& recorder) {
  if (const std::string outer = value_of(kFolderVariable); !outer.empty()) {
    throw UsageError("this runs within a capture already (" + outer +
                     "): capture the whole, or a part of it, not both");
  }
  for (const char* variable : kInjections) {
    const std::string other = value_of(variable);
    if (other.empty() || other == recorder.string()) continue;
    throw UsageError(
        fmt::format("{} names {}, and a program takes one tool at a time: unset it, or do without a capture",
                    variable, other));
  }
}

[[noreturn]] void cannot_make(const fs::path& folder, const std::string& reason) {
  throw FailedError(
      fmt::format("the folder {} cannot be made: {}; name another with -o", folder.string(), reason));
}

// Makes NAME.capture, or NAME-2.capture where that is taken, and so on.
fs::path make_named_folder(const std::string& program) {
  std::string name = fs::path(program).filename().string();
  if (name.empty() || name == "." || name == "..") name = "program";
  for (int number = 1; number < kMostFolders; ++number) {
    fs::path folder = number == 1 ? name + ".capture" : fmt::format("{}-{}.capture", name, number);
    if (::mkdir(folder.c_str(), 0777) == 0) return folder;
    if (errno != EEXIST) cannot_make(folder, std::strerror(errno));
  }
  cannot_make(name + ".capture", "there are too many already");
}

// Returns whether it was not there.
bool make_folder(const fs::path& folder) {
  std::error_code problem;
  const bool is_new = fs::create_directories(folder, problem);
  if (problem) cannot_make(folder, problem.message());
  const bool is_empty = fs::is_empty(folder, problem);
  if (problem) cannot_make(folder, problem.message());
  if (!is_empty) {
    throw UsageError(folder.string() +
                     " is not empty, and a capture is not mixed with other files: name a new folder");
  }
  return is_new;
}

CapturedGpu describe_gpu(const cuda::NvmlDevice& device) {
  return {device.uuid(), device.name(), device.power_limit(), device.maximum_clock(cuda::nvml::kSmClock),
          device.maximum_clock(cuda::nvml::kMemoryClock)};
}

// Finds a library that is put into other programs. `otherwise`: what else a user can do.
fs::path find_preloaded(const char* variable, const char* name, const std::string& what,
                        const std::string& otherwise) {
  fs::path last;
  for (const fs::path& file : own_library_files(variable, name)) {
    last = fs::absolute(file);
    std::error_code ignored;
    if (!fs::is_regular_file(last, ignored)) continue;
    if (last.string().find_first_of(" :") == std::string::npos) return last;
    throw MissingError(fmt::format(
        "{} is {}, and LD_PRELOAD cannot name a path with a blank or a colon: install jitterscope "
        "elsewhere, or {}",
        what, last.string(), otherwise));
  }
  throw MissingError(
      fmt::format("{} is not there ({}): install jitterscope whole, or {}", what, last.string(), otherwise));
}

// `preloaded`: the libraries as LD_PRELOAD names them.
std::vector<std::pair<std::string, std::string>> variables_for(const fs::path& recorder,
                                                               const std::string& preloaded,
                                                               const fs::path& folder,
                                                               const Settings& settings) {
  const std::string before = value_of(kPreload);
  std::vector<std::pair<std::string, std::string>> variables = {
      {kFolderVariable, folder.string()},
      {kSettingsVariable, to_text(settings)},
      {kPreload, preloaded + (before.empty() ? "" : ":" + before)}};
  for (const char* variable : kInjections) variables.emplace_back(variable, recorder.string());
  return variables;
}

bool has_rows(const fs::path& table) {
  StreamReader reader(table.string());
  return reader.next() && reader.rows() > 0;
}

template <class... Tables>
bool has_any(const fs::path& process_folder) {
  return (has_rows(process_folder / (std::string(Tables::kName) + ".arrows")) || ...);
}

// Removes what this process wrote into the folder, and then the folder, if it made that and nothing else is
// in it.
void remove_folder(const fs::path& folder, bool is_new) {
  std::error_code ignored;
  for (const char* file : {"capture.json", "sensors.arrows", "clocks.arrows"})
    fs::remove(folder / file, ignored);
  if (is_new) ::rmdir(folder.c_str());
}

void look_at_processes(Watched& watched) {
  for (const fs::path& folder : process_folders(watched.folder)) {
    try {
      watched.processes.push_back(read_process_info(folder));
    } catch (const UsageError&) {
      ProcessInfo& process = watched.processes.emplace_back();
      process.pid = process_of(folder);
      process.problem =
          "its process.json is not whole: the disk is full, or the process was ended as it began";
    }
    watched.has_work = watched.has_work || has_any<Kernels, GraphLaunches, Copies>(folder);
    watched.has_losses = watched.has_losses || has_any<Losses>(folder);
  }
}

}  // namespace

fs::path find_recorder() {
  return find_preloaded(kRecorderVariable, kRecorderFile, "the recorder",
                        fmt::format("name the recorder's file in {}", kRecorderVariable));
}

std::string why_out_of_reach(const std::string& program) {
  struct stat status {};
  if (::stat(program.c_str(), &status) != 0) return {};
  const bool changes_user = (status.st_mode & S_ISUID) != 0 && status.st_uid != ::geteuid();
  const bool changes_group = (status.st_mode & S_ISGID) != 0 && status.st_gid != ::getegid();
  if (changes_user || changes_group) return "runs with another user's rights";
  std::ifstream file(program, std::ios::binary);
  Elf64_Ehdr header{};
  const auto read = [&](auto& value) {
    return static_cast<bool>(file.read(reinterpret_cast<char*>(&value), sizeof value));
  };
  if (!read(header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return {};
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return "is a 32-bit program";
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    file.seekg(static_cast<std::streamoff>(header.e_phoff + std::uint64_t{i} * header.e_phentsize));
    if (!read(part)) return {};
    if (part.p_type == PT_INTERP) return {};
  }
  return "is linked statically";
}

Watched watch(const WatchRequest& request) {
  const fs::path recorder = find_recorder();
  refuse_other_tools(recorder);
  std::string preloaded = recorder.string();
  if (request.settings.calls) {
    const fs::path names =
        find_preloaded(nullptr, kNamesOfCallsFile, "what --calls needs", "leave --calls out");
    preloaded = names.string() + ":" + preloaded;
  }
  // Before NVML: were a thread of its own not to hold signals back, they would end this process.
  AttachedProcess process(request.ignored_signals);
  Watched watched;
  CaptureInfo& info = watched.info;
  info.command = request.command;
  info.settings = request.settings;
  info.environment = request.environment;
  std::error_code ignored;
  info.working_directory = fs::current_path(ignored).string();
  add_variables(info);
  const auto nvml = cuda::Nvml::open(&info.sensors_problem);
  if (nvml != nullptr) info.driver_version = nvml->driver_version();
  std::vector<cuda::NvmlDevice> gpus = cuda::NvmlDevice::all(&info.sensors_problem);
  for (const cuda::NvmlDevice& gpu : gpus) info.gpus.push_back(describe_gpu(gpu));

  const fs::path folder =
      request.folder.empty() ? make_named_folder(request.command.front()) : fs::path(request.folder);
  const bool is_new = request.folder.empty() || make_folder(folder);
  watched.folder = folder;
  info.begin = realtime_now();
  write_capture_info(folder, info);
  {
    Sampler sampler(fs::absolute(folder), std::move(gpus), request.settings);
    const Nanoseconds started = host_time_now();
    const int problem = process.start(
        request.command, variables_for(recorder, preloaded, fs::absolute(folder), request.settings));
    if (problem != 0) {
      watched.start_problem = std::strerror(problem);
      watched.exit_code = exit_code_of_start(problem);
    } else {
      AttachedProcess::Outcome outcome = process.wait(request.left_behind);
      watched.wall_time = host_time_now() - started;
      watched.exit_code = outcome.exit_code;
      info.ended = std::move(outcome.ended);
      info.processes_left = !outcome.is_complete;
    }
    info.end = realtime_now();
    info.exit_code = watched.exit_code;
    info.missing_samples = sampler.finish();
  }
  look_at_processes(watched);
  if (watched.processes.empty() && !info.processes_left) {
    remove_folder(folder, is_new);
    watched.folder.clear();
    return watched;
  }
  try {
    write_capture_info(folder, info);
  } catch (const Error& error) {
    watched.problem = error.what();
  }
  return watched;
}

}  // namespace jitterscope::capture
