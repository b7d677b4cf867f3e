// Plans and errors as one process passes them to another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "experiment/run_plan.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

/// {"format": "jitterscope-plan", "version": 1, …}: the device to open and what to time. Of the plan, groups,
/// verify, ceilings and trace_kernels are passed; listeners are the process's own.
struct WorkerPlan {
  std::string device;  ///< as open_device takes it
  std::uint64_t device_seed = 1;
  std::int64_t parent = 0;  ///< process that waits for the record; 0: unknown
  bool is_in_step = false;  ///< it follows orders that come after the plan (worker/in_step.hpp)
  /// In step: the number of this process, from 0, of so many.
  std::int64_t rank = 0, ranks = 1;
  Plan plan;
};

/// The same for a Python process, which alone can load the callables: groups that are measured together.
struct CallableRequest {
  std::string
      callable;  ///< FILE, FILE:FUNCTION or MODULE:FUNCTION: one callable, or a benchmark's several cases
  MeasureOptions options;
};
struct CallablePlan {
  std::string device;  ///< as open_device takes it
  std::int64_t parent = 0;
  std::vector<std::vector<CallableRequest>> groups;
};

std::string write_plan(const WorkerPlan& plan);
std::string write_plan(const CallablePlan& plan);
/// Throws UsageError, naming the place in the plan, if it is damaged, empty or of another version.
WorkerPlan read_plan(std::string_view text);

/// Writes an error for another process, which throws it again.
std::string write_error(const Error& error);
/// Throws the error that the text holds; does nothing if it holds none.
[[noreturn]] void throw_as_kind(const Error& error);
void rethrow_written_error(std::string_view text);

}  // namespace jitterscope
