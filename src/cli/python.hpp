// What `python:FILE:FUNCTION` names: callables of a program in Python, which fresh processes of Python time.
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

/// What names a function of Python begins with.
inline constexpr std::string_view kPythonPrefix = "python:";

/// Throws UsageError where some are of Python and others are not: no process can time both.
bool are_python(const std::vector<std::string>& targets);

/// "bench.py:attention" of python:folder/bench.py:attention; of what was handed over as a file its name.
std::vector<std::string> python_labels(const std::vector<std::string>& targets);

/// Throws MissingError where a process was to be Python, and there is none, or none that has jitterscope.
void require_python(const SubprocessOutcome& outcome);

/// Each group beside each other. Throws MissingError where Python has no jitterscope.
ProcessRecords run_python(const std::vector<std::vector<std::string>>& groups, const std::string& device,
                          const MeasureOptions& options, std::int64_t processes);

/// What the processes compared, whose files alone say how many cases there are.
ComparisonItems python_items(const std::vector<RunRecord>& records, std::size_t alternatives);

/// Each alone, in so many fresh processes, as one record. Throws InterruptedError where none was done.
RunRecord python_record(const std::vector<std::string>& targets, const std::string& device,
                        const MeasureOptions& options, std::int64_t processes, const Invocation& invocation);

/// `run` of such targets: measures, prints and writes. Throws UsageError for flags that are not for them.
void run_python_command(const RunFlags& flags, Invocation& invocation);

// What only a process of Python can do: a question on its standard input, the answer on its output.

struct Invocation;

/// What `python3 -m jitterscope NAME` writes; a live line shows what it tells meanwhile. With Ctrl-C it
/// answers with what is known by then. Throws the error that it wrote, MissingError where Python has no
/// jitterscope, and FailedError where it ended otherwise.
std::string ask_python(const std::string& name, const std::string& question, const Invocation& invocation);

// The Pythons that the tool starts.

/// $JITTERSCOPE_PYTHON, else python3.
inline std::string interpreter() {
  const char* named = std::getenv("JITTERSCOPE_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python3";
}

/// Where pictures may be drawn: the above, those on PATH, and the environment that scripts/setup makes beside
/// the folder that this program was built in (build/python-tools, of build/release/bin).
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
