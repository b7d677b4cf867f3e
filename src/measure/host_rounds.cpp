#include "measure/host_rounds.hpp"

#include <algorithm>

namespace jitterscope {
namespace {

// Of one among many in a row: a call from here into an interpreter costs 0.3 us, which those share.
Nanoseconds time_in_a_row(const TimedWork& work, Nanoseconds launch_time) {
  constexpr int kLaunches = 1000;
  if (launch_time > microseconds(5)) return launch_time;
  const Mark begin = work.queue.mark();
  work.queue.launch_in_a_row(work.workload, kLaunches);
  const Mark end = work.queue.mark();
  work.queue.wait();
  return std::min(launch_time, work.queue.elapsed(begin, end) / kLaunches);
}

// Of a CPU's cache. The first one may take and fill the memory that it sweeps.
Nanoseconds eviction_time(const TimedWork& work) {
  Nanoseconds time;
  for (int i = 0; i < 2; ++i) {
    const Nanoseconds start = work.device.host_time();
    work.queue.set_cache(work.cache, work.workload);
    work.queue.wait();
    time = work.device.host_time() - start;
    if (time < milliseconds(2)) break;  // 40 of them are no 0.1 s
  }
  return time;
}

}  // namespace

void fit_to_host(RoundShape& shape, const TimedWork& work, Nanoseconds launch_time,
                 const MeasureOptions& options, const Calibration& calibration) {
  if (!work.device.describe().capabilities.is_host || shape.instrument != Instrument::events) return;
  if (work.cache == CacheState::warm) {
    group_launches(shape, time_in_a_row(work, launch_time), options, calibration);
  } else {
    // 480 MiB take 50 ms for each launch: 40 of them were a round of 2 s, and 1.5 s the time for all rounds.
    limit_evictions(shape, eviction_time(work), options);
  }
}

}  // namespace jitterscope
