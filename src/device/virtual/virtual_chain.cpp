#include "device/virtual/virtual_chain.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "device/virtual/kernel_work.hpp"
#include "device/virtual/timeline.hpp"
#include "device/virtual/virtual_operation.hpp"
#include "device/virtual/virtual_queue.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// Waits between streams in gaps between launches (0.75 us on an H200). An event between two streams cost 0.33
// us more than a neighbour, a join of two streams 1.5 us, of four 7.9 us
// (docs/notebook/2026-11-24-more-studies-on-h200.md). Here an event costs half a gap, and each stream that
// joins or parts one: 1.5 us for two and 4.5 us for four.
constexpr double kEventGaps = 1.5;
constexpr double kStreamGaps = 1.0;
// A load sets two flags, starts, and is waited for; at the end it is stopped and joined. Under a load of 100
// us, small work of 7 us took 115 us (same page).
constexpr double kLoadStartGaps = 6.0, kLoadEndGaps = 4.0;

// Time beyond a wait for a stream, an event or the device: a blocking wait took 39 us where others took 4,
// and reading a value 11 us (docs/notebook/2026-11-26-on-h200.md).
Nanoseconds longer_than_usual(HostWait wait) {
  switch (wait) {
    case HostWait::blocking: return microseconds(35);
    case HostWait::value: return microseconds(7);
    case HostWait::none:
    case HostWait::stream:
    case HostWait::event:
    case HostWait::device:
    case HostWait::polling:
    case HostWait::yielding: return Nanoseconds(0);
  }
  return Nanoseconds(0);
}

class VirtualChain final : public PreparedChain {
 public:
  VirtualChain(Timeline& timeline, const Operation& operation, const InputData& data,
               const PrepareStep& prepare)
      : PreparedChain(operation, data, prepare) {
    require_values(chain());
    // The first stream is the queue's, with the usual priority.
    const std::int64_t own = chain().streams - (chain().high_priority ? 0 : 1);
    for (std::int64_t i = 0; i < own; ++i) own_.push_back(timeline.next_stream());
  }

  void run(NativeQueue native) override {
    queue_ = static_cast<VirtualQueue*>(native);
    if (waits_for_queue()) queue_->release();
    streams_.clear();
    if (!chain().high_priority) streams_.push_back(queue_->stream());
    streams_.insert(streams_.end(), own_.begin(), own_.end());
    if (is_on_queue()) {
      run_on_queue();
      return;
    }
    part();
    if (chain().order == ChainOrder::joins) {
      run_step_by_step();
    } else {
      run_lane_by_lane();
    }
    join();
  }

 private:
  std::size_t lanes() const { return static_cast<std::size_t>(chain().lanes); }
  std::size_t steps() const { return chain().steps.size(); }
  std::size_t stream(std::size_t lane, std::size_t number) const { return stream_of(chain(), lane, number); }
  bool waits_behind(std::size_t number) const {
    return chain().wait != HostWait::none && (chain().wait_after == WaitAfter::step || number + 1 == steps());
  }
  // True if the host waits, and no stream is needed.
  bool is_on_queue() const { return chain().streams == 1 && !chain().high_priority && chain().load_ns == 0; }

  void run_on_queue() {
    for (std::size_t lane = 0; lane < lanes(); ++lane) {
      for (std::size_t number = 0; number < steps(); ++number) {
        step(lane, number).run(queue_);
        if (waits_behind(number)) queue_->wait_within(longer_than_usual(chain().wait));
      }
    }
  }

  void part() {
    begin_group();
    const double before = (chain().load_ns > 0 ? kLoadStartGaps : 0.0) + (chain().high_priority ? 1.0 : 0.0);
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      group_.parts[i] = before + kStreamGaps * static_cast<double>(i);
      queue_->pay_event();
    }
  }

  void join() {
    group_.joins = kStreamGaps * static_cast<double>(streams_.size() - 1) +
                   (chain().load_ns > 0 ? kLoadEndGaps : 0.0) + (chain().high_priority ? 1.0 : 0.0);
    for (std::size_t i = 0; i < streams_.size(); ++i) queue_->pay_event();
    end_group();
  }

  void begin_group() {
    group_ = StreamGroup();
    group_.parts.assign(streams_.size(), 0.0);
    group_.load = Nanoseconds(static_cast<double>(chain().load_ns));
    group_.passes_load = chain().high_priority;
    last_of_lane_.assign(lanes(), std::nullopt);
    behind_.clear();
  }

  void end_group() {
    if (!group_.launches.empty()) queue_->launch_group(std::move(group_));
    begin_group();
    // These launches waited for the load, which has ended.
    if (!chain().high_priority) group_.load = Nanoseconds(0);
  }

  void run_lane_by_lane() {
    for (std::size_t lane = 0; lane < lanes(); ++lane) {
      for (std::size_t number = 0; number < steps(); ++number) {
        const bool moves = number > 0 && stream(lane, number - 1) != stream(lane, number);
        behind_.clear();
        if (moves && chain().order == ChainOrder::events && last_of_lane_[lane]) {
          behind_.push_back({*last_of_lane_[lane], kEventGaps});
          queue_->pay_event();
          queue_->pay_event();
        }
        run_one(lane, number);
      }
    }
  }

  void run_step_by_step() {
    // A neighbour's gap, and one for each other stream that is waited for and that waits.
    const double gaps = 1.0 + 2.0 * kStreamGaps * static_cast<double>(streams_.size() - 1);
    for (std::size_t number = 0; number < steps(); ++number) {
      const std::size_t first = group_.launches.size();
      for (std::size_t lane = 0; lane < lanes(); ++lane) run_one(lane, number);
      behind_.clear();
      for (std::size_t i = first; i < group_.launches.size(); ++i) behind_.push_back({i, gaps});
      for (std::size_t i = 1; i < 2 * streams_.size(); ++i) queue_->pay_event();
    }
  }

  void run_one(std::size_t lane, std::size_t number) {
    auto& own = dynamic_cast<VirtualOperation&>(step(lane, number));
    GroupLaunch launch{.kernel = own.begin_launch(), .stream = stream(lane, number)};
    launch.origin = queue_->pay_launch();
    launch.origin.stream = streams_[launch.stream];
    launch.called = queue_->now();
    launch.dependencies = behind_;
    if (is_linked(chain(), number)) launch.reads = last_of_lane_[lane];
    last_of_lane_[lane] = group_.launches.size();
    group_.launches.push_back(std::move(launch));
    // A copy of pageable memory makes the host wait too, except in a recording.
    const bool waits = waits_behind(number);
    if (!waits && (!own.waits_for_queue() || queue_->is_recording())) return;
    end_group();
    queue_->wait_within(longer_than_usual(waits ? chain().wait : HostWait::none));
  }

  std::vector<std::uint32_t> own_;  // streams, by their numbers in traces
  // State of the current launch.
  VirtualQueue* queue_ = nullptr;
  std::vector<std::uint32_t> streams_;
  StreamGroup group_;
  std::vector<std::optional<std::size_t>> last_of_lane_;  // index in the group
  std::vector<GroupLaunch::Dependency> behind_;           // launches that the next one waits for
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_virtual_chain(Timeline& timeline, const Operation& operation,
                                                         const InputData& data,
                                                         const PreparedChain::PrepareStep& prepare) {
  const Chain& chain = std::get<Chain>(operation.parameters());
  if (!needs_streams(chain)) return std::make_unique<PreparedChain>(operation, data, prepare);
  return std::make_unique<VirtualChain>(timeline, operation, data, prepare);
}

