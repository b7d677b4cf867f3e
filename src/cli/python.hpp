// Times `python:FILE:FUNCTION`, callables of a Python program, in fresh Python processes.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run_flags.hpp"
#include "experiment/comparison.hpp"
#include "experiment/run_plan.hpp"
#include "worker/fresh_processes.hpp"

namespace jitterscope::cli {

struct Invocation;

/// Prefix of a target that is a function of Python.
inline constexpr std::string_view kPythonPrefix = "python:";

/// True if all targets are Python's. Throws UsageError if only some are: no process can time both.
bool are_python(const std::vector<std::string>& targets);

/// Returns "bench.py:attention" for python:folder/bench.py:attention, and the name of a pickle file.
std::vector<std::string> python_labels(const std::vector<std::string>& targets);

/// Throws MissingError if the process failed because there is no Python or it lacks jitterscope.
void require_python(const SubprocessOutcome& outcome);

/// Measures the members of each group beside each other. Throws MissingError if Python lacks jitterscope.
ProcessRecords run_python(const std::vector<std::vector<std::string>>& groups, const std::string& device,
                          const MeasureOptions& options, std::int64_t processes);

/// Returns the compared items; only the processes' files say how many cases there are.
ComparisonItems python_items(const std::vector<RunRecord>& records, std::size_t alternatives);

/// Measures each target alone in `processes` fresh processes. Throws InterruptedError if none finished.
RunRecord python_record(const std::vector<std::string>& targets, const std::string& device,
                        const MeasureOptions& options, std::int64_t processes, const Invocation& invocation);

/// Carries out `run` for Python targets. Throws UsageError for flags that do not apply to them.
void run_python_command(const RunFlags& flags, Invocation& invocation);

// Below: requests that only Python can answer, from standard input to standard output.

struct Invocation;

/// Returns what `python3 -m jitterscope NAME` writes, with a live line of its progress. After Ctrl-C it
/// answers with what is known. Throws the error that it wrote, MissingError if Python lacks jitterscope,
/// FailedError if it ended otherwise.
std::string ask_python(const std::string& name, const std::string& question, const Invocation& invocation);

// Below: the Python programs that the tool starts.

/// Returns $JITTERSCOPE_PYTHON, else python3.
inline std::string interpreter() {
  const char* named = std::getenv("JITTERSCOPE_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

/// Returns Pythons that may draw pictures: the above, those on PATH, and the environment that scripts/setup
/// makes beside the folder in which this program was built (build/python-tools, for build/release/bin).
inline std::vector<std::string> drawing_interpreters() {
  std::vector<std::string> pythons = {interpreter()};
  for (const char* name : {"python3", "python"}) {
    if (name != pythons.front()) pythons.emplace_back(name);
  }
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  const std::filesystem::path builds = program.parent_path().parent_path().parent_path();
  const std::filesystem::path tools = builds / "python-tools" / "bin" / "python";
  if (std::filesystem::exists(tools, ignored)) pythons.push_back(tools.string());
  return pythons;
}

}  // namespace jitterscope::cli
