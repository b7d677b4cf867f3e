// The core's clock between two moments: by perf events where the system allows, else by known cycles.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

/// Counts for the thread that made it.
class CycleCounter {
 public:
  struct Reading {
    Nanoseconds wall, running;       ///< running: time that this thread had a core
    double cycles = 0.0;             ///< by perf events
    std::optional<Hertz> frequency;  ///< by known cycles
  };

  CycleCounter();
  ~CycleCounter();
  CycleCounter(const CycleCounter&) = delete;
  CycleCounter& operator=(const CycleCounter&) = delete;

  Reading read() const;
  static std::optional<ClockReading> between(const Reading& from, const Reading& to);
  /// "perf_events" or "known_cycles".
  std::string_view source() const;

 private:
  int event_ = -1;  ///< file of the perf event; negative where there is none
};

}  // namespace jitterscope::cpu
