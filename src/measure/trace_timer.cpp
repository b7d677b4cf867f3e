#include "jitterscope/error.hpp"
#include "measure/gate_guard.hpp"
#include "measure/round_timer.hpp"
#include "measure/traced_launches.hpp"

namespace jitterscope {
namespace {

class TraceTimer final : public RoundTimer {
 public:
  TraceTimer(const TimedWork& work, std::int64_t values, bool gated)
      : work_(work), values_(values), gated_(gated) {}

  Instrument instrument() const override { return Instrument::cupti; }
  InstrumentConstant constant() const override { return {}; }
  std::int64_t launches_per_value() const override { return 1; }
  // It closes a gate of its own, since the tracer must outlive the wait.
  bool may_be_gated() const override { return false; }

  void enqueue(std::vector<Mark>& /*marks*/) override {
    work_.queue.wait();
    const std::unique_ptr<KernelTracer> tracer = work_.device.trace_kernels();
    GateGuard gate(work_.queue);
    if (gated_) gate.close();
    for (std::int64_t value = 0; value < values_; ++value) {
      work_.queue.set_cache(work_.cache, work_.workload);
      launch_traced(*tracer, work_.queue, work_.workload, static_cast<std::size_t>(value));
    }
    gate.open();
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
  bool gated_;
  std::vector<KernelsOfLaunch> kernels_;
};

}  // namespace

std::unique_ptr<RoundTimer> make_trace_timer(const TimedWork& work, std::int64_t values, bool gated) {
  return std::make_unique<TraceTimer>(work, values, gated);
}

}  // namespace jitterscope
