#include "explain/processes.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <boost/math/distributions/chi_squared.hpp>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "statistics/statistics.hpp"

// The process. Intervention: the operation in fresh processes. Signature: a level that is constant within a
// process; library handles, module placement, memory. It has no dose, only a spread.
// The GPU. Intervention: the operation on each GPU of the machine, in a fresh process. Signature: clocks and
// powers of its own under the same load. Confused with: the process, as each GPU has another one.

namespace jitterscope::explain {
namespace {

constexpr std::int64_t kFewestProcesses = 3;

RandomFactor spread_of(const std::vector<ProcessTime>& times, std::int64_t fewest, RandomFactor factor,
                       const char* too_few) {
  std::vector<double> medians;
  for (const ProcessTime& each : times) {
    if (each.time.median > Nanoseconds(0)) medians.push_back(std::log(each.time.median.value()));
  }
  factor.levels = std::ssize(medians);
  if (factor.levels < fewest) {
    factor.not_available = too_few;
    return factor;
  }
  const double freedom = static_cast<double>(medians.size()) - 1.0;
  const boost::math::chi_squared distribution(freedom);
  factor.deviation = statistics::standard_deviation(medians);
  factor.low = factor.deviation * std::sqrt(freedom / boost::math::quantile(distribution, 0.975));
  factor.high = factor.deviation * std::sqrt(freedom / boost::math::quantile(distribution, 0.025));
  return factor;
}

}  // namespace

std::vector<ProcessTime> times_of(const RunRecord& record) {
  std::vector<ProcessTime> times;
  for (const RunEntry& entry : record.entries) {
    const Result& result = entry.result;
    if (!result.measurements.empty()) times.push_back({result.measurements.front().time, result.first_call});
  }
  return times;
}

bool has_time_for_processes(std::int64_t processes, Nanoseconds time_limit, Nanoseconds launch_time) {
  constexpr double kLaunches = 12.0, kMostOfTheTime = 0.2;
  constexpr Nanoseconds kOne = seconds(3);  // to start, open a GPU, calibrate and measure for 1.5 s (H200)
  return (kOne + launch_time * kLaunches) * static_cast<double>(processes) <= time_limit * kMostOfTheTime;
}

std::int64_t processes_in(Nanoseconds time_limit, Nanoseconds launch_time) {
  constexpr std::int64_t kMost = 8;
  if (!has_time_for_processes(kFewestProcesses, time_limit, launch_time)) return 0;
  return std::clamp<std::int64_t>(std::llround(time_limit / 3.0 / seconds(6)), kFewestProcesses, kMost);
}

namespace {

RandomFactor the_process() { return {.id = "process", .cause = "the process"}; }
RandomFactor the_gpu() { return {.id = "gpu", .cause = "the GPU, and the process on it"}; }

RandomFactor without_time(RandomFactor factor, const char* processes) {
  factor.not_available =
      fmt::format("{} would take more than a fifth of the time: give more by --max-time", processes);
  return factor;
}

}  // namespace

RandomFactor process_without_time() { return without_time(the_process(), "three fresh processes"); }
RandomFactor gpu_without_time() { return without_time(the_gpu(), "a fresh process on each GPU"); }

RandomFactor vary_process(const std::vector<ProcessTime>& times) {
  return spread_of(times, kFewestProcesses, the_process(), "too few fresh processes gave a time");
}

RandomFactor vary_gpu(const std::vector<ProcessTime>& times) {
  constexpr std::int64_t kFewestGpus = 2;
  return spread_of(times, kFewestGpus, the_gpu(), "no other GPU gave a time");
}

void ProcessWatch::look() {
  constexpr Nanoseconds kPause = seconds(1);
  const Nanoseconds now = device_.host_time();
  if (last_look_ && now - *last_look_ < kPause) return;
  last_look_ = now;
  const std::optional<std::vector<std::string>> others = device_.other_processes();
  if (!others) return;
  ++found_.looks;
  for (const std::string& name : *others) {
    auto known = std::ranges::find(found_.seen, name, &OtherProcess::name);
    if (known == found_.seen.end()) known = found_.seen.insert(known, {name, 0});
    ++known->looks;
  }
}

std::string sentence_of(const OtherProcesses& others, const Observation& observation) {
  if (others.seen.empty()) return {};
  std::vector<std::string> names, levels;
  bool comes_and_goes = false;
  for (const OtherProcess& other : others.seen) {
    const bool is_always_there = other.looks == others.looks;
    comes_and_goes = comes_and_goes || !is_always_there;
    names.push_back(is_always_there
                        ? other.name
                        : fmt::format("{} (at {} of {} looks)", other.name, other.looks, others.looks));
  }
  for (const Mode& mode : observation.modes) levels.push_back(time_text(mode.location));
  const char* what = comes_and_goes ? "came and went while this was measured" : "used the device as well";
  std::string text = fmt::format("Other programs {}: {}.", what, joined(names));
  if (!levels.empty())
    text += fmt::format(" The levels of the plain loops may be theirs: {}.", joined(levels));
  return text + " Nothing here switches them; explain it again when they are done, or on another device.";
}

}  // namespace jitterscope::explain
