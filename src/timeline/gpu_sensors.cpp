#include "timeline/gpu_sensors.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "statistics/statistics.hpp"

namespace jitterscope::timeline {

GpuSensors::GpuSensors(const Timeline& timeline, const Process& process, std::uint32_t device) {
  std::optional<std::size_t> gpu;
  for (const ProcessDevice& each : process.device_names) {
    const auto found = std::find(timeline.gpus.begin(), timeline.gpus.end(), each.uuid);
    if (each.device == device && found != timeline.gpus.end()) {
      gpu = static_cast<std::size_t>(found - timeline.gpus.begin());
    }
  }
  const capture::Sensors& all = timeline.sensors;
  for (std::size_t i = 0; gpu && i < all.time.size(); ++i) {
    // The clock may have been set back.
    if (all.gpu[i] != *gpu || (!times_.empty() && all.time[i] <= times_.back())) continue;
    times_.push_back(all.time[i]);
    throttled_.push_back(static_cast<double>(all.throttled_power[i]) +
                         static_cast<double>(all.throttled_thermal[i]) +
                         static_cast<double>(all.throttled_brake[i]));
    clocks_.push_back(all.clock_mhz[i]);
    powers_.push_back(all.power_mw[i]);
    others_.push_back(all.other_processes[i]);
  }
}

bool GpuSensors::varies(Sign what, const std::vector<double>& values) {
  constexpr double kLeastHeld = 0.01, kLeastOfMiddle = 0.002;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double limit =
      what == Sign::held ? kLeastHeld : kLeastOfMiddle * std::abs(statistics::median(values));
  return *most - *least > limit;
}

double GpuSensors::sign(Sign what, Time from, Time to) const {
  switch (what) {
    case Sign::held:
      return (at(throttled_, to) - at(throttled_, from)) / static_cast<double>(std::max<Time>(to - from, 1));
    case Sign::clock: return -0.5 * (at(clocks_, from) + at(clocks_, to));
    case Sign::power: return 0.5 * (at(powers_, from) + at(powers_, to));
  }
  return 0.0;
}

double GpuSensors::share_with_others() const {
  const auto with =
      std::count_if(others_.begin(), others_.end(), [](std::uint32_t count) { return count > 0; });
  return others_.empty() ? 0.0 : static_cast<double>(with) / static_cast<double>(others_.size());
}

bool GpuSensors::has_others(Time time) const {
  const auto next = std::upper_bound(times_.begin(), times_.end(), time) - times_.begin();
  return next > 0 && others_[static_cast<std::size_t>(next - 1)] > 0;
}

double GpuSensors::at(const std::vector<double>& values, Time time) const {
  const auto next =
      static_cast<std::size_t>(std::upper_bound(times_.begin(), times_.end(), time) - times_.begin());
  if (next == 0) return values.front();
  if (next == times_.size()) return values.back();
  const double part =
      static_cast<double>(time - times_[next - 1]) / static_cast<double>(times_[next] - times_[next - 1]);
  return values[next - 1] + part * (values[next] - values[next - 1]);
}

}  // namespace jitterscope::timeline
