#include "measure/round_runner.hpp"

#include <algorithm>
#include <cmath>

#include "jitterscope/error.hpp"
#include "measure/round_timer.hpp"

namespace jitterscope {
namespace {

std::unique_ptr<RoundTimer> make_timer(const TimedWork& work, const RoundShape& shape, QueueMode mode,
                                       const Calibration& calibration) {
  switch (shape.instrument) {
    case Instrument::graph: return make_slope_timer(work, shape.slope, calibration.graph);
    case Instrument::host: return make_host_timer(work, shape.values);
    case Instrument::cupti: return make_trace_timer(work, shape.values, !shape.launches_wait);
    case Instrument::events: break;
  }
  // An eager round is one group, and so are replays: marks between launches would slow the host, whose time
  // counts. If evictions stand between launches, they keep the queue busy and the host ahead anyway. Launches
  // that wait include the host's time; marks between them leave out what the host does between launches.
  const Nanoseconds left(std::abs(calibration.events.value.value()));  // may be slightly below zero by chance
  const InstrumentConstant none{Nanoseconds(0), left, calibration.events.grain};
  const bool is_as_launched = mode == QueueMode::graph || (mode == QueueMode::eager && !shape.launches_wait);
  if (is_as_launched && work.cache == CacheState::warm) {
    return make_event_timer(work, 1, shape.values / shape.parts * shape.group, none);
  }
  return make_event_timer(work, shape.values / shape.parts, shape.group, calibration.events);
}

class Replay final : public Workload {
 public:
  Replay(Queue& queue, Workload& workload) : queue_(queue), workload_(workload) {
    workload_.prepare_recording(queue_.native());
    recording_ = queue_.record([this](Queue& recording) { recording.launch(workload_); });
  }
  void run(NativeQueue) override { queue_.replay(*recording_); }
  bool produce_inputs(NativeQueue queue) override { return workload_.produce_inputs(queue); }
  std::vector<MemoryRegion> memory() const override { return workload_.memory(); }
  bool place_anew() override { return workload_.place_anew(); }

