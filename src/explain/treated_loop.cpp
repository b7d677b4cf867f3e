#include "explain/treated_loop.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "explain/treatment.hpp"
#include "jitterscope/error.hpp"
#include "measure/launch_details.hpp"
#include "measure/round_timer.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {
namespace {

constexpr int kWarmUpLaunches = 3;
// Launches before the loop, so that it begins in its later state. A loop of one launch has none.
constexpr int kConditioningLaunches = 2;

DataType fast_type(const DeviceDescription& device) {
  const auto& types = device.data_types;
  return std::ranges::find(types, DataType::bf16) != types.end() ? DataType::bf16 : DataType::f32;
}

struct MarkPair {
  Mark from, to;
};

Nanoseconds median_between(Queue& queue, const std::vector<MarkPair>& pairs, Nanoseconds grain) {
  std::vector<double> times;
  for (const MarkPair& pair : pairs) times.push_back(queue.elapsed(pair.from, pair.to).value());
  return Nanoseconds(statistics::median_of_readings(times, grain.value()));
}

}  // namespace

std::int64_t usual_launches(Nanoseconds launch_time) {
  constexpr double kMost = 50;
  const double fewest = std::clamp(milliseconds(200) / launch_time, 3.0, 10.0);
  return std::llround(std::clamp(milliseconds(5) / launch_time, fewest, kMost));
}

TreatedLoop::TreatedLoop(Session& session, TrialSubject subject, std::uint64_t seed,
                         StartNeighbour start_neighbour)
    : session_(session),
      subject_(std::move(subject)),
      seed_(seed),
      lengths_(seed),
      description_(session.device().describe()),
      start_neighbour_(std::move(start_neighbour)) {
  PreparedSubject& plain = prepared_[variant_of(Treatment())];
  const Nanoseconds began = session.device().host_time();
  plain = subject_.prepare(session.device(), {.seed = seed, .placement = seed}, "");
  first_preparation_ = session.device().host_time() - began;
  const FirstCall first =
      make_first_call(session.device(), session.queue(), *plain.workload, session.calibration().events.value);
  first_call_ = first.time;
  launch_time_ = std::max(first.launch_time, Nanoseconds(1));
  launch_cost_ = first.launch_cost;
  waits_ = first.waits_for_queue;
  wait_for_work_elsewhere();
}

// Launches the function to find out whether it uses streams of its own.
void TreatedLoop::wait_for_work_elsewhere() {
  if (subject_.callable() == nullptr || !description_.capabilities.launches_return_early) return;
  constexpr Nanoseconds kFewKernels = microseconds(200);  // five launches fit into a held queue
  if (leaves_work_elsewhere(session_, plain())) {
    subject_.set_place(WorkPlace::elsewhere);
  } else if (!waits_ && launch_time_ < kFewKernels && launches_nothing(session_, plain())) {
    subject_.set_place(WorkPlace::nowhere);
  } else {
    return;
  }
  prepared_plain() = subject_.prepare(session_.device(), {}, "");
  launch_time_ =
      make_first_call(session_.device(), session_.queue(), plain(), session_.calibration().events.value)
          .launch_time;
  waits_ = true;
}

// A pause of some microseconds does not matter beside so long a launch.
bool TreatedLoop::stops_within() {
  if (!is_long() || !stop_) return false;
  session_.queue().wait();
  return stop_();
}

TreatedLoop::Variant TreatedLoop::variant_of(const Treatment& treatment) {
  return {treatment.data, treatment.engine, treatment.offset, treatment.rows, treatment.heap_piece};
}

// Only on a host: a GPU's eviction takes a tenth of a millisecond.
void TreatedLoop::time_evictions() {
  if (!description_.capabilities.is_host) return;
  Queue& queue = session_.queue();
  queue.set_cache(CacheState::dirty, plain());  // allocates its memory
  queue.wait();
  const Nanoseconds began = session_.device().host_time();
  queue.set_cache(CacheState::dirty, plain());
  queue.wait();
  eviction_time_ = session_.device().host_time() - began;
}

// A loop longer than the others is a load to the round after it (docs/method.md, Causes).
bool TreatedLoop::heats(const Treatment& treatment) const {
  constexpr Nanoseconds kShortLoop = milliseconds(50);
  const bool is_longer = treatment.launches > usual_launches() &&
                         launch_time_ * static_cast<double>(treatment.launches) > kShortLoop;
  return is_longer || treatment.load > Nanoseconds(0);
}

