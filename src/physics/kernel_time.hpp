// The parts of a kernel's time: L2 cache, compute and memory at a clock, other processes, noise.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "jitterscope/units.hpp"
#include "physics/machine.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::physics {

/// Evicts the least recently used buffer first. Each access sweeps a buffer from its beginning: its end stays
/// in the cache, and a sweep of more than fits evicts the lines that it needs next.
class Cache {
 public:
  explicit Cache(const Parameters& parameters);

  Buffer allocate(Bytes size);
  void release(Buffer buffer);
  void fill(bool with_modified_lines);
  Traffic access(const std::vector<Access>& accesses);

  Bytes resident(Buffer buffer) const { return Bytes(lines_[buffer].resident); }
  Bytes modified(Buffer buffer) const { return Bytes(lines_[buffer].modified); }

 private:
  struct Lines {
    std::int64_t resident = 0, modified = 0, size = 0;
    std::uint64_t last_use = 0;
  };
  Lines& oldest();
  std::int64_t remove(Buffer buffer);
  std::int64_t evict(std::int64_t bytes);
  std::int64_t room_before(const Lines& lines) const;
  void sweep(const Access& access, Traffic& traffic);

  std::int64_t capacity_;
  bool hits_always_, writes_back_;
  std::vector<Lines> lines_;      ///< by buffer; the first is for fill()
  std::vector<Buffer> free_;      ///< released numbers
  std::vector<Buffer> in_cache_;  ///< buffers with resident lines
  std::int64_t used_ = 0;
  std::uint64_t uses_ = 0;
};

/// A kernel's demand once its cache hits are known: its time then depends on the clock alone.
struct Load {
  Cycles compute;
  Nanoseconds fixed, memory;
  Bytes traffic;  ///< to and from DRAM
  double activity = 0;
  double overlap = 1;  ///< p in shared_time
  bool operator==(const Load&) const = default;
};

/// (compute^p + memory^p)^(1/p): the time that depends on clock and memory, without load.fixed.
Nanoseconds shared_time(const Load& load, Hertz clock);

/// Once per kernel, however many bytes it moves.
Nanoseconds memory_latency(const Memory& memory, const Traffic& traffic);

/// Time of all accesses of a kernel alone on the GPU. `hot`: DRAM pays the refresh tax.
Nanoseconds memory_time(const Memory& memory, const Traffic& traffic, bool hot);

// Another process on the same GPU.

class OtherProcess {
 public:
  OtherProcess(const Parameters& parameters, std::uint64_t seed);

  struct Share {
    bool ours = true;        ///< false while the other process has the GPU
    double bandwidth = 1.0;  ///< share left to us
    Nanoseconds until;       ///< when this may change
  };
  Share share_at(Nanoseconds time);
  bool is_active(Nanoseconds time);

 private:
  std::size_t interval_at(Nanoseconds time);
  bool active_in(std::size_t interval) const { return starts_active_ == (interval % 2 == 0); }

  bool on_;
  Contention contention_;
  Random random_;
  bool starts_active_ = false;
  std::vector<Nanoseconds> ends_;  ///< ends of the intervals, in turn active and inactive
  std::size_t last_ = 0;           ///< interval asked for last; time moves on in small steps
};

// Variation between launches of the same kernel at the same clock and with the same cache.

class LaunchNoise {
 public:
  LaunchNoise(const Parameters& parameters, std::uint64_t seed);
  /// Returns the factor on the time of a kernel that starts now; draws anew each time.
  double draw(Nanoseconds now);

 private:
  double next_normal();
  double next_correlated();
  double next_spike();

  Noise noise_;
  bool varies_, spikes_, drifts_;
  double lasting_ = 1.0;  ///< process and device effects
  Random random_, spike_random_;
  double innovation_;  ///< sd of the new part, which keeps the variance at sd²
  double correlated_ = 0.0, spare_normal_ = 0.0;
  bool has_spare_ = false;
};

/// Streams of no single mechanism; their numbers follow the mechanisms'.
enum class OtherStream : std::uint64_t { sensors = kMechanisms, synchronize };

inline Random numbered_stream(std::uint64_t seed, std::uint64_t number) {
  // The seed is scrambled first, else neighbouring seeds and numbers would give streams shifted by one.
  return Random(Random(seed).next() ^ Random(~number).next());
}
inline Random stream_of(std::uint64_t seed, Mechanism mechanism) {
  return numbered_stream(seed, static_cast<std::uint64_t>(mechanism));
}
inline Random stream_of(std::uint64_t seed, OtherStream stream) {
  return numbered_stream(seed, static_cast<std::uint64_t>(stream));
}

/// Exponential with the given mean.
inline double exponential(Random& random, double mean) { return -mean * std::log(1.0 - random.uniform()); }

}  // namespace jitterscope::physics
