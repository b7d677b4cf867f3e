#include "measure/round_timer.hpp"

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
      for (std::int64_t launch = 0; launch < group_; ++launch) work_.queue.launch(work_.workload);
      marks.push_back(work_.queue.mark());
    }
  }

  std::vector<Nanoseconds> read(const std::vector<Mark>& marks) override {
    // Warm launches share a mark with their neighbour; evicted ones have a pair of their own.
    const std::size_t step = work_.cache == CacheState::warm ? 1 : 2;
    std::vector<Nanoseconds> times;
    for (std::size_t i = 0; i + 1 < marks.size(); i += step) {
      const Nanoseconds elapsed = work_.queue.elapsed(marks[i], marks[i + 1]);
      times.push_back((elapsed - constant_.value) / static_cast<double>(group_));
    }
    return times;
  }

 private:
  TimedWork work_;
  std::int64_t values_, group_;
  InstrumentConstant constant_;
};

}  // namespace

std::unique_ptr<RoundTimer> make_event_timer(const TimedWork& work, std::int64_t values, std::int64_t group,
                                             const InstrumentConstant& constant) {
  return std::make_unique<EventTimer>(work, values, group, constant);
}

}  // namespace jitterscope