 private:
  Queue& queue_;
  Workload& workload_;
  std::unique_ptr<Recording> recording_;
};

std::unique_ptr<Workload> make_replay(const TimedWork& work, Instrument instrument, QueueMode mode) {
  const bool is_launched = instrument == Instrument::events || instrument == Instrument::host;
  if (mode != QueueMode::graph || !is_launched) return nullptr;
  return std::make_unique<Replay>(work.queue, work.workload);
}

}  // namespace

RoundRunner::RoundRunner(const TimedWork& work, const RoundShape& shape, const MeasureOptions& options,
                         const Calibration& calibration, Decisions* decisions)
    : asked_(work.workload),
      replay_(make_replay(work, shape.instrument, options.queue)),
      work_{work.device, work.queue, replay_ ? *replay_ : work.workload, work.cache},
      shape_(shape),
      queue_mode_(options.queue),
      timer_(make_timer(work_, shape, options.queue, calibration)),
      lengths_(options.seed),
      decisions_(decisions) {}

bool RoundRunner::watches_calls() const {
  return asked_.calls() && timer_->instrument() == Instrument::events && timer_->launches_per_value() == 1;
}

void RoundRunner::condition() {
  Pending unread;
  condition(unread);
}

// If calls may differ, up to two random launches more keep rounds out of step with work that recurs: with two
// untimed and three timed launches, every fifth call of a function was an untimed one.
void RoundRunner::condition(Pending& pending) {
  std::int64_t launches = shape_.conditioning_launches;
  if (asked_.calls()) launches += static_cast<std::int64_t>(lengths_.below(launches > 1 ? 3 : 2));
  const bool watches = watches_calls();
  for (std::int64_t i = 0; i < launches; ++i) {
    work_.queue.set_cache(work_.cache, work_.workload);
    if (watches) pending.conditioning_marks.push_back(work_.queue.mark());
    work_.queue.launch(work_.workload);
    if (watches) pending.conditioning_marks.push_back(work_.queue.mark());
  }
}

// A program that waits for its host does not sleep between its calls. After a sleep of 35 ms one host
// launched PyTorch's kernels 15 to 70 % slower for more than 40 calls of 3 ms, but only 1 to 15 % slower
// after a rest awake; on another host both were alike (docs/notebook/2026-11-26-a-host-that-sleeps.md).
void RoundRunner::rest(Nanoseconds idle) {
  constexpr Nanoseconds kWarmsItsCaches = milliseconds(10);
  if (!shape_.host_is_timed) return work_.device.idle(idle);
  work_.device.idle_awake(idle);
  wake(kWarmsItsCaches);
}

void RoundRunner::wake(Nanoseconds duration) {
  // Few enough that long launches do not overrun the time by much, many enough that short ones leave no
  // pause.
  constexpr int kLaunches = 16;
  const Nanoseconds end = work_.device.host_time() + duration;
  const auto is_over = [&] { return work_.device.host_time() >= end; };
  while (is_in_step() ? !decisions_->of_all(Question::has_woken, is_over()) : !is_over()) {
    for (int i = 0; i < kLaunches && (is_in_step() || !is_over()); ++i) work_.queue.launch(work_.workload);
    work_.queue.wait();
  }
}

RoundRunner::Pending RoundRunner::enqueue_round(Nanoseconds epoch) {
  Pending pending;
  enqueue_timed(pending, epoch);
  return pending;
}

void RoundRunner::enqueue_timed(Pending& pending, Nanoseconds epoch) {
  pending.started = work_.device.host_time() - epoch;
  pending.before = work_.queue.stamp_clock();
  timer_->enqueue(pending.marks);
  pending.after = work_.queue.stamp_clock();
  pending.end = work_.queue.mark();
}

std::optional<ClockReading> RoundRunner::clock_of(const Pending& pending) {
  return work_.queue.clock_between(pending.before, pending.after);
}

Round RoundRunner::finish_round(const Pending& pending) {
  work_.queue.wait_for(pending.end);
  Round round;
  round.started = pending.started;
  round.launches = timer_->read(pending.marks);
  round.taken_by_others = timer_->taken_by_others();
  round.launches_per_value = timer_->launches_per_value();
  round.grain =
      timer_->constant().grain / static_cast<double>(std::max<std::int64_t>(1, round.launches_per_value));
  if (const auto clock = clock_of(pending)) round.clock = clock->frequency;
  return round;
}

RoundRunner::Pending RoundRunner::run_part(Nanoseconds epoch, Nanoseconds patience) {
  const HoldLimit limited(work_.queue, patience);
  QueueHold hold(work_.queue);
  const bool is_as_launched = queue_mode_ == QueueMode::eager || replay_;
  const bool is_held = !is_as_launched && timer_->may_be_held() && !shape_.launches_wait;
  if (is_held) hold.begin();
  Pending pending;
  condition(pending);
  // Instruments on the host wait for the queue, so conditioning must be over first.
  if (!is_held) work_.queue.wait();
  enqueue_timed(pending, epoch);
  hold.release();
  work_.queue.wait();
  return pending;
}

namespace {

// Cycles over nanoseconds of all parts. Between parts the GPU waits for the host at another clock, so a
// window over these pauses would be wrong by what the power limits allow an idle chip.
class ClockMean {
 public:
  void add(const std::optional<ClockReading>& reading) {
    known_ = known_ && reading && reading->window > Nanoseconds(0);
    if (!known_) return;
    cycles_ += cycles_in(reading->window, reading->frequency);
    window_ += reading->window;
  }
  std::optional<Hertz> value() const {
    if (!known_ || window_ <= Nanoseconds(0)) return std::nullopt;
    return Hertz(cycles_.value() / to_seconds(window_));
  }

