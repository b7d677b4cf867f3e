// Samples the sensors of all GPUs beside a program that is captured, from this process and without CUDA.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "capture/format/arrow_stream.hpp"
#include "capture/format/settings.hpp"
#include "capture/format/tables.hpp"
#include "device/cuda/nvml.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::capture {

/// Returns the folders of a capture's processes, "p4711-…", in order.
std::vector<std::filesystem::path> process_folders(const std::filesystem::path& capture);

/// True for the folder that `capture` made, whole or not.
bool is_capture(const std::filesystem::path& folder);

/// Returns the number in "p4711-…".
std::uint32_t process_of(const std::filesystem::path& process_folder);

/// Where this process is among the others, for count_others.
struct ProcessView {
  std::function<bool(std::uint32_t pid)> is_visible;  ///< false in a container for those of the host
  std::function<bool(std::uint32_t pid)> is_ours;     ///< a descendant of this process
  std::vector<std::uint32_t> captured;                ///< ours that use CUDA and live
};

/// Returns how many of the processes that NVML lists on a GPU are not ours. In a container it lists the
/// host's numbers, which cannot be looked up: as many of those as there are captured processes that it does
/// not list are taken for them.
std::uint32_t count_others(std::span<const cuda::GpuProcess> listed, const ProcessView& view);

/// Returns whether a process is recorded yet, or none was seen so far. `first_seen` are the host times at
/// which their folders were found.
bool is_recording(const std::map<std::filesystem::path, Nanoseconds>& first_seen, Nanoseconds now,
                  const Settings& settings);

/// Rows are written once a second, so that a kill of this process loses no more.
class Sampler {
 public:
  /// Begins at once, in a thread of its own. The settings say until when the program's processes are
  /// recorded: beyond that no sensor is read.
  Sampler(std::filesystem::path capture, std::vector<cuda::NvmlDevice> gpus, const Settings& settings);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Takes a last sample and closes the files. Returns a sentence for each file that lacks rows, since the
  /// disk did not take them.
  std::vector<std::string> finish();

 private:
  void run();
  void take_clocks();
  void take_sensors();
  void look_at_processes();
  void write();

  struct Gpu {
    cuda::NvmlDevice device;
    std::uint32_t other_processes = 0;
  };
  template <class Table>
  struct File {
    TableWriter<Table> writer;
    std::size_t lost = 0;
    int problem = 0;

    void write();
    void finish(std::vector<std::string>& sentences);
  };

  std::filesystem::path capture_;
  std::vector<Gpu> gpus_;
  Settings settings_;
  File<Sensors> sensors_;
  File<Clocks> clocks_;
  std::map<std::filesystem::path, Nanoseconds> first_seen_;  ///< host times of the processes' folders
  bool is_recording_ = true;
  std::mutex mutex_;
  std::condition_variable end_asked_for_;
  bool ends_ = false;
  std::thread thread_;  ///< last: it uses the others
};

}  // namespace jitterscope::capture