namespace {

// Kernels of different streams start some time apart: 16 small products took 69 us on one stream and 40 us on
// four (H200), and 2.17 times less on eight than on one (H100), far from four and eight times. Two gaps, 1.5
// us on an H200, make four streams the best there, with 2.1 times.
constexpr double kDispatchGaps = 2.0;

// The load has blocks of 10 us, four on each processor, as jitterscope_load in device/cuda.
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

  // Outputs left from an earlier run are right too, since all launches read the same inputs.
  void note_early_reads() {
    for (std::size_t i = 0; i < count(); ++i) {
      const std::optional<std::size_t> reads = group_.launches[i].reads;
      early_.push_back(reads && !group_.launches[*reads].kernel->has_run &&
                       spans_[i].start < spans_[*reads].end);
    }
  }

  // Runs one kernel after the other, in all as long as planned but for noise, the clock and other users.
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
  std::vector<std::size_t> in_order_;  // in the order of their starts
  std::vector<physics::Execution> executions_;
  Nanoseconds planned_, first_start_, last_end_;
  double stretch_ = 1.0;
};

}  // namespace

Nanoseconds run_group(Timeline& timeline, const StreamGroup& group, const GroupTurn& turn) {
  return GroupRun(timeline, group, turn).run();
}

namespace {

// Holds for compute capability 7.0, 8.0, 9.0 and 10.0; others have 1024 or 1536.
constexpr double kThreadsOfProcessor = 2048;
// A thread moves 16 bytes, as in our kernels (device/cuda/kernels.cu).
constexpr double kThreadsOfBlock = 256, kBytesOfThread = 16;
class Filler {
 public:
  Filler(const physics::Parameters& parameters, const Operation& operation)
      : parameters_(parameters), operation_(operation) {}

  double operator()(const Conv2d&) { return product(); }
  double operator()(const Matmul&) { return product(); }
  double operator()(const Linear&) { return product(); }
  double operator()(const Attention&) { return product(); }
  double operator()(const Spin& spin) { return static_cast<double>(spin.blocks) / processors(); }
  double operator()(const CudaKernel& kernel) {
    double blocks = 1.0, threads = 1.0;
    for (const std::int64_t count : kernel.grid) blocks *= static_cast<double>(count);
    for (const std::int64_t count : kernel.block) threads *= static_cast<double>(count);
    return filled_by(blocks * threads);
  }
  double operator()(const Chain& chain) {
    double share = 0.0;
    for (const Operation& step : chain.steps) share = std::max(share, share_of_processors(parameters_, step));
    return share;
  }
  template <class Shape>
  double operator()(const Shape&) {
    double bytes = 0.0;
    for (const Operand& operand : operation_.operands()) {
      bytes = std::max(bytes, static_cast<double>(operand.bytes().value()));
    }
    return filled_by(std::ceil(bytes / (kBytesOfThread * kThreadsOfBlock)) * kThreadsOfBlock);
  }

 private:
  double processors() const { return parameters_.identity.processors; }
  double filled_by(double threads) const { return threads / (kThreadsOfProcessor * processors()); }
  double product() const {
    return product_work(parameters_, *product_shape(parameters_, operation_)).processors / processors();
  }

  const physics::Parameters& parameters_;
  const Operation& operation_;
};

}  // namespace

Engine engine_of(const Operation& operation) {
  const auto* copy = std::get_if<Copy>(&operation.parameters());
  if (copy == nullptr || copy->kind == CopyKind::d2d) return Engine::processors;
  return copy->kind == CopyKind::h2d ? Engine::copy_to_device : Engine::copy_to_host;
}

double share_of_processors(const physics::Parameters& parameters, const Operation& operation) {
  const double share = std::visit(Filler(parameters, operation), operation.parameters());
  const double one_block = kThreadsOfBlock / (kThreadsOfProcessor * parameters.identity.processors);
  return std::clamp(share, one_block, 1.0);
}

}  // namespace jitterscope::virtual_gpu
