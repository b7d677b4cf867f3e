// The files beside a capture's tables: capture.json of the whole, process.json of each process.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/attached_process.hpp"
#include "capture/format/settings.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/units.hpp"
#include "measure/run_record.hpp"

namespace jitterscope::capture {

std::string_view to_string(DetailChoice);
constexpr auto enumerators(DetailChoice) {
  return std::array{DetailChoice::light, DetailChoice::mixed, DetailChoice::full};
}
std::string_view to_string(GraphChoice);
constexpr auto enumerators(GraphChoice) { return std::array{GraphChoice::node, GraphChoice::whole}; }

/// A GPU of the machine as NVML describes it. Sensors name it by its place in the list.
struct CapturedGpu {
  std::string uuid, name;
  std::optional<Watts> power_limit;
  std::optional<Hertz> maximum_clock, maximum_memory_clock;
};

struct CaptureInfo {
  std::vector<std::string> command;  ///< the program with its arguments
  std::string working_directory;
  Environment environment;
  std::vector<Property> variables;  ///< of the program's environment, those that steer CUDA's libraries
  std::vector<std::string> further_variables;  ///< names alone of others that may matter
  Settings settings;
  std::string driver_version;
  std::vector<CapturedGpu> gpus;
  std::string sensors_problem;  ///< why there are none; empty: there are
  std::int64_t begin = 0;       ///< nanoseconds of CLOCK_REALTIME

  // Known at the end: absent where the watching process was ended itself.
  std::optional<std::int64_t> end;
  std::optional<int> exit_code;              ///< as a shell has it
  std::vector<EndedProcess> ended;           ///< the program and processes that outlived their parents
  bool processes_left = false;               ///< a second signal ended the waiting for them
  std::vector<std::string> missing_samples;  ///< sentences on rows that the disk did not take
};

/// Throws FailedError if the file cannot be written; an earlier one then stays.
void write_capture_info(const std::filesystem::path& capture, const CaptureInfo& info);
/// The file was written for other readers than this one, whole as it may be.
class OtherFormat : public UsageError {
 public:
  using UsageError::UsageError;
};
/// Throws UsageError if the folder is no capture or the file is damaged, OtherFormat if it is another
/// version's.
CaptureInfo read_capture_info(const std::filesystem::path& capture);

/// Takes from this process's environment what a capture tells of it.
void add_variables(CaptureInfo& info);

/// Written by the recorder when it begins.
struct ProcessInfo {
  std::int64_t pid = 0;
  std::int64_t begin = 0;  ///< nanoseconds of CLOCK_REALTIME
  std::vector<std::string> command;
  std::optional<std::int64_t> rank;
  std::int64_t driver_version = 0, cupti_version = 0;
  std::string cupti_path;
  std::string problem;  ///< why nothing is recorded; empty: it is
};

/// Throws UsageError if the folder has no such file, or one that is damaged.
ProcessInfo read_process_info(const std::filesystem::path& process_folder);

}  // namespace jitterscope::capture
