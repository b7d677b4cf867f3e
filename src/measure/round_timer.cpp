#include "measure/round_timer.hpp"

#include "jitterscope/error.hpp"
#include "measure/launch_details.hpp"

namespace jitterscope {
namespace {

class EventTimer final : public RoundTimer {
 public:
  EventTimer(const TimedWork& work, std::int64_t values, std::int64_t group,
             const InstrumentConstant& constant)
      : work_(work), values_(values), group_(group), constant_(constant) {}

  Instrument instrument() const override { return Instrument::events; }
  InstrumentConstant constant() const override { return constant_; }
  std::int64_t launches_per_value() const override { return group_; }

  void enqueue(std::vector<Mark>& marks) override {
    if (work_.cache == CacheState::warm) marks.push_back(work_.queue.mark());
    for (std::int64_t value = 0; value < values_; ++value) {
      if (work_.cache != CacheState::warm) {
        work_.queue.set_cache(work_.cache, work_.workload);
        marks.push_back(work_.queue.mark());
      }
      work_.queue.launch_in_a_row(work_.workload, group_);
      marks.push_back(work_.queue.mark());
    }
  }

  std::vector<Nanoseconds> read(const std::vector<Mark>& marks) override {
    // Warm launches share a mark with their neighbour; evicted ones have two marks each.
    const std::size_t step = work_.cache == CacheState::warm ? 1 : 2;
    std::vector<Nanoseconds> times;
    taken_.reset();
    for (std::size_t i = 0; i + 1 < marks.size(); i += step) {
      Nanoseconds elapsed = work_.queue.elapsed(marks[i], marks[i + 1]);
      if (const auto taken = work_.queue.taken_by_others(marks[i], marks[i + 1])) {
        taken_ = taken_.value_or(Nanoseconds(0)) + *taken;
        elapsed -= *taken;
      }
      times.push_back((elapsed - constant_.value) / static_cast<double>(group_));
    }
    return times;
  }
  std::optional<Nanoseconds> taken_by_others() const override { return taken_; }

 private:
  TimedWork work_;
  std::int64_t values_, group_;
  InstrumentConstant constant_;
  std::optional<Nanoseconds> taken_;
};

class SlopeTimer final : public RoundTimer {
 public:
  SlopeTimer(const TimedWork& work, const SlopeShape& shape, const InstrumentConstant& constant)
      : work_(work), shape_(shape), constant_(constant) {
    const bool evicts = work.cache != CacheState::warm;
    short_ = record(evicts ? shape.long_launches : shape.short_launches, !evicts);
    long_ = record(shape.long_launches, true);
    if (evicts) shape_.short_launches = 0;
  }

  Instrument instrument() const override { return Instrument::graph; }
  InstrumentConstant constant() const override { return constant_; }
  std::int64_t launches_per_value() const override { return shape_.long_launches - shape_.short_launches; }

  void enqueue(std::vector<Mark>& marks) override {
    // The first replay after an idle takes 15 to 30 us more (H200), which is 2 % of a slope: it is not timed.
    work_.queue.replay(*long_);
    for (std::int64_t pair = 0; pair < shape_.pairs; ++pair) {
      marks.push_back(work_.queue.mark());
      work_.queue.replay(*short_);
      marks.push_back(work_.queue.mark());
      work_.queue.replay(*long_);
      marks.push_back(work_.queue.mark());
    }
  }

  std::vector<Nanoseconds> read(const std::vector<Mark>& marks) override {
    const auto launches = static_cast<double>(launches_per_value());
    std::vector<Nanoseconds> times;
    for (std::size_t i = 0; i + 2 < marks.size(); i += 3) {
      const Nanoseconds shorter = work_.queue.elapsed(marks[i], marks[i + 1]);
      const Nanoseconds longer = work_.queue.elapsed(marks[i + 1], marks[i + 2]);
      times.push_back((longer - shorter) / launches - constant_.value);
    }
    return times;
  }

