// What is done to a plain loop of launches: the levels of all factors of one round.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jitterscope/device.hpp"
#include "jitterscope/measurement.hpp"

namespace jitterscope::explain {

/// How the host waits behind each launch.
enum class WaitBehindEach {
  none,     ///< it waits once, behind the loop
  usual,    ///< Queue::wait
  polling,  ///< it asks again and again
  asleep,   ///< until an interrupt wakes it
};

/// Work of our own that runs beside the loop, on another queue or in another process.
enum class CompanionWork {
  kernels,  ///< that occupy all processors
  memory,   ///< copies within the device's memory
  link,     ///< copies from the host's memory
};
std::string_view to_string(CompanionWork);
struct Companion {
  CompanionWork work = CompanionWork::kernels;
  double duty = 1.0;  ///< share of the time in which it runs
  bool operator==(const Companion&) const = default;
};

/// As it stands here it is the loop that a first benchmark has: launches one after the other, a pair of
/// events around each, a short idle before.
struct Treatment {
  Nanoseconds idle = milliseconds(10);  ///< before the loop
  Nanoseconds load = {};                ///< a large product again and again, before the idle
  double load_duty = 1.0;               ///< share of that time in which it runs; it rests in the others
  CacheState cache = CacheState::warm;  ///< at each launch
  Bytes traffic = {};                   ///< that another kernel reads and writes before each launch
  QueueMode queue = QueueMode::eager;
  Nanoseconds host_delay = {};  ///< within each launch call
  WaitBehindEach wait = WaitBehindEach::none;
  /// The launching thread stays on one core, where another thread of ours is busy for this share of the time.
  std::optional<double> core_shared = {};
  std::optional<MemorySource> allocator =
      {};                       ///< memory of the outputs' size is taken and given back around each
  Bytes offset = {};            ///< of the operands, from where they usually begin
  RowStride rows = {};          ///< of the matrices among them
  std::int64_t heap_piece = 0;  ///< InputData::heap_piece
  DataKind data = DataKind::normal;
  std::string engine = {};                  ///< empty: the operation's own
  std::int64_t launches = 0;                ///< in the loop; 0: as many as usual
  bool is_own_reading = false;              ///< jitterscope's own instrument, and not a pair of events
  std::optional<Companion> companion = {};  ///< on a second queue
  std::optional<Companion> neighbour = {};  ///< in a second process

  bool operator==(const Treatment&) const = default;
};

/// Launches in a loop: 5 ms, but 10 to 50 launches; fewer where 10 last longer than 0.2 s.
std::int64_t usual_launches(Nanoseconds launch_time);

}  // namespace jitterscope::explain
