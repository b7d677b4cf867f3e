#include "device/cpu/cpu_queue.hpp"

#include "base/host_time.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cpu {
namespace {

template <class Slots>
const auto& passed(const Slots& slots, std::uint32_t slot) {
  const auto& value = slots[slot % Queue::kRingSize];
  if (!value) throw FailedError("the queue has not passed this point yet: wait for it first");
  return *value;
}

}  // namespace

void CpuQueue::close_gate() {
  refuse_while_recording("close the gate");
  run_pending();
  gate_closed_ = true;
}

// What waits runs in the next call that may throw, since a workload may.
void CpuQueue::open_gate() noexcept { gate_closed_ = false; }

void CpuQueue::launch(Workload& workload) { launch_in_a_row(workload, 1); }

void CpuQueue::launch_in_a_row(Workload& workload, std::int64_t launches) {
  enqueue({.kind = Command::Kind::launch, .workload = &workload, .launches = launches});
}

Mark CpuQueue::mark() {
  const Mark mark{next_mark_++ % kRingSize};
  marks_[mark.slot].reset();
  enqueue({.kind = Command::Kind::mark, .slot = mark.slot});
  return mark;
}

ClockStamp CpuQueue::stamp_clock() {
  const ClockStamp stamp{next_stamp_++ % kRingSize};
  stamps_[stamp.slot].reset();
  enqueue({.kind = Command::Kind::stamp, .slot = stamp.slot});
  return stamp;
}

void CpuQueue::set_cache(CacheState state, Workload& workload) {
  enqueue({.kind = Command::Kind::set_cache, .workload = &workload, .cache = state});
}

std::unique_ptr<Recording> CpuQueue::record(const std::function<void(Queue&)>& work) {
  refuse_while_recording("record");
  auto recording = std::make_unique<CpuRecording>();
  recorded_ = &recording->commands;
  try {
    work(*this);
  } catch (...) {
    recorded_ = nullptr;
    throw;
  }
  recorded_ = nullptr;
  return recording;
}

void CpuQueue::replay(Recording& recording) {
  const auto* own = dynamic_cast<CpuRecording*>(&recording);
  if (own == nullptr) throw UsageError("a recording of another device cannot be replayed on the cpu");
  enqueue({.kind = Command::Kind::replay, .recording = own});
}

void CpuQueue::wait() {
  refuse_while_recording("wait");
  const bool forgotten = gate_closed_ && !pending_.empty();
  gate_closed_ = false;
  run_pending();
  // The thread that would open the gate is the one that waits.
  if (forgotten) throw FailedError("the queue was waited for behind a closed gate: open the gate first");
}

void CpuQueue::wait_for(Mark) { wait(); }

Nanoseconds CpuQueue::elapsed(Mark from, Mark to) {
  return passed(marks_, to.slot) - passed(marks_, from.slot);
}

std::optional<ClockReading> CpuQueue::clock_between(ClockStamp from, ClockStamp to) {
  return CycleCounter::between(passed(stamps_, from.slot), passed(stamps_, to.slot));
}

void CpuQueue::enqueue(const Command& command) {
  if (recorded_ != nullptr) {
    recorded_->push_back(command);
  } else if (gate_closed_) {
    pending_.push_back(command);
  } else {
    run_pending();
    run(command);
  }
}

void CpuQueue::run(const Command& command) {
  switch (command.kind) {
    case Command::Kind::launch: return command.workload->run_in_a_row(nullptr, command.launches);
    case Command::Kind::mark: marks_[command.slot] = host_time_now(); return;
    case Command::Kind::stamp: stamps_[command.slot] = counter_.read(); return;
    case Command::Kind::set_cache: return caches_.set(command.cache, *command.workload);
    case Command::Kind::replay:
      for (const Command& recorded : command.recording->commands) run(recorded);
  }
}

// After a failure the rest is dropped: it was queued behind work that never happened.
void CpuQueue::run_pending() {
  if (pending_.empty()) return;
  struct Clear {
    std::vector<Command>& commands;
    ~Clear() { commands.clear(); }
  } clear{pending_};
  for (const Command& command : pending_) run(command);
}

void CpuQueue::refuse_while_recording(const char* what) const {
  if (recorded_ != nullptr) throw UsageError(std::string("a queue cannot ") + what + " while it records");
}

}  // namespace jitterscope::cpu
