// When a GPU had nothing to do, and what its program did meanwhile.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "timeline/timeline.hpp"

namespace jitterscope::timeline {

/// The first that holds of a gap, in this order.
enum class IdleCause : std::uint8_t {
  allocation,       ///< memory was taken or given back
  loading,          ///< a module or a kernel was loaded
  synchronization,  ///< a thread waited for the GPU, and launched only then
  between_kernels,  ///< at most 10 µs, and what comes next was launched before: the GPU's own time from one
                    ///< to the next
  launch,           ///< the launch of what comes next began when the GPU had run dry
  other_stream,     ///< what comes next was launched before: it waited for an event or a copy
  host_elsewhere,   ///< no call to CUDA was made: the program did something else
  unknown,          ///< calls were not recorded, or there is nothing to see
};
inline constexpr std::size_t kIdleCauses = 8;
std::string_view to_string(IdleCause cause);

struct Gap {
  Span span;
  std::size_t before = 0, after = 0;  ///< of the device's work: what ended last, and what came next
};

/// Takes each time in which no work ran on any stream of the GPU, in order. `work` is by begin.
template <class Take>
void for_each_gap(const DeviceWork& work, Take&& take) {
  std::size_t last = 0;  // what ends last so far
  for (std::size_t i = 1; i < work.size(); ++i) {
    if (work.begin[i] > work.end[last]) take(Gap{{work.end[last], work.begin[i]}, last, i});
    if (work.end[i] > work.end[last]) last = i;
  }
}

struct Idle {
  double busy_seconds = 0.0, idle_seconds = 0.0;
  /// Share of the idle time by cause, from the time in which calls were recorded; all 0 without any.
  std::array<double, kIdleCauses> shares{};
  std::size_t windows = 0;  ///< in which calls were recorded

  double idle_share() const {
    const double all = busy_seconds + idle_seconds;
    return all > 0.0 ? idle_seconds / all : 0.0;
  }
  bool has_causes() const;
};

/// Busy and idle time within a span of the device's work, but for time in which nothing was recorded.
Idle idle_of(const Process& process, const DeviceWork& work, Span within);

/// Why a gap was: from the calls that were made during it. `unknown` where calls were not recorded then.
class GapCauses {
 public:
  explicit GapCauses(const Process& process, const DeviceWork& work);
  IdleCause of(const Gap& gap) const;

 private:
  struct Call {
    Time begin, end;
    capture::CallKind kind;
  };
  bool any(const std::vector<Call>& calls, Time from, Time to) const;

  const DeviceWork& work_;
  std::vector<Call> allocations_, loads_, waits_, all_;
  std::vector<std::pair<std::uint32_t, Time>> launches_;  // by correlation: when the launching call began
  Time longest_ = 0;                                      // of all calls: how far back one must look
};

}  // namespace jitterscope::timeline
