// The same plan in several fresh processes, one after the other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.hpp"
#include "experiment/run_plan.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope {

struct FreshProcesses {
  std::string executable;  ///< path of this program: `EXECUTABLE worker` carries a plan out
  std::int64_t count = 8;
  std::function<bool()> interrupted = {};
  /// Called with what a process does now and its number, from 1.
  std::function<void(const std::string& stage, std::size_t process)> progress = {};
  /// Sees how a process ended that wrote nothing. Throws MissingError where each of them would end so.
  std::function<void(const SubprocessOutcome&)> ended_badly = {};
  /// Of each process: one that is not done then is ended. Nothing: as time_limit_of says.
  std::optional<Nanoseconds> time_limit = {};
  /// Of all together: none but the first is started later than this. Nothing: all are.
  std::optional<Nanoseconds> budget = {};
};

struct ProcessRecords {
  std::vector<RunRecord> records;  ///< of the processes that ended well, in their order
  std::vector<std::string> lost;   ///< why each of the others gave nothing
  bool interrupted = false;        ///< by the user: the others were not started
  /// Of each that was started, in its order.
  std::vector<Nanoseconds> durations = {};
};

/// Far more than a plan takes that does not hang: its limits, and allowances for preparing.
Nanoseconds time_limit_of(const Plan& plan);

/// Each process draws idles, orders and placements of its own, and a simulated device is another instance;
/// all follow from the seed of the plan. Ceilings are measured, launches counted, results verified, and the
/// best engine found where that is asked for, by the first that gives a record. Throws the error of a process
/// where it would be every one's (usage, a missing library), and FailedError where two in a row gave nothing
/// before any gave something.
ProcessRecords run_in_fresh_processes(const std::string& device, const Plan& plan,
                                      const FreshProcesses& processes);

/// The same of a plan for Python, by `EXECUTABLE -m jitterscope worker`, where a simulated device has no
/// part. There is no time limit but the one given: nobody knows how many cases a file has.
ProcessRecords run_in_fresh_processes(const CallablePlan& plan, const FreshProcesses& processes);

/// One trial, not compared, in a process of its own. Throws FailedError with what went wrong there,
/// InterruptedError.
Result measure_in_fresh_process(const std::string& executable, const std::string& device, const Trial& trial,
                                const std::function<bool()>& interrupted);

// A plan that another process made, carried out in this one.

/// Told of each stage, and asked whether to stop.
struct WorkerListeners {
  StageListener stage;
  std::function<bool()> interrupted;
  Agreement* agreement = nullptr;  ///< with which every decision is taken; null: by this process alone
};
/// Opens the device, carries the plan out and returns the record of `run`. Throws what opening or measuring
/// throws; what went wrong with one trial stands in its result.
RunRecord carry_out(const WorkerPlan& plan, const WorkerListeners& listeners);

}  // namespace jitterscope
