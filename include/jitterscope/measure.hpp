// Measuring: the one loop that every number comes from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// What a live line shows.
struct Progress {
  std::string operation;
  Conditions conditions;
  std::int64_t rounds = 0;
  Nanoseconds median;      ///< zero until there is one
  double precision = 0.0;  ///< infinite until there is one
  std::optional<Hertz> clock;
  Nanoseconds time_left;  ///< at most, for this operation
};

struct MeasureOptions {
  std::vector<CacheState> caches = {CacheState::warm, CacheState::cold};
  std::vector<Load> loads = {Load::burst, Load::sustained};
  QueueMode queue = QueueMode::saturated;
  std::optional<Instrument> instrument;  ///< nothing: graph for short warm launches, events else
  double precision = 0.005;              ///< half-width of the 95 % interval over the median
  /// Times are also given at this clock, the same in all runs that are compared; nothing: at each one's own
  /// median clock.
  std::optional<Hertz> reference_clock = {};
  std::int64_t minimum_rounds = 10;
  Nanoseconds time_limit = seconds(3);             ///< burst, all cache states together
  Nanoseconds sustained_time_limit = seconds(10);  ///< each cache state
  Nanoseconds shortest_idle = milliseconds(10), longest_idle = milliseconds(70);
  std::int64_t conditioning_launches = 2;
  std::optional<std::int64_t> launches_per_round;  ///< nothing: 40, or as many as last 5 ms
  bool warm_up = true;                             ///< sustained: wait for the steady state
  DataKind data = DataKind::normal;                ///< as the operands are filled; a callable's are unknown
  std::optional<Hertz> locked_clock = {};  ///< stated in the result, not done here: the caller locked it
  /// Where the operands of an operation lie. Nothing: in other memory from block to block, where it can. A
  /// number keeps them in one place: 0 where the driver puts them, others in memory drawn by the number.
  std::optional<std::int64_t> placement = {};
  /// Each launch on the next of so many sets of operands that a set has left the last-level cache before its
  /// turn comes again. A callable has to do so itself; this then states it in the result.
  bool fresh_data = false;
  std::vector<std::int64_t> iterations = {};  ///< of operations: loops of so many launches, first of all
  bool load_probe = false;  ///< after the bursts half a second without pause, where the device limits power
  bool kernels = false;     ///< trace the kernels of one launch as well, after its times
  /// Count one launch in each cache state as well, after its times: these counters of the device, its default
  /// set where the list is empty. Nothing: no counters.
  std::optional<std::vector<std::string>> counters = {};
  /// How the next process would differ; nothing: as is assumed for the kind of device.
  std::optional<ProcessVariation> process_variation;
  std::uint64_t seed = 1;
  std::function<void(const Progress&)> progress;
  std::function<bool()> interrupted;  ///< asked between rounds; true stops, and keeps what there is
};

/// A callable that launches one piece of work on the given queue (CUDA: a CUstream).
using Launch = std::function<void(NativeQueue)>;

/// Times a callable with the same conditions, rounds and statistics as every operation.
/// Calls it once first, as the first call. Throws what the callable throws, and UsageError of iterations, and
/// where the device is simulated: it runs none of a program's code.
Result measure(Device& device, const Launch& launch, const MeasureOptions& options = {});
/// The same on a stream that the caller owns (Device::adopt_queue), such as PyTorch's current one.
Result measure(Device& device, NativeQueue stream, const Launch& launch, const MeasureOptions& options = {});

}  // namespace jitterscope
