// Compares GPUs that ran the same operation, each in processes of its own: which one is slow, and why.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"
#include "measure/run_record.hpp"
#include "operation/operation.hpp"
#include "statistics/effect.hpp"

namespace jitterscope {

/// The state of one GPU while it was timed, over its processes. Missing where it cannot be read.
struct DeviceState {
  std::optional<Hertz> clock;
  std::optional<Cycles> cycles;
  std::optional<double> held_by_power, held_by_heat;  ///< shares of the time
  std::optional<Watts> power;
  std::optional<Celsius> temperature;
  bool has_other_process = false;  ///< in at least half of its processes
};

/// True for a share of the time in which a cap or heat held the clock that is more than a passing moment.
inline bool is_held(std::optional<double> share) { return share.value_or(0.0) > 0.1; }

/// Reasons why a GPU is slow, in the order in which they are looked for.
enum class DeviceCause : std::uint8_t { none, setting, other_process, power_cap, heat, clock, cycles };

struct WhySlow {
  DeviceCause cause = DeviceCause::none;
  std::string setting = {}, own = {}, others = {};  ///< a setting, or a state: its values as text
};

/// One GPU beside the others.
struct DeviceBesideOthers {
  TimeEstimate time;
  std::vector<Nanoseconds> processes;  ///< medians, one for each process
  /// Over the median of the others in the same process or at the same time; of an even number of others
  /// without the farthest.
  RatioEstimate against_others;
  statistics::EffectVerdict verdict = statistics::EffectVerdict::undecided;
  DeviceState state;
  WhySlow why;  ///< of a slower one
};

/// All GPUs with one operation in one condition, each alone, or all at once.
struct DevicesBeside {
  bool at_once = false;
  std::vector<DeviceBesideOthers> devices;
  double spread = 0.0;  ///< standard deviation between the GPUs' times, relative
};

/// One operation in one condition.
struct DevicesComparison {
  std::string operation;
  CacheState cache = CacheState::warm;
  Load load = Load::burst;
  std::int64_t calls = 1;             ///< of the operation in the work
  std::vector<DevicesBeside> beside;  ///< alone and at once, as far as there are any
  /// At once over alone, one for each GPU; empty without both.
  std::vector<RatioEstimate> at_once_ratios = {};
};

/// `records[d][p]` is that of GPU d in process p, which is measured beside the others' p-th. A GPU is slower
/// if it is so by more than the margin beyond chance, all GPUs, operations and conditions together (Holm).
/// The others' median is what it is compared with, so that one slow GPU makes no other fast: of an even
/// number of others without the farthest, so that of three each is compared with the nearer one. Of two, each
/// is compared with the other. `calls`: of each entry; empty: one.
std::vector<DevicesComparison> compare_devices(std::span<const std::vector<RunRecord>> alone,
                                               std::span<const std::vector<RunRecord>> at_once, double margin,
                                               std::span<const std::int64_t> calls = {});

/// Compares the sums over all calls of all operations: one for each condition. Empty for one operation.
std::vector<DevicesComparison> compare_totals(std::span<const DevicesComparison> comparisons, double margin);

}  // namespace jitterscope
