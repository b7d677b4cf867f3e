#include "selftest/peer_rules.hpp"

#include <algorithm>
#include <cmath>

#include "measure/gate_guard.hpp"

namespace jitterscope::selftest {
namespace {

PeerReport report(PeerBench& bench, std::size_t first) {
  RunningMean mean;
  for (std::size_t i = first; i < bench.times().size(); ++i) mean.add(bench.times()[i].value());
  const double error = mean.deviation() / std::sqrt(static_cast<double>(mean.count()));
  return {Nanoseconds(mean.mean()), Nanoseconds(1.96 * error), mean.count(), bench.now()};
}

class NvbenchRule final : public PeerRule {
 public:
  std::string_view name() const override { return "nvbench"; }
  bool flushes() const override { return true; }

  PeerReport measure(PeerBench& bench) const override {
    constexpr std::int64_t kLeastSamples = 10;
    constexpr Nanoseconds kTimeout = seconds(15);
    bench.launch();  // one warm-up run
    bench.wait();
    const std::size_t first = bench.times().size();
    const Nanoseconds start = bench.now();
    StdrelCriterion criterion;
    for (std::int64_t samples = 0; bench.now() - start < kTimeout;) {
      if (samples >= kLeastSamples && criterion.is_finished()) break;
      run_once(bench);
      criterion.add(bench.times().back());
      ++samples;
    }
    return report(bench, first);
  }

 private:
  // With the two clock readings that it puts around each launch.
  static void run_once(PeerBench& bench) {
    bench.flush();
    bench.wait();
    GateGuard gate(bench.queue());
    gate.close();
    bench.queue().stamp_clock();
    bench.queue().mark();
    bench.launch();
    bench.queue().mark();
    bench.queue().stamp_clock();
    gate.open();
    bench.wait();
  }
};

class DoBenchRule final : public PeerRule {
 public:
  std::string_view name() const override { return "do_bench"; }
  bool flushes() const override { return true; }

  PeerReport measure(PeerBench& bench) const override {
    bench.launch();
    bench.wait();
    const Nanoseconds estimate = estimated_time(bench);
    for (std::int64_t i = launches_in(milliseconds(25), estimate); i > 0; --i) bench.launch();
    bench.wait();
    const std::size_t first = bench.times().size();
    for (std::int64_t i = launches_in(milliseconds(100), estimate); i > 0; --i) {
      bench.flush();
      bench.queue().mark();
      bench.launch();
      bench.queue().mark();
    }
    bench.wait();
    return report(bench, first);
  }

 private:
  static std::int64_t launches_in(Nanoseconds length, Nanoseconds estimate) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(length / estimate));
  }

  // Flushes included, as there.
  static Nanoseconds estimated_time(PeerBench& bench) {
    constexpr int kLaunches = 5;
    const Mark start = bench.queue().mark();
    for (int i = 0; i < kLaunches; ++i) {
      bench.flush();
      bench.launch();
    }
    const Mark end = bench.queue().mark();
    bench.wait();
    return bench.queue().elapsed(start, end) / static_cast<double>(kLaunches);
  }
};

class FixedCountRule final : public PeerRule {
 public:
  std::string_view name() const override { return "100 launches"; }
  bool flushes() const override { return false; }

  PeerReport measure(PeerBench& bench) const override {
    constexpr int kWarmUps = 10, kLaunches = 100;
    for (int i = 0; i < kWarmUps; ++i) bench.launch();
    for (int i = 0; i < kLaunches; ++i) bench.launch();
    bench.wait();
    return report(bench, kWarmUps);
  }
};

}  // namespace

void RunningMean::add(double value) {
  ++count_;
  const double before = value - mean_;
  mean_ += before / static_cast<double>(count_);
  squares_ += before * (value - mean_);
}

double RunningMean::deviation() const {
  return count_ < 2 ? 0.0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

PeerBench::PeerBench(const Scene& scene, std::uint64_t seed)
    : device_(virtual_gpu::make_virtual_device(scene.gpu, seed)),
      queue_(device_->make_queue()),
      operation_(device_->prepare(scene.operation, {.kind = scene.options.data, .seed = seed})) {
  device_->on_launch = [this](const physics::Execution& execution) { times_.push_back(execution.time()); };
}

void StdrelCriterion::add(Nanoseconds time) {
  constexpr std::int64_t kFewest = 5;
  constexpr std::size_t kWindow = 512;
  times_.add(time.value());
  if (times_.count() < kFewest) return;
  noise_.push_back(times_.deviation() / times_.mean());
  if (noise_.size() > kWindow) noise_.pop_front();
}

bool StdrelCriterion::is_finished() const {
  constexpr Nanoseconds kLeastTime = seconds(0.5);
  constexpr double kLowNoise = 0.005;
  if (times_.sum() <= kLeastTime.value() || noise_.empty()) return false;
  return noise_.back() < kLowNoise || has_steady_noise();
}

bool StdrelCriterion::has_steady_noise() const {
  constexpr std::size_t kFewest = 64;
  constexpr std::int64_t kEvery = 16;
  constexpr double kSteady = 0.05;
  if (noise_.size() <= kFewest || times_.count() % kEvery != 0) return false;
  double squares = 0.0;
  for (const double noise : noise_) squares += (noise - noise_.back()) * (noise - noise_.back());
  return std::sqrt(squares / static_cast<double>(noise_.size() - 1)) < kSteady * noise_.back();
}

std::unique_ptr<PeerRule> nvbench_rule() { return std::make_unique<NvbenchRule>(); }
std::unique_ptr<PeerRule> do_bench_rule() { return std::make_unique<DoBenchRule>(); }
std::unique_ptr<PeerRule> fixed_count_rule() { return std::make_unique<FixedCountRule>(); }

}  // namespace jitterscope::selftest
