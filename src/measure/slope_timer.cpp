#include "measure/round_timer.hpp"

namespace jitterscope {
namespace {

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
      for (std::int64_t i = 0; i < repetitions; ++i) {
        if (work_.cache != CacheState::warm) queue.set_cache(work_.cache, work_.workload);
        if (launches) queue.launch(work_.workload);
      }
    });
  }

  TimedWork work_;
  SlopeShape shape_;
  InstrumentConstant constant_;
  std::unique_ptr<Recording> short_, long_;
};

}  // namespace

std::unique_ptr<RoundTimer> make_slope_timer(const TimedWork& work, const SlopeShape& shape,
                                             const InstrumentConstant& constant) {
  return std::make_unique<SlopeTimer>(work, shape, constant);
}

}  // namespace jitterscope
