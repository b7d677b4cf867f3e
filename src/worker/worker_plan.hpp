// A plan as one process hands it to another, and what comes back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "experiment/run_plan.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {

/// {"format": "jitterscope-plan", "version": 1, …}: what the process is to open and to time. Of the plan,
/// groups, verify and ceilings; listeners are the process's own.
struct WorkerPlan {
  std::string device;  ///< as open_device takes it
  std::uint64_t device_seed = 1;
  std::int64_t parent = 0;  ///< process that waits for the record; 0: none that is known
  bool is_in_step = false;  ///< it follows orders that come after the plan (worker/in_step.hpp)
  Plan plan;
};

/// The same for a process of Python, which alone can load what is timed: groups of what is called beside each
/// other.
struct CallableTrial {
  std::string
      callable;  ///< FILE, FILE:FUNCTION or MODULE:FUNCTION: one callable, or a benchmark's several cases
  MeasureOptions options;
};
struct CallablePlan {
  std::string device;  ///< as open_device takes it
  std::int64_t parent = 0;
  std::vector<std::vector<CallableTrial>> groups;
};

std::string write_plan(const WorkerPlan& plan);
std::string write_plan(const CallablePlan& plan);
/// Throws UsageError, which names the place in the plan, where it is damaged, empty or of a newer version.
WorkerPlan read_plan(std::string_view text);

/// An error as one process hands it to another; the other throws it anew from what it read.
std::string write_error(const Error& error);
/// Does nothing where the text is no such error.
void rethrow_written_error(std::string_view text);

}  // namespace jitterscope
