#include "explain/conditioning.hpp"

#include <algorithm>

namespace jitterscope::explain {
namespace {

// The moving average of the power limit forgets in 20 to 50 ms (H200).
constexpr Nanoseconds kRest = milliseconds(40), kWork = milliseconds(10);
// A load of 0.3 s takes longer to forget: the governor raises the clock step by step.
constexpr Nanoseconds kRestAfterLoad = milliseconds(300);

}  // namespace

void condition(TreatedLoop& bench) {
  Device& device = bench.session().device();
  Queue& queue = bench.session().queue();
  device.idle(bench.take_heated() ? kRestAfterLoad : kRest);
  const Nanoseconds end = device.host_time() + kWork;
  constexpr double kMostLaunches = 8.0;
  constexpr Nanoseconds kMostWork = milliseconds(100);  // of a network's pass, which may last longer
  const auto launches =
      static_cast<std::int64_t>(std::clamp(kMostWork / bench.launch_time(), 1.0, kMostLaunches));
  while (device.host_time() < end) {
    queue.launch_in_a_row(bench.plain(), launches);
    queue.wait();
  }
}

Nanoseconds conditioning_time(const TreatedLoop& bench) {
  return kRest + std::max(kWork, bench.launch_time());
}

}  // namespace jitterscope::explain