 private:
  std::unique_ptr<Recording> record(std::int64_t repetitions, bool launches) {
    if (launches) work_.workload.prepare_recording(work_.queue.native());
    return work_.queue.record([&](Queue& queue) {
      if (work_.cache == CacheState::warm) return queue.launch_in_a_row(work_.workload, repetitions);
      for (std::int64_t i = 0; i < repetitions; ++i) {
        queue.set_cache(work_.cache, work_.workload);
        if (launches) queue.launch(work_.workload);
      }
    });
  }

  TimedWork work_;
  SlopeShape shape_;
  InstrumentConstant constant_;
  std::unique_ptr<Recording> short_, long_;
};

class HostTimer final : public RoundTimer {
 public:
  HostTimer(const TimedWork& work, std::int64_t values) : work_(work), values_(values) {}

  Instrument instrument() const override { return Instrument::host; }
  InstrumentConstant constant() const override { return {}; }
  std::int64_t launches_per_value() const override { return 1; }
  bool may_be_held() const override { return false; }

  void enqueue(std::vector<Mark>& /*marks*/) override {
    times_.clear();
    for (std::int64_t value = 0; value < values_; ++value) {
      work_.queue.set_cache(work_.cache, work_.workload);
      work_.queue.wait();
      const Nanoseconds start = work_.device.host_time();
      work_.queue.launch(work_.workload);
      work_.queue.wait();
      times_.push_back(work_.device.host_time() - start);
    }
  }

  std::vector<Nanoseconds> read(const std::vector<Mark>& /*marks*/) override { return times_; }

 private:
  TimedWork work_;
  std::int64_t values_;
  std::vector<Nanoseconds> times_;
};

class TraceTimer final : public RoundTimer {
 public:
  TraceTimer(const TimedWork& work, std::int64_t values, bool is_held)
      : work_(work), values_(values), held_(is_held) {}

  Instrument instrument() const override { return Instrument::cupti; }
  InstrumentConstant constant() const override { return {}; }
  std::int64_t launches_per_value() const override { return 1; }
  // It holds the queue itself, since the tracer must outlive the wait.
  bool may_be_held() const override { return false; }

  void enqueue(std::vector<Mark>& /*marks*/) override {
    work_.queue.wait();
    const std::unique_ptr<KernelTracer> tracer = work_.device.trace_kernels();
    QueueHold hold(work_.queue);
    if (held_) hold.begin();
    for (std::int64_t value = 0; value < values_; ++value) {
      work_.queue.set_cache(work_.cache, work_.workload);
      launch_traced(*tracer, work_.queue, work_.workload, static_cast<std::size_t>(value));
    }
    hold.release();
    work_.queue.wait();
    kernels_ = kernels_by_launch(tracer->stop(), static_cast<std::size_t>(values_));
  }

  std::vector<Nanoseconds> read(const std::vector<Mark>& /*marks*/) override {
    require_equal_launches(kernels_);
    std::vector<Nanoseconds> times;
    for (const KernelsOfLaunch& launch : kernels_) {
      if (launch.empty()) {
        throw FailedError(
            "the tracer reported no kernel for a launch: it ran none on the GPU, or its records were lost; "
            "take --instrument host");
      }
      times.push_back(time_of(launch));
    }
    return times;
  }

 private:
  TimedWork work_;
  std::int64_t values_;
  bool held_;
  std::vector<KernelsOfLaunch> kernels_;
};

}  // namespace

std::unique_ptr<RoundTimer> make_event_timer(const TimedWork& work, std::int64_t values, std::int64_t group,
                                             const InstrumentConstant& constant) {
  return std::make_unique<EventTimer>(work, values, group, constant);
}

std::unique_ptr<RoundTimer> make_slope_timer(const TimedWork& work, const SlopeShape& shape,
                                             const InstrumentConstant& constant) {
  return std::make_unique<SlopeTimer>(work, shape, constant);
}

std::unique_ptr<RoundTimer> make_host_timer(const TimedWork& work, std::int64_t values) {
  return std::make_unique<HostTimer>(work, values);
}

std::unique_ptr<RoundTimer> make_trace_timer(const TimedWork& work, std::int64_t values, bool is_held) {
  return std::make_unique<TraceTimer>(work, values, is_held);
}

}  // namespace jitterscope
