#include "support/scripted_queue.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "jitterscope/error.hpp"

namespace jitterscope::scripted {
namespace {

struct ScriptedRecording final : Recording {
  std::vector<Item> items;
};

}  // namespace

void launch_kernel(NativeQueue queue) { static_cast<Stream*>(queue)->queue->enqueue_callable(); }

void wait_for_queue(NativeQueue queue) { static_cast<Stream*>(queue)->queue->synchronize(); }

ScriptedQueue::ScriptedQueue(State& state, Stream* stream)
    : state_(state), stream_(stream != nullptr ? *stream : own_), marks_(kRingSize), stamps_(kRingSize) {
  stream_.queue = this;
}

void ScriptedQueue::enqueue(Kernel& kernel) {
  const std::int64_t index = kernel.enqueued++;
  if (!recording_) {
    state_.advance(kernel.fixed_time ? microseconds(2) : state_.script.launch_cost(index));
    if (!state_.is_held && free_ < state_.now) ++state_.times_dry;
  }
  put({.kind = Item::Kind::kernel, .kernel = &kernel});
}

void ScriptedQueue::put(Item item) {
  if (recording_) {
    recording_->push_back(item);
    return;
  }
  item.launch = state_.traced_launch;
  item.correlation = ++state_.calls;
  if (state_.is_held) {
    item.was_held = true;
    held_.push_back(item);
  } else {
    execute(item);
  }
}

void ScriptedQueue::execute(const Item& item) {
  const Nanoseconds start = std::max(free_, state_.now);
  free_ = start;
  switch (item.kind) {
    case Item::Kind::kernel: return execute_kernel(item, start);
    case Item::Kind::eviction:
      for (std::int64_t i = 0; state_.trace != nullptr && i < state_.script.stray_kernels; ++i) {
        state_.trace->push_back({"stray", start, start + state_.script.eviction_time});
      }
      free_ += state_.script.eviction_time + item.extra;
      cache_ = item.cache;
      return;
    case Item::Kind::mark: {
      marks_[item.slot] = start;
      const double noise = state_.script.events_noise.value();
      free_ += state_.script.events_constant + Nanoseconds(random_.uniform(-noise, noise));
      return;
    }
    case Item::Kind::stamp: stamps_[item.slot] = start; return;
  }
}

void ScriptedQueue::execute_kernel(const Item& item, Nanoseconds start) {
  Kernel& kernel = *item.kernel;
  const Hertz clock = state_.script.clock ? state_.script.clock(start) : Hertz(0);
  const LaunchContext context{kernel.executed++, start, cache_, clock, kernel.operation};
  Nanoseconds time = kernel.fixed_time ? *kernel.fixed_time : state_.script.launch_time(context);
  if (kernel.fixed_cycles > Cycles(0)) time += seconds(kernel.fixed_cycles.value() / clock.value());
  if (state_.trace) {
    const std::int64_t kernels = state_.script.kernels_per_launch;
    const Nanoseconds part = time / static_cast<double>(kernels);
    for (std::int64_t i = 0; i < kernels; ++i) {
      const std::int64_t turn = item.was_held ? i / state_.script.kernel_streams : i;
      const Nanoseconds begin = start + part * static_cast<double>(turn);
      KernelTime time_of_kernel{"kernel", begin, begin + part + state_.script.tracer_error};
      time_of_kernel.launch = item.launch;
      time_of_kernel.stream = static_cast<std::uint32_t>(i % state_.script.kernel_streams);
      time_of_kernel.correlation = item.correlation;
      state_.trace->push_back(time_of_kernel);
    }
  }
  free_ += time + item.extra;
  cache_ = CacheState::warm;
}

void ScriptedQueue::hold() {
  state_.note({Call::hold});
  state_.is_held = true;
  held_since_ = state_.now;
}

bool ScriptedQueue::limit_hold(Nanoseconds limit) {
  if (!state_.script.can_limit_hold) return false;
  hold_limit_ = limit > Nanoseconds(0) ? limit : kHoldLimit;
  return true;
}

void ScriptedQueue::synchronize() {
  if (state_.is_held) {
    state_.now = std::max(state_.now, held_since_ + hold_limit_ + Nanoseconds(1));
    release();
  }
  state_.now = std::max(state_.now, free_);
  state_.advance(state_.script.wait_cost);
}

void ScriptedQueue::throw_if_hold_timed_out() {
  if (!std::exchange(hold_timed_out_, false)) return;
  throw HoldTimeoutError("the scripted queue was released by itself");
}

void ScriptedQueue::release() noexcept {
  state_.log.push_back({Call::release});
  if (state_.is_held && state_.now > held_since_ + hold_limit_) hold_timed_out_ = true;
  state_.is_held = false;
  for (const Item& item : held_) execute(item);
  held_.clear();
}

void ScriptedQueue::launch(Workload& workload) {
  if (!recording_) state_.note({Call::launch});
  // A graph of the workload's own is as one kernel.
  if (recording_ && workload.graph() != nullptr) return enqueue_callable();
  workload.run(native());
}

Mark ScriptedQueue::mark() {
  state_.note({Call::mark});
  state_.advance(state_.script.mark_cost);
  const Mark mark{next_mark_++ % kRingSize};
  marks_[mark.slot].reset();
  put({.kind = Item::Kind::mark, .slot = mark.slot});
  return mark;
}

ClockStamp ScriptedQueue::stamp_clock() {
  state_.note({Call::stamp});
  const ClockStamp stamp{next_stamp_++ % kRingSize};
  stamps_[stamp.slot].reset();
  put({.kind = Item::Kind::stamp, .slot = stamp.slot});
  return stamp;
}

void ScriptedQueue::set_cache(CacheState cache, Workload&) {
  if (!recording_) state_.note({Call::set_cache, cache});
  if (cache != CacheState::warm) put({.kind = Item::Kind::eviction, .cache = cache});
}

std::unique_ptr<Recording> ScriptedQueue::record(const std::function<void(Queue&)>& work) {
  state_.note({Call::record});
  if (!state_.script.can_record) throw FailedError("the script does not let this be recorded");
  auto recording = std::make_unique<ScriptedRecording>();
  recording_ = &recording->items;
  try {
    work(*this);
  } catch (...) {
    recording_ = nullptr;
    throw;
  }
  recording_ = nullptr;
  return recording;
}

void ScriptedQueue::replay(Recording& recording) {
  state_.note({Call::replay});
  state_.advance(microseconds(5));
  for (Item item : static_cast<ScriptedRecording&>(recording).items) {
    item.extra = state_.script.node_constant;
    put(item);
  }
}

void ScriptedQueue::wait() {
  state_.note({Call::wait});
  if (state_.is_held) throw std::logic_error("a wait on a closed gate hangs");
  state_.now = std::max(state_.now, free_);
  state_.advance(state_.script.wait_cost);
  throw_if_hold_timed_out();
}

void ScriptedQueue::wait_for(Mark mark) {
  state_.note({Call::wait_for});
  if (!marks_[mark.slot]) throw std::logic_error("a wait for a mark behind a closed gate hangs");
  state_.now = std::max(state_.now, *marks_[mark.slot]);
  state_.advance(state_.script.wait_cost);
  throw_if_hold_timed_out();
}

Nanoseconds ScriptedQueue::passed(const std::vector<std::optional<Nanoseconds>>& ring,
                                  std::uint32_t slot) const {
  if (!ring[slot] || *ring[slot] > state_.now) throw std::logic_error("read before the queue passed it");
  return *ring[slot];
}

Nanoseconds ScriptedQueue::elapsed(Mark from, Mark to) {
  state_.note({Call::elapsed});
  const double grain = state_.script.grain.value();
  const auto read = [&](Mark mark) {
    const double time = passed(marks_, mark.slot).value();
    return grain > 0.0 ? std::floor(time / grain) * grain : time;
  };
  return Nanoseconds(read(to) - read(from));
}

std::optional<ClockReading> ScriptedQueue::clock_between(ClockStamp from, ClockStamp to) {
  const Nanoseconds begin = passed(stamps_, from.slot), end = passed(stamps_, to.slot);
  if (!state_.script.clock) return std::nullopt;
  constexpr int kSamples = 16;
  double sum = 0.0;
  for (int i = 0; i < kSamples; ++i)
    sum += state_.script.clock(begin + (end - begin) * ((i + 0.5) / kSamples)).value();
  return ClockReading{Hertz(sum / kSamples * (1.0 + state_.script.clock_error)), end - begin};
}

}  // namespace jitterscope::scripted
