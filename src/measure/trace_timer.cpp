#include "jitterscope/error.hpp"
#include "measure/gate_guard.hpp"
#include "measure/round_timer.hpp"

namespace jitterscope {
namespace {

class TraceTimer final : public RoundTimer {
 public:
  TraceTimer(const TimedWork& work, std::int64_t values) : work_(work), values_(values) {}

  Instrument instrument() const override { return Instrument::cupti; }
  InstrumentConstant constant() const override { return {}; }
  std::int64_t launches_per_value() const override { return 1; }
  // It closes a gate of its own, since the tracer must outlive the wait.
  bool may_be_gated() const override { return false; }

  void enqueue(std::vector<Mark>& /*marks*/) override {
    work_.queue.wait();
    const std::unique_ptr<KernelTracer> tracer = work_.device.trace_kernels();
    GateGuard gate(work_.queue);
    gate.close();
    for (std::int64_t value = 0; value < values_; ++value) {
      work_.queue.set_cache(work_.cache, work_.workload);
      work_.queue.launch(work_.workload);
    }
    gate.open();
    work_.queue.wait();
    kernels_ = tracer->stop();
  }

  std::vector<Nanoseconds> read(const std::vector<Mark>& /*marks*/) override {
    const auto launches = static_cast<std::size_t>(values_);
    if (kernels_.empty() || kernels_.size() % launches != 0) {
      throw FailedError("the tracer reported " + std::to_string(kernels_.size()) + " kernels for " +
                        std::to_string(launches) + " equal launches: some records were lost; run it again");
    }
    const std::size_t kernels_per_launch = kernels_.size() / launches;
    std::vector<Nanoseconds> times;
    for (std::size_t i = 0; i < kernels_.size(); i += kernels_per_launch) {
      times.push_back(kernels_[i + kernels_per_launch - 1].end - kernels_[i].start);
    }
    return times;
  }

 private:
  TimedWork work_;
  std::int64_t values_;
  std::vector<KernelTime> kernels_;
};

}  // namespace

std::unique_ptr<RoundTimer> make_trace_timer(const TimedWork& work, std::int64_t values) {
  return std::make_unique<TraceTimer>(work, values);
}

}  // namespace jitterscope
