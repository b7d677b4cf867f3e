// A GPU in virtual time: decides how long a kernel takes, and knows the true time.
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

/// An allocation's number in the cache.
using Buffer = std::uint32_t;

struct Access {
  Buffer buffer = 0;
  Bytes bytes;
  bool writes = false;
};

/// One kernel's demand on the GPU.
struct KernelWork {
  Cycles compute;     ///< at full rate on all processors, without memory
  Nanoseconds fixed;  ///< independent of clock and memory (spin, launch of blocks)
  std::vector<Access> accesses;
  Nanoseconds stalls;    ///< if all reads miss the cache
  double overlap = 0;    ///< exponent for compute and memory; 0: the preset's
  double activity = 0;   ///< dynamic power while it computes, with the data's; 1 is the preset's full rate
  double placement = 1;  ///< factor drawn when the operands were allocated
  bool helper = false;   ///< hold, stamp, eviction: exact, no noise
  /// Its time relative to its time alone; below 1 if it overlaps with others.
  double stretch = 1;
};

/// Bytes asked of the L2 cache, and those that go to DRAM.
struct Traffic {
  Bytes accessed, read_misses, write_backs;
};

/// One kernel as it really ran: the true times, which instruments only estimate.
struct Execution {
  Nanoseconds start, end;
  Cycles cycles;
  Traffic traffic = {};
  Nanoseconds time() const { return end - start; }
};

/// A kernel's time alone, by the state before it runs.
struct Forecast {
  Nanoseconds time, transfer;  ///< transfer: time of caches and DRAM to move its bytes, at most
};

/// Readings of the sensors: late, averaged, or nullopt if withheld.
struct MachineSensors {
  std::optional<Hertz> clock;
  std::optional<Watts> power;
  std::optional<Celsius> temperature;
  std::optional<Joules> energy;
  std::optional<Nanoseconds> throttled_power, throttled_thermal;
  std::vector<std::string> clock_reasons;  ///< idle, power_cap, thermal
};

/// One GPU of a process. Deterministic: the same parameters, seed and calls give the same times. Time only
/// moves forward; all calls take times at or after the last.
class Machine {
 public:
  Machine(const Parameters& parameters, std::uint64_t seed);
  ~Machine();
  Machine(Machine&&) noexcept;

  const Parameters& parameters() const;

  Buffer allocate(Bytes size);
  void release(Buffer buffer);
  /// Later placement factors follow from this number.
  void choose_placements(std::uint64_t number);
  /// Draws a factor for operands allocated now.
  double draw_placement();

  /// When the GPU has finished its work.
  Nanoseconds free_at() const;
  /// Runs a kernel at `earliest` or when the GPU is free, whichever is later; idles until then.
  Execution run(const KernelWork& work, Nanoseconds earliest);
  /// Forecasts kernels one after the other, without noise, at the present clock and cache.
  std::vector<Forecast> forecast(const std::vector<KernelWork>& works) const;
  /// Rests until `time`: the clock falls, the GPU cools.
  void rest_until(Nanoseconds time);
  /// Other lines fill the cache: clean ones, or modified ones that must be written back later. Takes no time;
  /// the queue runs the kernel that does it.
  void fill_cache(bool with_modified_lines);

  /// Limits the clock; nullopt restores the GPU's maximum.
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

/// The host's time for its calls, from random streams of its own.
class HostCosts {
 public:
  HostCosts(const Parameters& parameters, std::uint64_t seed);
  Nanoseconds launch();
  Nanoseconds synchronize();  ///< beyond the work waited for

 private:
  Nanoseconds draw(Random& random, Nanoseconds median) const;

  LaunchCosts costs_;
  bool varies_;
  Random launches_, waits_;
};

/// Turns true times into readings, with jitter and grain. The queue runs the time that a mark takes.
class Timers {
 public:
  Timers(const Parameters& parameters, std::uint64_t seed);
  /// A mark's reading at a true time on the GPU.
  Nanoseconds read_mark(Nanoseconds truth);
  /// A clock stamp's nanoseconds at a true time.
  Nanoseconds read_stamp(Nanoseconds truth);

 private:
  Instruments instruments_;
  bool jitters_, has_grain_;
  Random random_;
};

}  // namespace jitterscope::physics
