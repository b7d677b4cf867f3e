// A GPU in virtual time: everything that decides how long a kernel takes, and the truth of how long it took.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "jitterscope/units.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::physics {

/// An allocation, as the cache knows it.
using Buffer = std::uint32_t;

struct Access {
  Buffer buffer = 0;
  Bytes bytes;
  bool writes = false;
};

/// What one kernel asks of the GPU.
struct KernelWork {
  Cycles compute;     ///< at full rate on all processors, memory aside
  Nanoseconds fixed;  ///< follows neither the clock nor memory (spin, launch of blocks)
  std::vector<Access> accesses;
  Nanoseconds stalls;    ///< follows the share of the reads that miss the cache
  double overlap = 0;    ///< of compute and memory; 0: the preset's
  double activity = 0;   ///< dynamic power while it computes, 1 is the preset's full rate; data included
  double placement = 1;  ///< factor drawn when the operands were allocated
  bool helper = false;   ///< gate, stamp, eviction: exact, no noise
  /// Its time by how long it takes alone: below 1 for what shares a time with others that run beside it.
  double stretch = 1;
};

/// What the L2 cache is asked for, and what of it goes to DRAM.
struct Traffic {
  Bytes accessed, read_misses, write_backs;
};

/// One kernel as it really ran: the truth that instruments only estimate.
struct Execution {
  Nanoseconds start, end;
  Cycles cycles;
  Traffic traffic = {};
  Nanoseconds time() const { return end - start; }
};

/// How long a kernel would take alone, by what is known before it runs.
struct Forecast {
  Nanoseconds time, transfer;  ///< of it at most: what caches and DRAM need to move its bytes
};

/// What the sensors say: late, averaged, or withheld (nothing).
struct MachineSensors {
  std::optional<Hertz> clock;
  std::optional<Watts> power;
  std::optional<Celsius> temperature;
  std::optional<Joules> energy;
  std::optional<Nanoseconds> throttled_power, throttled_thermal;
  std::vector<std::string> clock_reasons;  ///< idle, power_cap, thermal
};

/// One GPU of a process. Deterministic: the same parameters, seed and calls give the same times.
/// Time only moves forward; all calls take times at or after the last.
class Machine {
 public:
  Machine(const Parameters& parameters, std::uint64_t seed);
  ~Machine();
  Machine(Machine&&) noexcept;

  const Parameters& parameters() const;

  Buffer allocate(Bytes size);
  void release(Buffer buffer);
  /// Factors that are drawn from now on follow from this number.
  void choose_placements(std::uint64_t number);
  /// A placement factor for operands allocated now.
  double draw_placement();

  /// When the GPU has nothing to do any more.
  Nanoseconds free_at() const;
  /// Runs a kernel at `earliest` or when the GPU is free, whichever is later; idles until then.
  Execution run(const KernelWork& work, Nanoseconds earliest);
  /// Of kernels one after the other, without noise, at the clock and with the cache as they are now.
  std::vector<Forecast> forecast(const std::vector<KernelWork>& works) const;
  /// Nothing runs until `time`: the clock falls, the GPU cools.
  void rest_until(Nanoseconds time);
  /// Other lines fill the cache: clean ones, or modified ones that must be written back later. Takes no time;
  /// the queue runs the kernel that does it.
  void fill_cache(bool with_modified_lines);

  /// The clock does not rise above it; nothing: the maximum of the GPU again.
  void hold_clock(std::optional<Hertz> clock);

  /// Clock and cycle counter at free_at().
  Hertz clock() const;
  Cycles cycles() const;
  MachineSensors read_sensors(Nanoseconds time);
  bool other_process_is_active(Nanoseconds time) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The host's side: what its calls cost, from streams of their own.
class HostCosts {
 public:
  HostCosts(const Parameters& parameters, std::uint64_t seed);
  Nanoseconds launch();       ///< of one launch call
  Nanoseconds synchronize();  ///< of one wait, beyond the work waited for

 private:
  Nanoseconds draw(Random& random, Nanoseconds median) const;

  LaunchCosts costs_;
  bool varies_;
  Random launches_, waits_;
};

/// What timers make of true times: jitter and grain. What a mark takes on the queue, the queue runs.
class Timers {
 public:
  Timers(const Parameters& parameters, std::uint64_t seed);
  /// A mark's reading of a true time on the GPU.
  Nanoseconds read_mark(Nanoseconds truth);
  /// A clock stamp's nanoseconds for a true time.
  Nanoseconds read_stamp(Nanoseconds truth);

 private:
  Instruments instruments_;
  bool jitters_, has_grain_;
  Random random_;
};

}  // namespace jitterscope::physics