Nanoseconds TreatedLoop::duration(const Treatment& treatment) const {
  const auto launches = static_cast<double>(treatment.launches > 0 ? treatment.launches : usual_launches());
  Nanoseconds between = treatment.host_delay + microseconds(treatment.wait == WaitBehindEach::none ? 5 : 10);
  if (treatment.cache != CacheState::warm) between += eviction_time_;
  const double before = launches > kConditioningLaunches ? kConditioningLaunches : 0.0;
  return treatment.idle + treatment.load + (launch_time_ + between) * (launches + before);
}

FirstWork TreatedLoop::find_first_work() {
  Device& device = session_.device();
  FirstWork work{.launch = first_call_, .later_launch = launch_time_};
  if (subject_.callable() != nullptr) return work;
  work.preparation = first_preparation_;
  constexpr Nanoseconds kLong = seconds(1);
  if (first_preparation_ > kLong) return work;
  try {
    const Nanoseconds began = device.host_time();
    const PreparedSubject again = subject_.prepare(device, {.seed = seed_, .placement = seed_}, "");
    work.preparation_again = device.host_time() - began;
  } catch (const UsageError&) {  // no room for a second one
    return work;
  }
  Bytes memory;
  for (const MemoryRegion& region : plain().memory()) memory += region.size;
  if (!description_.capabilities.allocates_memory || memory == Bytes(0)) return work;
  const Nanoseconds began = device.host_time();
  const auto taken = session_.queue().allocate(memory, MemorySource::driver);
  session_.queue().wait();
  work.allocation = device.host_time() - began;
  return work;
}

PreparedSubject& TreatedLoop::prepared(const Treatment& treatment) {
  const Variant key = variant_of(treatment);
  if (const auto known = prepared_.find(key); known != prepared_.end()) return known->second;
  PreparedSubject variant = subject_.prepare(session_.device(),
                                             {.kind = treatment.data,
                                              .seed = seed_,
                                              .placement = seed_,
                                              .offset = treatment.offset,
                                              .rows = treatment.rows,
                                              .heap_piece = treatment.heap_piece},
                                             treatment.engine);
  session_.queue().launch_in_a_row(*variant.workload, kWarmUpLaunches);
  session_.queue().wait();
  return prepared_.emplace(key, std::move(variant)).first->second;
}

bool TreatedLoop::place_anew() {
  const bool is_moved = plain().place_anew();
  for (const auto& [variant, workload] : prepared_) {
    if (workload.workload.get() != &plain()) workload.workload->place_anew();
  }
  return is_moved;
}

Workload& TreatedLoop::large_product() {
  if (!product_) {
    const std::int64_t size = description_.large_work.product;
    const Operation product(Matmul{.m = size, .n = size, .k = size, .dtype = fast_type(description_)});
    product_ = session_.device().prepare(product, {.seed = seed_});
    session_.queue().launch(*product_);
    session_.queue().wait();
  }
  return *product_;
}

Workload& TreatedLoop::copy_of(Bytes traffic) {
  std::unique_ptr<PreparedOperation>& copy = copies_[traffic];
  if (!copy) {
    copy = session_.device().prepare(
        Operation(Copy{.bytes = std::max<std::int64_t>(traffic.value() / 2, 16)}), {.seed = seed_});
    session_.queue().launch(*copy);
    session_.queue().wait();
  }
  return *copy;
}

void TreatedLoop::load(Nanoseconds duration, double duty) {
  Workload& product = large_product();
  Device& device = session_.device();
  const Nanoseconds end = device.host_time() + duration;
  constexpr int kInFlight = 2;  // so that the device has no pause, and the load ends when it should
  while (device.host_time() < end) {
    const Nanoseconds began = device.host_time();
    session_.queue().launch_in_a_row(product, kInFlight);
    session_.queue().wait();
    if (duty < 1.0) device.idle((device.host_time() - began) * (1.0 / duty - 1.0));
  }
}

void TreatedLoop::delay_host(Nanoseconds duration) {
  if (duration > Nanoseconds(0)) session_.device().idle_awake(duration);
}

