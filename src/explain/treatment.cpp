#include "explain/treatment.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope::explain {
namespace {

// Long enough that launching takes the host a few percent of its time (3 us each, H200), and short against a
// loop of 5 ms.
constexpr Nanoseconds kOccupation = microseconds(50);
// Page-locked; takes 0.15 ms at 55 GB/s (PCIe 5).
constexpr Bytes kLinkCopy = Bytes(8 << 20);
// A product of this size takes all cores of a machine for some tenths of a millisecond.
constexpr std::int64_t kHostProduct = 256;
// Enough that the second queue does not run empty before the host looks again.
constexpr std::size_t kInFlight = 3;

}  // namespace

std::string_view to_string(CompanionWork work) {
  switch (work) {
    case CompanionWork::kernels: return "kernels";
    case CompanionWork::memory: return "memory";
    case CompanionWork::link: return "link";
  }
  return "kernels";
}

Operation companion_work(CompanionWork work, const DeviceDescription& device) {
  switch (work) {
    case CompanionWork::kernels:
      if (!device.capabilities.launches_have_blocks) {
        return Operation(Matmul{.m = kHostProduct, .n = kHostProduct, .k = kHostProduct});
      }
      // Two blocks of 1024 threads take all the threads of a processor.
      return Operation(Spin{.amount = std::llround(kOccupation.value()),
                            .blocks = std::int64_t{2} * std::max(device.processors, 1),
                            .threads = 1024});
    case CompanionWork::memory:
      return Operation(Copy{.bytes = std::max<std::int64_t>(device.last_level_cache.value(), 16 << 20)});
    case CompanionWork::link: break;
  }
  return Operation(Copy{.bytes = kLinkCopy.value(), .kind = CopyKind::h2d, .memory = HostMemory::pinned});
}

CompanionLoad::CompanionLoad(Session& session, std::uint64_t seed)
    : session_(session), seed_(seed), queue_(session.device().make_companion_queue()) {
  if (!queue_) throw UsageError("this device has one queue, and runs one thing after the other");
}

CompanionLoad::Unit& CompanionLoad::unit(CompanionWork work) {
  Unit& unit = units_[work];
  if (unit.work) return unit;
  unit.work = session_.device().prepare(companion_work(work, session_.device().describe()), {.seed = seed_});
  queue_->launch(*unit.work);
  queue_->wait();
  const Mark from = queue_->mark();
  queue_->launch(*unit.work);
  const Mark to = queue_->mark();
  queue_->wait();
  unit.time = std::max(queue_->elapsed(from, to), microseconds(1));
  return unit;
}

// Returns a kernel of one block, which leaves the device to others, or null for a duty of 1.
PreparedOperation* CompanionLoad::rest(Unit& unit, double duty) {
  if (duty >= 1.0) return nullptr;
  std::unique_ptr<PreparedOperation>& rest = unit.rests[duty];
  if (!rest) {
    const Nanoseconds time = unit.time * (1.0 / duty - 1.0);
    rest = session_.device().prepare(Operation(Spin{.amount = std::llround(time.value())}), {.seed = seed_});
    queue_->launch(*rest);
    queue_->wait();
  }
  return rest.get();
}

void CompanionLoad::start(const Companion& companion) {
  Unit& chosen = unit(companion.work);
  rest_ = rest(chosen, companion.duty);
  work_ = chosen.work.get();
  keep_up();
}

void CompanionLoad::keep_up() {
  while (!ends_.empty() && queue_->has_passed(ends_.front())) ends_.pop_front();
  while (ends_.size() < kInFlight) {
    queue_->launch(*work_);
    if (rest_ != nullptr) queue_->launch(*rest_);
    ends_.push_back(queue_->mark());
  }
}

void CompanionLoad::stop() {
  queue_->wait();
  ends_.clear();
}

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
