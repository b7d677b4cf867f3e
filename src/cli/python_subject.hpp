// What `python:FILE:FUNCTION` names: callables of a program in Python, which fresh processes of Python time.
#pragma once

#include <cstdint>
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

}  // namespace jitterscope::cli
