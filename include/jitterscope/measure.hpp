// Measures callables: the options and the entry points of the measuring loop.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// State of a running measurement, for a live line.
struct Progress {
  std::string operation;
  Conditions conditions;
  std::int64_t rounds = 0;
  Nanoseconds median;      ///< zero until it is known
  double precision = 0.0;  ///< infinite until it is known
  std::optional<Hertz> clock;
  Nanoseconds time_left;  ///< upper limit for this operation
};

struct MeasureOptions {
  std::vector<CacheState> caches = {CacheState::warm, CacheState::cold};
  std::vector<Load> loads = {Load::burst, Load::sustained};
  QueueMode queue = QueueMode::saturated;
  std::optional<Instrument> instrument;  ///< empty: graph for short warm launches, else events
  double precision = 0.005;              ///< half-width of the 95 % interval over the median
  /// Times are also reported at this clock, so that runs can be compared. Empty: at each measurement's own
  /// median clock.
  std::optional<Hertz> reference_clock = {};
  std::int64_t minimum_rounds = 10;
  Nanoseconds time_limit = seconds(3);             ///< burst, all cache states together
  Nanoseconds sustained_time_limit = seconds(10);  ///< for each cache state
  Nanoseconds shortest_idle = milliseconds(10), longest_idle = milliseconds(70);
  std::int64_t conditioning_launches = 2;
  std::optional<std::int64_t> launches_per_round;  ///< empty: 40, or as many as last 5 ms
  bool warm_up = true;                             ///< sustained: wait for the steady state
  DataKind data = DataKind::normal;        ///< values of an operation's operands; a callable's are unknown
  std::optional<Hertz> locked_clock = {};  ///< only reported in the result: the caller has locked the clock
  /// Placement of an operation's operands. Empty: another one in each block, if the device can. 0: where the
  /// driver puts them. Another number: memory drawn by that number.
  std::optional<std::int64_t> placement = {};
  /// Each launch takes the next of several sets of operands; before a set returns, it has left the last-level
  /// cache. A callable must do this itself; the result then only states it.
  bool fresh_data = false;
  std::vector<std::int64_t> iterations = {};  ///< operations: loops of this many launches, run first
  bool load_probe = false;  ///< half a second without pause after the bursts, if the device limits power
  bool kernels = false;     ///< also trace the kernels of one launch, after its times
  /// Also count these hardware counters for one launch in each cache state, after its times. Empty list: the
  /// device's default set. nullopt: no counters.
  std::optional<std::vector<std::string>> counters = {};
  /// How processes differ; nullopt: the assumption for the kind of device.
  std::optional<ProcessVariation> process_variation;
  std::uint64_t seed = 1;
  std::function<void(const Progress&)> progress;
  std::function<bool()> interrupted;  ///< called between rounds; true stops and keeps what there is
};

/// A callable that launches one piece of work on the given queue (CUDA: a CUstream).
using Launch = std::function<void(NativeQueue)>;

/// Times a callable with the same conditions, rounds and statistics as an operation. Its first call is
/// reported as the first call. Throws what the callable throws, and UsageError if `iterations` is given or
/// the device is simulated (it cannot run a program's code).
Result measure(Device& device, const Launch& launch, const MeasureOptions& options = {});
/// The same on a stream that the caller owns (Device::adopt_queue), such as PyTorch's current stream.
Result measure(Device& device, NativeQueue stream, const Launch& launch, const MeasureOptions& options = {});

}  // namespace jitterscope