void TreatedLoop::set_caches(Workload& workload, const Treatment& treatment) {
  Queue& queue = session_.queue();
  if (treatment.traffic > Bytes(0)) queue.launch(copy_of(treatment.traffic));
  if (treatment.cache != CacheState::warm) queue.set_cache(treatment.cache, workload);
}

void TreatedLoop::wait_behind(Mark end, WaitBehindEach way) {
  Queue& queue = session_.queue();
  switch (way) {
    case WaitBehindEach::none: return;
    case WaitBehindEach::usual: return queue.wait();
    case WaitBehindEach::asleep: return queue.wait_asleep();
    case WaitBehindEach::polling:
      while (!queue.has_passed(end)) {
      }
  }
}

LoopReading TreatedLoop::run_loop(Workload& workload, const Treatment& treatment, std::int64_t launches) {
  Queue& queue = session_.queue();
  const bool may_load = workload.calls().has_value();
  const HoldLimit limited(
      queue,
      may_load ? std::max(seconds(1), launch_cost_ * (4.0 * static_cast<double>(launches))) : Nanoseconds(0));
  QueueHold hold(queue);
  // Freeing memory may wait for the device, and so in a held queue until its time limit.
  const bool is_held = treatment.queue == QueueMode::saturated && may_be_held() && !treatment.allocator;
  if (is_held) hold.begin();
  std::vector<MarkPair> pairs;
  const ClockStamp before = queue.stamp_clock();
  for (std::int64_t i = 0; i < launches; ++i) {
    set_caches(workload, treatment);
    MarkPair pair;
    pair.from = queue.mark();
    delay_host(treatment.host_delay);
    std::unique_ptr<TemporaryMemory> memory;
    if (treatment.allocator) memory = queue.allocate(subject_.output_bytes(), *treatment.allocator);
    queue.launch(workload);
    memory.reset();
    pair.to = queue.mark();
    pairs.push_back(pair);
    if (treatment.companion) companion_->keep_up();
    if (!is_held) wait_behind(pair.to, treatment.wait);
    if (stops_within()) break;
  }
  const ClockStamp after = queue.stamp_clock();
  hold.release();
  if (treatment.companion) {
    while (!queue.has_passed(pairs.back().to)) companion_->keep_up();
  }
  queue.wait();
  LoopReading reading{median_between(queue, pairs, session_.calibration().events.grain), std::nullopt};
  if (const auto clock = queue.clock_between(before, after)) reading.clock = clock->frequency;
  return reading;
}

LoopReading TreatedLoop::run_recording(Workload& workload, const Treatment& treatment,
                                       std::int64_t launches) {
  Queue& queue = session_.queue();
  std::unique_ptr<Recording>& recording = recordings_[{variant_of(treatment), launches}];
  if (!recording) {
    workload.prepare_recording(queue.native());
    recording = queue.record([&](Queue& recorded) {
      for (std::int64_t i = 0; i < launches; ++i) recorded.launch(workload);
    });
    queue.replay(*recording);
    queue.wait();
  }
  const ClockStamp before = queue.stamp_clock();
  const Mark from = queue.mark();
  queue.replay(*recording);
  const Mark to = queue.mark();
  const ClockStamp after = queue.stamp_clock();
  queue.wait();
  LoopReading reading{queue.elapsed(from, to) / static_cast<double>(launches), std::nullopt};
  if (const auto clock = queue.clock_between(before, after)) reading.clock = clock->frequency;
  return reading;
}

LoopReading TreatedLoop::run_own_reading(Workload& workload, const Treatment& treatment) {
  std::unique_ptr<RoundRunner>& runner = runners_[{variant_of(treatment), treatment.cache}];
  if (!runner) {
    const TimedWork work{session_.device(), session_.queue(), workload, treatment.cache};
    MeasureOptions options;
    if (!may_be_held()) options.queue = QueueMode::eager;
    const LaunchFacts facts{
        .launch_time = launch_time_, .launch_cost = launch_cost_, .waits = waits_, .cache = treatment.cache};
    const RoundShape shape = LocalDecisions().shape_rounds(facts, options, session_.calibration());
    runner = std::make_unique<RoundRunner>(work, shape, options, session_.calibration());
  }
  const Round round = runner->run_held_round(Nanoseconds(0), Nanoseconds(0));
  return {round.time(), round.clock};
}

