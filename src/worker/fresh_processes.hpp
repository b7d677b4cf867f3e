// Runs the same plan in several fresh processes, one after the other.
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
  /// Called with the stage of a process and its number, from 1.
  std::function<void(const std::string& stage, std::size_t process)> progress = {};
  /// Called for a process that failed without writing an error. Throws MissingError if all would fail so.
  std::function<void(const SubprocessOutcome&)> ended_badly = {};
  /// Time limit for each process: it is ended then. nullopt: as time_limit_of() says.
  std::optional<Nanoseconds> time_limit = {};
  /// Time limit for all processes together: after it only the first is still started. nullopt: no limit.
  std::optional<Nanoseconds> budget = {};
};

struct ProcessRecords {
  std::vector<RunRecord> records;  ///< from the processes that ended well, in order
  std::vector<std::string> lost;   ///< why each of the others gave nothing
  bool interrupted = false;        ///< by the user: the others were not started
  /// One duration for each process that was started, in order.
  std::vector<Nanoseconds> durations = {};
};

/// Returns far more time than a plan takes unless it hangs: its limits, and allowances for preparing.
Nanoseconds time_limit_of(const Plan& plan);

/// Returns the seed of one of several processes, counted from 0, of a measurement with this seed: those of
/// two measurements have nothing in common. A whole number that every reader of JSON can hold.
std::uint64_t seed_of_process(std::uint64_t seed, std::int64_t process);
/// Sets all seeds to the plan's, which a user can give again: each process drew from its own, derived from
/// it.
ProcessRecords with_seed(std::uint64_t seed, ProcessRecords found);

/// Each process has its own idles, orders, placements, and instance of a simulated device, all from the
/// plan's seed. The first that gives a record measures ceilings, counts launches, verifies results, and finds
/// the best engine if asked. Throws a process's error if every process would have it (usage, a missing
/// library), and FailedError if the first two, or the only one, gave nothing.
ProcessRecords run_in_fresh_processes(const std::string& device, const Plan& plan,
                                      const FreshProcesses& processes);

/// The same for a Python plan, by `EXECUTABLE -m jitterscope worker`; simulated devices have no part in it.
/// The only time limit is the given one, because the number of cases in a file is unknown.
ProcessRecords run_in_fresh_processes(const CallablePlan& plan, const FreshProcesses& processes);

/// Measures one trial in a process of its own. Throws FailedError with what went wrong there,
/// InterruptedError.
Result measure_in_fresh_process(const std::string& executable, const std::string& device, const Trial& trial,
                                const std::function<bool()>& interrupted);

/// Callbacks of carry_out(): called with each stage, asked whether to stop.
struct WorkerListeners {
  StageListener stage;
  std::function<bool()> interrupted;
  Agreement* agreement = nullptr;  ///< makes every decision; null: this process decides alone
  Ranks* ranks = nullptr;          ///< for collectives; null: there are no others
};
/// Opens the device, carries the plan out and returns the record of `run`. Throws what opening or measuring
/// throws; a trial's own error is in its result.
RunRecord carry_out(const WorkerPlan& plan, const WorkerListeners& listeners);

}  // namespace jitterscope