 private:
  Cycles cycles_;
  Nanoseconds window_;
  bool known_ = true;
};

}  // namespace

// Doubles the patience after a lost round: a host that stopped for longer than that is likely to stop again.
RoundRunner::Pending RoundRunner::run_patient_part(Nanoseconds epoch) {
  constexpr Nanoseconds kMostPatience = seconds(10);
  try {
    return run_part(epoch, shape_.patience);
  } catch (const HoldTimeoutError&) {
    shape_.patience = std::min(kMostPatience, shape_.patience * 2.0);
    throw;
  }
}

void RoundRunner::read_calls(const Pending& pending, const std::vector<Nanoseconds>& timed,
                             std::vector<Nanoseconds>& calls) {
  if (!watches_calls()) return;
  const std::vector<Mark>& marks = pending.conditioning_marks;
  for (std::size_t i = 0; i + 1 < marks.size(); i += 2) {
    const Nanoseconds taken = work_.queue.taken_by_others(marks[i], marks[i + 1]).value_or(Nanoseconds(0));
    calls.push_back(work_.queue.elapsed(marks[i], marks[i + 1]) - taken - timer_->constant().value);
  }
  calls.insert(calls.end(), timed.begin(), timed.end());
}

Round RoundRunner::run_held_round(Nanoseconds idle, Nanoseconds epoch) {
  if (idle > Nanoseconds(0)) rest(idle);
  Round round;
  ClockMean clock;
  std::vector<Nanoseconds> calls;
  const std::int64_t first_call = asked_.calls().value_or(0);
  std::optional<HoldTimeoutError> lost;
  for (std::int64_t part = 0; part < shape_.parts; ++part) {
    Pending pending;
    try {
      pending = run_patient_part(epoch);
    } catch (const HoldTimeoutError& error) {
      // The other processes do not know of it, and make the launches of the parts to come.
      if (!is_in_step()) throw;
      lost = error;
    }
    if (lost) continue;
    Round more = finish_round(pending);
    read_calls(pending, more.launches, calls);
    clock.add(clock_of(pending));
    if (part == 0) {
      round = std::move(more);
    } else {
      round.launches.insert(round.launches.end(), more.launches.begin(), more.launches.end());
      if (more.taken_by_others)
        round.taken_by_others = round.taken_by_others.value_or(Nanoseconds(0)) + *more.taken_by_others;
    }
  }
  if (lost) throw *std::move(lost);
  if (!calls.empty()) {
    round.calls = std::move(calls);
    round.first_call = first_call;
  }
  round.clock = clock.value();
  round.idle_before = idle;
  round.sensors = work_.device.read_sensors();
  return round;
}

namespace {

// Returns the time of one launch among many, which share the 0.3 us of a call into an interpreter.
Nanoseconds time_in_a_row(const TimedWork& work, Nanoseconds launch_time) {
  constexpr int kLaunches = 1000;
  if (launch_time > microseconds(5)) return launch_time;
  const Mark begin = work.queue.mark();
  work.queue.launch_in_a_row(work.workload, kLaunches);
  const Mark end = work.queue.mark();
  work.queue.wait();
  return std::min(launch_time, work.queue.elapsed(begin, end) / kLaunches);
}

// Returns the time to evict a CPU's cache. The first one may allocate and fill the memory that it sweeps.
Nanoseconds eviction_time(const TimedWork& work) {
  Nanoseconds time;
  for (int i = 0; i < 2; ++i) {
    const Nanoseconds start = work.device.host_time();
    work.queue.set_cache(work.cache, work.workload);
    work.queue.wait();
    time = work.device.host_time() - start;
    if (time < milliseconds(2)) break;  // 40 of them take less than 0.1 s
  }
  return time;
}

}  // namespace

bool look_at_host(const TimedWork& work, const RoundShape& shape, LaunchFacts& facts) {
  if (!work.device.describe().capabilities.is_host || shape.instrument != Instrument::events) return false;
  if (work.cache == CacheState::warm) {
    facts.time_in_a_row = time_in_a_row(work, facts.launch_time);
  } else {
    // Evicting 480 MiB takes 50 ms for each launch: 40 of them fill 2 s, more than the 1.5 s for all rounds.
    facts.eviction = eviction_time(work);
  }
  return true;
}

}  // namespace jitterscope