LoopReading TreatedLoop::run_beside_companion(Workload& workload, const Treatment& treatment,
                                              std::int64_t launches) {
  if (!companion_) companion_ = std::make_unique<CompanionLoad>(session_, seed_);
  companion_->start(*treatment.companion);
  const LoopReading reading = run_loop(workload, treatment, launches);
  companion_->stop();
  return reading;
}

// Starts the process once, at first need: it rests between the loops that it runs beside.
Neighbour& TreatedLoop::neighbour() {
  if (!neighbour_ && start_neighbour_) neighbour_ = start_neighbour_();
  if (!neighbour_) throw NeighbourLostError("no other process can be started from here");
  return *neighbour_;
}

// Tries again if a program's function loads a kernel or compiles in a held queue: this costs a loop, not the
// study.
// A slow call among several leaves their median alone. A loop of one call has none, so three of them are run
// where calls may differ: of work that is slow in every 7th call, single ones take 15 % longer in the mean.
LoopReading TreatedLoop::run(const Treatment& treatment) {
  constexpr std::int64_t kFewestCalls = 3;
  if (treatment.launches == 0 || treatment.launches >= kFewestCalls || !plain().calls())
    return run_patiently(treatment);
  std::array<LoopReading, kFewestCalls> readings;
  for (LoopReading& each : readings) each = run_patiently(treatment);
  std::ranges::sort(readings, {}, &LoopReading::time);
  return readings[readings.size() / 2];
}

LoopReading TreatedLoop::run_patiently(const Treatment& treatment) {
  constexpr int kTries = 3;
  for (int tried = 1;; ++tried) {
    try {
      return run_once(treatment);
    } catch (const HoldTimeoutError&) {
      if (tried == kTries || !plain().calls()) throw;
    }
  }
}

LoopReading TreatedLoop::run_once(const Treatment& treatment) {
  Workload& workload = *prepared(treatment).workload;
  Queue& queue = session_.queue();
  is_heated_ = is_heated_ || heats(treatment);
  if (treatment.load > Nanoseconds(0)) load(treatment.load, treatment.load_duty);
  if (treatment.idle > Nanoseconds(0)) session_.device().idle(treatment.idle);
  const std::int64_t launches = treatment.launches > 0 ? treatment.launches : usual_launches();
  // These exist for the loop alone and end with it, however it ends.
  std::optional<PinnedThread> core;
  std::optional<BusyNeighbour> busy_thread;
  if (treatment.core_shared) core.emplace();
  if (treatment.core_shared.value_or(0.0) > 0.0) busy_thread.emplace(*treatment.core_shared);
  std::optional<NeighbourAtWork> beside;
  if (treatment.neighbour) beside.emplace(neighbour(), *treatment.neighbour);
  if (treatment.is_own_reading) return run_own_reading(workload, treatment);
  if (launches > kConditioningLaunches) {
    // If calls may differ, a random number of further launches keeps loops out of step with work that recurs.
    const int more = workload.calls() ? static_cast<int>(lengths_.below(3)) : 0;
    for (int i = 0; i < kConditioningLaunches + more; ++i) {
      set_caches(workload, treatment);
      queue.launch(workload);
    }
  }
  const bool is_recorded = treatment.queue == QueueMode::graph && treatment.cache == CacheState::warm &&
                           treatment.traffic == Bytes(0) && !treatment.allocator;
  if (is_recorded) return run_recording(workload, treatment, launches);
  queue.wait();
  return treatment.companion ? run_beside_companion(workload, treatment, launches)
                             : run_loop(workload, treatment, launches);
}

CounterReading TreatedLoop::count(CounterReader& reader, const Treatment& treatment) {
  Workload& workload = *prepared(treatment).workload;
  Queue& queue = session_.queue();
  const auto prepare = [&] {
    for (int i = 0; i < kConditioningLaunches; ++i) {
      set_caches(workload, treatment);
      queue.launch(workload);
    }
    set_caches(workload, treatment);
    queue.wait();
  };
  const auto launch = [&] {
    queue.launch(workload);
    queue.wait();
  };
  return reader.read(prepare, launch);
}

void TreatedLoop::rehearse(const Treatment& treatment) {
  Treatment quick = treatment;
  quick.idle = Nanoseconds(0);
  quick.load = std::min(treatment.load, milliseconds(5));
  if (quick.launches > usual_launches()) quick.launches = usual_launches();
  run(quick);
}

}  // namespace jitterscope::explain
