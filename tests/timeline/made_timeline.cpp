#include "timeline/made_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace jitterscope::timeline::test {
namespace {

constexpr double kMicrosecond = 1e3, kSecond = 1e9;

class Maker {
 public:
  explicit Maker(const MadeProgram& program) : program_(program), random_(program.seed) {
    process_.label = "pid 1 python3 train.py";
    process_.device_names.push_back({0, "GPU-1", "NVIDIA H200"});
    process_.texts = {"cudaLaunchKernel", "cudaStreamSynchronize"};
    for (std::size_t i = 0; i < program.kernels + program.head + 1; ++i) {
      WorkName name;
      name.name = "kernel_" + std::to_string(i);
      name.grid[0] = 132;
      name.grid[1] = name.grid[2] = name.block[1] = name.block[2] = 1;
      name.block[0] = 256;
      process_.names.push_back(name);
      lengths_.push_back(program.kernel_us * kMicrosecond * random_.uniform(1.0, 3.0));
      calls_.push_back(0);
    }
    WorkName copy;
    copy.kind = WorkKind::copy;
    copy.from = capture::MemoryKind::pinned;
    copy.to = capture::MemoryKind::device;
    copy_ = process_.names.size();
    process_.names.push_back(copy);
    std::swap(copy.from, copy.to);
    if (program.save_every > 0) process_.names.push_back(copy);
  }

  Timeline make() {
    for (std::size_t i = 0; i < program_.warm_up; ++i) kernel(random_.below(program_.kernels), 0.0);
    for (std::size_t step = 0; step < program_.steps; ++step) make_step(step);
    kernel(0, 0.0);
    sort_by_begin(work_);
    process_.devices.push_back(std::move(work_));
    Timeline timeline;
    timeline.source = "made";
    timeline.gpus = {"GPU-1"};
    make_sensors(timeline.sensors);
    timeline.processes.push_back(std::move(process_));
    return timeline;
  }

 private:
  void make_step(std::size_t step) {
    if (program_.prefill_every > 0 && step % program_.prefill_every == 0) {
      for (std::size_t i = 0; i < 40; ++i) kernel(program_.kernels - 1 - i % 3, 0.0);
    }
    time_ += program_.step_gap_us * kMicrosecond;
    if (program_.late_input_every > 0 && step % program_.late_input_every == program_.late_input_every - 1)
      time_ += 9e6;
    if (program_.late_by_chance_us > 0.0 && random_.below(10) == 0)
      time_ += program_.late_by_chance_us * kMicrosecond;
    if (step >= program_.slow_host_from && step < program_.slow_host_to)
      time_ += 4e5 + 1e3 * static_cast<double>(random_.below(400));
    if (program_.allocates_every > 0 && step % program_.allocates_every == program_.allocates_every - 1) {
      if (program_.records_calls) call(time_, 5e6, capture::CallKind::allocation, 0);
      time_ += 5e6;
    }
    if (program_.drift > 0.0) {
      constexpr double kAlike = 0.9;
      drifts_.resize(process_.names.size());
      for (double& each : drifts_)
        each = kAlike * each + std::sqrt(1.0 - kAlike * kAlike) * program_.drift * random_.normal();
    }
    const bool swapped = program_.preceding_slows > 0.0 && random_.below(2) == 1;
    const double trend = program_.trend * static_cast<double>(step) / static_cast<double>(program_.steps);
    const bool copies = program_.copy_slows >= 0.0 && step % program_.copy_every == program_.copy_every - 1;
    const double begin = time_;
    if (program_.as_graphs) ++correlation_;
    slower_ = step >= program_.slower_from ? program_.slower : 0.0;
    if (program_.allocates_every > 0 && (step + 1) % program_.allocates_every < 7)
      slower_ += program_.memory_slows;
    for (std::size_t i = 0; i < program_.head; ++i) kernel(program_.kernels + i, 0.0);
    for (std::size_t layer = 0; layer < program_.layers; ++layer) {
      time_ += program_.layer_gap_us * kMicrosecond;
      for (std::size_t place = 0; place < program_.kernels; ++place) {
        const std::size_t i = swapped && (place == 1 || place == 2) ? 3 - place : place;
        const bool beside = copies && layer == 0 && i < program_.kernels / 2;
        const bool is_long = i == 2 && layer == 0 && ends(program_.long_kernel_every, step, false);
        kernel(i, (i < 3 ? trend : 0.0) + (is_long ? 0.5 : 0.0) + (beside ? program_.copy_slows : 0.0) +
                      (swapped && i == 3 ? program_.preceding_slows : 0.0));
        if (program_.place_slows > 0.0 && i == 0) kernel(0, program_.place_slows);
      }
      if (copies && layer == 0 && program_.records_calls) ++correlation_;
      if (copies && layer == 0) add(copy_, begin, middle_, 7, 64 << 20);
    }
    if (ends(program_.extra_every, step, program_.extra_at_random))
      kernel(program_.kernels + program_.head, 0.0);
    if (ends(program_.save_every, step, false)) {
      add(copy_ + 1, time_, time_ + 2e5, 5, 1 << 20);
      time_ += 2e5 + program_.gap_us * kMicrosecond;
    }
  }

