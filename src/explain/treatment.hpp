// What is done to a plain loop of launches: the levels of all factors of one round.
#pragma once

#include <cstdint>
#include <string>

#include "jitterscope/measurement.hpp"

namespace jitterscope::explain {

/// As it stands here it is the loop that a first benchmark has: launches one after the other, a pair of
/// events around each, a short idle before.
struct Treatment {
  Nanoseconds idle = milliseconds(10);  ///< before the loop
  Nanoseconds load = {};                ///< a large product without pause, before the idle
  CacheState cache = CacheState::warm;  ///< at each launch
  Bytes traffic = {};                   ///< that another kernel reads and writes before each launch
  QueueMode queue = QueueMode::eager;
  Nanoseconds host_delay = {};  ///< within each launch call
  bool waits_for_each = false;  ///< the host waits behind each launch
  DataKind data = DataKind::normal;
  std::string engine = {};      ///< empty: the operation's own
  std::int64_t launches = 0;    ///< in the loop; 0: as many as usual
  bool is_own_reading = false;  ///< jitterscope's own instrument, and not a pair of events

  bool operator==(const Treatment&) const = default;
};

}  // namespace jitterscope::explain
