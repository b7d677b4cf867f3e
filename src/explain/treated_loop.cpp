#include "explain/treated_loop.hpp"

#include <algorithm>
#include <cmath>

#include "measure/engine_choice.hpp"
#include "measure/first_call.hpp"
#include "measure/gate_guard.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::explain {
namespace {

constexpr int kWarmUpLaunches = 3;
// Before the loop, so that it begins in the state that it has later: a loop of one launch has none.
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

TreatedLoop::TreatedLoop(Session& session, const Operation& operation, std::uint64_t seed)
    : session_(session), operation_(operation), seed_(seed), description_(session.device().describe()) {
  std::unique_ptr<PreparedOperation>& plain = prepared_[{DataKind::normal, ""}];
  plain = session.device().prepare(operation, {.seed = seed, .placement = seed});
  const FirstCall first =
      make_first_call(session.device(), session.queue(), *plain, session.calibration().events.value);
  first_call_ = first.time;
  launch_time_ = std::max(first.launch_time, Nanoseconds(1));
  waits_ = first.waits_for_queue;
}

std::int64_t TreatedLoop::usual_launches() const {
  constexpr double kFewest = 10, kMost = 50;
  return std::llround(std::clamp(milliseconds(5) / launch_time_, kFewest, kMost));
}

Nanoseconds TreatedLoop::duration(const Treatment& treatment) const {
  const auto launches = static_cast<double>(treatment.launches > 0 ? treatment.launches : usual_launches());
  const Nanoseconds between = treatment.host_delay + microseconds(treatment.waits_for_each ? 10 : 5);
  return treatment.idle + treatment.load + (launch_time_ + between) * launches;
}

PreparedOperation& TreatedLoop::prepared(const Treatment& treatment) {
  const Variant key{treatment.data, treatment.engine};
  if (const auto known = prepared_.find(key); known != prepared_.end()) return *known->second;
  const Operation operation =
      treatment.engine.empty() ? operation_ : with_engine(operation_, treatment.engine);
  std::unique_ptr<PreparedOperation> variant =
      session_.device().prepare(operation, {.kind = treatment.data, .seed = seed_, .placement = seed_});
  for (int i = 0; i < kWarmUpLaunches; ++i) session_.queue().launch(*variant);
  session_.queue().wait();
  return *prepared_.emplace(key, std::move(variant)).first->second;
}

bool TreatedLoop::place_anew() {
  const bool is_moved = plain().place_anew();
  for (const auto& [variant, workload] : prepared_) {
    if (workload.get() != &plain()) workload->place_anew();
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

void TreatedLoop::load(Nanoseconds duration) {
  is_heated_ = true;
  Workload& product = large_product();
  const Nanoseconds end = session_.device().host_time() + duration;
  constexpr int kInFlight = 2;  // so that the device has no pause, and the load ends when it should
  while (session_.device().host_time() < end) {
    for (int i = 0; i < kInFlight; ++i) session_.queue().launch(product);
    session_.queue().wait();
  }
}

// A sleep of some microseconds lasts 60 or more; a simulated host has no time but what is spent on it.
void TreatedLoop::delay_host(Nanoseconds duration) {
  if (duration <= Nanoseconds(0)) return;
  Device& device = session_.device();
  if (description_.capabilities.is_simulated) return device.idle(duration);
  const Nanoseconds end = device.host_time() + duration;
  while (device.host_time() < end) {
  }
}

void TreatedLoop::set_caches(PreparedOperation& workload, const Treatment& treatment) {
  Queue& queue = session_.queue();
  if (treatment.traffic > Bytes(0)) queue.launch(copy_of(treatment.traffic));
  if (treatment.cache != CacheState::warm) queue.set_cache(treatment.cache, workload);
}

LoopReading TreatedLoop::run_loop(PreparedOperation& workload, const Treatment& treatment,
                                  std::int64_t launches) {
  Queue& queue = session_.queue();
  GateGuard gate(queue);
  const bool is_gated = treatment.queue == QueueMode::saturated && may_be_gated();
  if (is_gated) gate.close();
  std::vector<MarkPair> pairs;
  const ClockStamp before = queue.stamp_clock();
  for (std::int64_t i = 0; i < launches; ++i) {
    set_caches(workload, treatment);
    MarkPair pair;
    pair.from = queue.mark();
    delay_host(treatment.host_delay);
    queue.launch(workload);
    pair.to = queue.mark();
    pairs.push_back(pair);
    if (treatment.waits_for_each && !is_gated) queue.wait();
  }
  const ClockStamp after = queue.stamp_clock();
  gate.open();
  queue.wait();
  LoopReading reading{median_between(queue, pairs, session_.calibration().events.grain), std::nullopt};
  if (const auto clock = queue.clock_between(before, after)) reading.clock = clock->frequency;
  return reading;
}

LoopReading TreatedLoop::run_recording(PreparedOperation& workload, const Treatment& treatment,
                                       std::int64_t launches) {
  Queue& queue = session_.queue();
  std::unique_ptr<Recording>& recording = recordings_[{{treatment.data, treatment.engine}, launches}];
  if (!recording) {
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

LoopReading TreatedLoop::run_own_reading(PreparedOperation& workload, const Treatment& treatment) {
  std::unique_ptr<RoundRunner>& runner = runners_[{{treatment.data, treatment.engine}, treatment.cache}];
  if (!runner) {
    const TimedWork work{session_.device(), session_.queue(), workload, treatment.cache};
    MeasureOptions options;
    if (!may_be_gated()) options.queue = QueueMode::eager;
    RoundShape shape =
        shape_round(launch_time_, treatment.cache, Load::burst, options, session_.calibration());
    shape.launches_wait = waits_;
    runner = std::make_unique<RoundRunner>(work, shape, options, session_.calibration());
  }
  const Round round = runner->run_gated_round(Nanoseconds(0), Nanoseconds(0));
  return {round.time(), round.clock};
}

LoopReading TreatedLoop::run(const Treatment& treatment) {
  PreparedOperation& workload = prepared(treatment);
  Queue& queue = session_.queue();
  if (treatment.load > Nanoseconds(0)) load(treatment.load);
  if (treatment.idle > Nanoseconds(0)) session_.device().idle(treatment.idle);
  const std::int64_t launches = treatment.launches > 0 ? treatment.launches : usual_launches();
  if (treatment.is_own_reading) return run_own_reading(workload, treatment);
  if (launches > kConditioningLaunches) {
    for (int i = 0; i < kConditioningLaunches; ++i) {
      set_caches(workload, treatment);
      queue.launch(workload);
    }
  }
  const bool is_recorded = treatment.queue == QueueMode::graph && treatment.cache == CacheState::warm &&
                           treatment.traffic == Bytes(0);
  if (is_recorded) return run_recording(workload, treatment, launches);
  queue.wait();
  return run_loop(workload, treatment, launches);
}

void TreatedLoop::rehearse(const Treatment& treatment) {
  Treatment quick = treatment;
  quick.idle = Nanoseconds(0);
  quick.load = std::min(treatment.load, milliseconds(5));
  if (quick.launches > usual_launches()) quick.launches = usual_launches();
  run(quick);
}

}  // namespace jitterscope::explain
