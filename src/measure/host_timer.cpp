#include "measure/round_timer.hpp"

namespace jitterscope {
namespace {

class HostTimer final : public RoundTimer {
 public:
  HostTimer(const TimedWork& work, std::int64_t values) : work_(work), values_(values) {}

  Instrument instrument() const override { return Instrument::host; }
  InstrumentConstant constant() const override { return {}; }
  std::int64_t launches_per_value() const override { return 1; }
  bool may_be_gated() const override { return false; }

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

}  // namespace

std::unique_ptr<RoundTimer> make_host_timer(const TimedWork& work, std::int64_t values) {
  return std::make_unique<HostTimer>(work, values);
}

}  // namespace jitterscope
