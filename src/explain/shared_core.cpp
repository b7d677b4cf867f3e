#include "explain/shared_core.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "jitterscope/error.hpp"

namespace jitterscope::explain {

PinnedThread::PinnedThread() {
  cpu_set_t one{};
  CPU_ZERO(&one);
  const int core = sched_getcpu();
  const bool is_known =
      core >= 0 && core < CPU_SETSIZE && sched_getaffinity(0, sizeof(before_), &before_) == 0;
  if (is_known) CPU_SET(core, &one);
  if (!is_known || sched_setaffinity(0, sizeof(one), &one) != 0) {
    throw UsageError(
        fmt::format("the system does not keep this thread on one core: {}", std::strerror(errno)));
  }
}

PinnedThread::~PinnedThread() { sched_setaffinity(0, sizeof(before_), &before_); }

BusyNeighbour::BusyNeighbour(double share) : thread_([this, share] { compute(share); }) {
  while (!runs_) std::this_thread::yield();
}

BusyNeighbour::~BusyNeighbour() {
  stops_ = true;
  thread_.join();
}

void BusyNeighbour::compute(double share) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::duration<double, std::milli> kPeriod(2.0);
  const auto busy = std::chrono::duration_cast<Clock::duration>(kPeriod * share);
  const auto rest = std::chrono::duration_cast<Clock::duration>(kPeriod * (1.0 - share));
  runs_ = true;
  while (!stops_) {
    const Clock::time_point end = Clock::now() + busy;
    while (Clock::now() < end && !stops_) {
    }
    if (rest > Clock::duration::zero()) std::this_thread::sleep_for(rest);
  }
}

}  // namespace jitterscope::explain