  // Whether something that comes every so many steps ends this one.
  bool ends(std::size_t every, std::size_t step, bool at_random) {
    return every > 0 && (at_random ? random_.below(every) == 0 : step % every == every - 1);
  }

  void kernel(std::size_t what, double slower) {
    const double wave = std::sin(2.0 * std::numbers::pi * time_ / (program_.wave_s * kSecond));
    const bool other = program_.other_process_slows > 0.0 && is_other_there(time_);
    double length =
        lengths_[what] * (1.0 + slower) * (1.0 + slower_) * (1.0 + program_.clock * std::max(0.0, wave));
    if (other) length *= 1.0 + program_.other_process_slows;
    if (calls_[what]++ < 7) length *= 1.0 + program_.first_calls_slow;
    length *= std::exp(program_.noise * random_.normal() + (what < drifts_.size() ? drifts_[what] : 0.0));
    length = std::round(length / 32.0) * 32.0;  // the grain of the GPU's timer
    if (program_.records_calls) {
      // The program keeps ahead of the GPU, but for what comes late.
      const double called = std::max(called_ + 2.0 * kMicrosecond, time_ - 40.0 * kMicrosecond);
      called_ = called;
      call(called, 2.0 * kMicrosecond, capture::CallKind::launch, ++correlation_);
    }
    add(what, time_, time_ + length, 5, 0);
    time_ += length;
    if (what == program_.kernels / 2) middle_ = time_;
    time_ += program_.gap_us * kMicrosecond;
  }

  static bool is_other_there(double time) {
    return static_cast<std::int64_t>(time / (3.0 * kSecond)) % 2 == 1;
  }

  void add(std::size_t what, double begin, double end, std::uint32_t stream, std::uint64_t bytes) {
    work_.begin.push_back(kOrigin + static_cast<Time>(begin));
    work_.end.push_back(kOrigin + static_cast<Time>(end));
    work_.what.push_back(static_cast<std::uint32_t>(what));
    work_.stream.push_back(stream);
    work_.correlation.push_back(correlation_);
    work_.bytes.push_back(bytes);
  }

  void call(double begin, double length, capture::CallKind kind, std::uint32_t correlation) {
    capture::Calls& calls = process_.calls;
    calls.start.push_back(kOrigin + static_cast<Time>(begin));
    calls.duration.push_back(static_cast<Time>(length));
    calls.function.push_back(kind == capture::CallKind::launch ? 0 : 1);
    calls.kind.push_back(static_cast<std::uint8_t>(kind));
    calls.thread.push_back(1);
    calls.correlation.push_back(correlation);
    calls.result.push_back(0);
  }

  void make_sensors(capture::Sensors& sensors) {
    double throttled = 0.0;
    for (double time = 0.0; time < time_; time += 0.02 * kSecond) {
      const double at = time / kSecond - program_.sensors_late_s;
      const double wave = std::max(0.0, std::sin(2.0 * std::numbers::pi * at / program_.wave_s));
      if (program_.clock > 0.0 && program_.clock_shows) throttled += wave * 0.02 * kSecond;
      if (program_.is_capped) throttled += (1.0 + 1e-4 * random_.normal()) * 0.02 * kSecond;
      sensors.time.push_back(kOrigin + static_cast<Time>(time));
      sensors.gpu.push_back(0);
      sensors.clock_mhz.push_back(1980 - (program_.is_capped ? static_cast<std::uint32_t>(250 * wave) : 0));
      sensors.memory_clock_mhz.push_back(3201);
      const double above = 500'000 + (program_.power_shows ? 200'000 * wave : 0.0) + 5'000 * random_.normal();
      sensors.power_mw.push_back(static_cast<std::uint32_t>(above));
      sensors.temperature.push_back(60);
      sensors.energy_mj.push_back(0);
      sensors.throttled_power.push_back(static_cast<std::uint64_t>(throttled));
      sensors.throttled_thermal.push_back(0);
      sensors.throttled_brake.push_back(0);
      sensors.reasons.push_back(0);
      sensors.read_ns.push_back(1000);
      sensors.other_processes.push_back(program_.other_process_slows > 0.0 && is_other_there(time) ? 1 : 0);
    }
  }

  static constexpr Time kOrigin = 1'700'000'000'000'000'000;
  const MadeProgram& program_;
  Random random_;
  Process process_;
  DeviceWork work_;
  std::vector<double> lengths_, drifts_;
  std::vector<std::size_t> calls_;
  std::size_t copy_ = 0;
  double slower_ = 0.0;
  double time_ = 0.0, middle_ = 0.0, called_ = 0.0;
  std::uint32_t correlation_ = 0;
};

}  // namespace

Timeline make_timeline(const MadeProgram& program) { return Maker(program).make(); }

}  // namespace jitterscope::timeline::test
