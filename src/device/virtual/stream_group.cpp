#include "device/virtual/stream_group.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/virtual/stream_schedule.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// 16 small products took 69 us on one stream and 40 on four (H200), and on eight 2.17 times less than on one
// (H100), far from four and eight times: kernels of unlike streams start some time apart. Two gaps, 1.5 us on
// an H200, make four streams the best there, with 2.1 times.
constexpr double kDispatchGaps = 2.0;

// As jitterscope_load of device/cuda: blocks of 10 us, four on each processor.
constexpr Nanoseconds kWave = microseconds(10);
constexpr double kBlocksOfProcessor = 4;

class GroupRun {
 public:
  GroupRun(Timeline& timeline, const StreamGroup& group, const GroupTurn& turn)
      : timeline_(timeline), group_(group), turn_(turn) {}

  Nanoseconds run() {
    plan();
    note_early_reads();
    execute();
    tell();
    return last_end_;
  }

 private:
  std::size_t count() const { return group_.launches.size(); }

  void plan() {
    std::vector<physics::KernelWork> works;
    for (const GroupLaunch& launch : group_.launches) works.push_back(launch.kernel->work);
    const std::vector<physics::Forecast> forecasts = timeline_.machine().forecast(works);
    std::vector<StreamLaunch> launches;
    for (std::size_t i = 0; i < count(); ++i) launches.push_back(planned(group_.launches[i], forecasts[i]));
    const StreamCosts costs{turn_.gap, turn_.gap * kDispatchGaps};
    std::optional<StreamLoad> load;
    if (group_.load > Nanoseconds(0)) {
      load = StreamLoad{kWave * std::ceil(group_.load / kWave), kWave, group_.passes_load};
    }
    spans_ = schedule_streams(launches, costs, load);
    Nanoseconds end;
    for (const Span& span : spans_) end = std::max(end, span.end);
    planned_ = end + turn_.gap * group_.joins;
    if (load) planned_ += time_to_stop(load->time - end);
    Nanoseconds sum;
    for (const physics::Forecast& forecast : forecasts) sum += forecast.time;
    stretch_ = planned_ / sum;
  }

  StreamLaunch planned(const GroupLaunch& launch, const physics::Forecast& forecast) const {
    StreamLaunch planned{.time = forecast.time,
                         .processors = launch.kernel->processors,
                         .bandwidth = std::min(1.0, forecast.transfer / forecast.time),
                         .engine = launch.kernel->engine,
                         .stream = launch.stream};
    for (const GroupLaunch::Dependency& one : launch.dependencies) {
      planned.dependencies.push_back({one.launch, turn_.gap * one.gaps});
    }
    planned.earliest = turn_.gap * group_.parts[launch.stream];
    if (!turn_.replay)
      planned.earliest = std::max(planned.earliest, timeline_.arrival(launch.called) - turn_.start);
    return planned;
  }

  // Blocks that have not begun yet begin, and see that they are to stop.
  Nanoseconds time_to_stop(Nanoseconds left) const {
    const physics::Parameters& parameters = timeline_.parameters();
    const double waves = std::floor(std::max(0.0, left / kWave));
    return parameters.compute.block_cost * (waves * kBlocksOfProcessor * parameters.identity.processors);
  }

  // What was there since an earlier launch is right, as all launches read the same inputs.
  void note_early_reads() {
    for (std::size_t i = 0; i < count(); ++i) {
      const std::optional<std::size_t> reads = group_.launches[i].reads;
      early_.push_back(reads && !group_.launches[*reads].kernel->has_run &&
                       spans_[i].start < spans_[*reads].end);
    }
  }

  // One after the other, in all as long as planned but for noise, the clock and who else is there.
  void execute() {
    in_order_.resize(count());
    std::iota(in_order_.begin(), in_order_.end(), std::size_t{0});
    std::ranges::stable_sort(in_order_, {}, [this](std::size_t i) { return spans_[i].start; });
    for (const std::size_t i : in_order_) {
      Kernel& kernel = *group_.launches[i].kernel;
      physics::KernelWork work = kernel.work;
      work.stretch = stretch_;
      const physics::Execution execution = timeline_.machine().run(work, turn_.start);
      if (i == in_order_.front()) first_start_ = execution.start;
      last_end_ = execution.end;
      timeline_.count(kernel, execution);
      executions_.push_back(execution);
      kernel.has_run = true;
      kernel.read_too_early = early_[i];
    }
  }

  void tell() {
    const double scale = (last_end_ - first_start_) / planned_;
    for (std::size_t k = 0; k < count(); ++k) {
      const std::size_t i = in_order_[k];
      physics::Execution seen = executions_[k];
      seen.start = first_start_ + spans_[i].start * scale;
      seen.end = first_start_ + spans_[i].end * scale;
      KernelTime origin = group_.launches[i].origin;
      if (turn_.replay) {
        origin.launch = turn_.replay->launch;
        origin.correlation = turn_.replay->correlation;
        origin.graph_node = turn_.replay->graph_node.value_or(0) + i;
      }
      timeline_.tell(*group_.launches[i].kernel, seen, origin);
    }
  }

  Timeline& timeline_;
  const StreamGroup& group_;
  const GroupTurn& turn_;
  std::vector<Span> spans_;
  std::vector<bool> early_;
  std::vector<std::size_t> in_order_;  // of their starts
  std::vector<physics::Execution> executions_;
  Nanoseconds planned_, first_start_, last_end_;
  double stretch_ = 1.0;
};

}  // namespace

Nanoseconds run_group(Timeline& timeline, const StreamGroup& group, const GroupTurn& turn) {
  return GroupRun(timeline, group, turn).run();
}

}  // namespace jitterscope::virtual_gpu
