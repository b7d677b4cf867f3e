// Runs a program with the recorder in it, and samples the sensors beside it: the watching side of a capture.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "capture/capture_info.hpp"

namespace jitterscope::capture {

struct WatchRequest {
  std::vector<std::string> command;  ///< the program with its arguments
  std::string folder;                ///< empty: named after the program
  Settings settings;
  Environment environment;
  std::vector<int> ignored_signals;  ///< of AttachedProcess
  /// Called where processes go on for some time after the program has ended, with their number.
  std::function<void(std::size_t)> left_behind;
};

struct Watched {
  std::filesystem::path folder;  ///< empty where nothing used CUDA, so that nothing is kept
  int exit_code = 0;             ///< of the program, or of its start
  Nanoseconds wall_time;         ///< from its start to its end, and that of what it left behind
  std::string start_problem;     ///< why it was not started; empty: it was
  CaptureInfo info;
  std::vector<ProcessInfo> processes;  ///< that used CUDA
  bool has_work = false;               ///< a kernel, a graph or a copy was recorded
  bool has_losses = false;             ///< a recorder has counted what is missing
  std::string problem;                 ///< capture.json is not complete; empty: it is
};

/// Throws UsageError, MissingError or FailedError while the program is not started yet; from then on its exit
/// code is the outcome.
Watched watch(const WatchRequest& request);

/// Returns the recorder's file, absolute. Throws MissingError if it is not there, or cannot be named where
/// the loader looks.
std::filesystem::path find_recorder();

/// Returns why the loader puts no recorder into a program, in words that follow "it": "is linked statically".
/// Empty if it does, or if that cannot be told.
std::string why_out_of_reach(const std::string& program);

}  // namespace jitterscope::capture
