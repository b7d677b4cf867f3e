#include "device/virtual/virtual_chain.hpp"

#include "device/virtual/virtual_operation.hpp"
#include "device/virtual/virtual_queue.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// What waits add to the work, in gaps between launches (0.75 us on an H200). An event between two streams
// cost 0.33 us more than a neighbour, a join of two streams 1.5 us, of four 7.9 us
// (docs/notebook/2026-11-24-more-studies-on-h200.md): here an event half a gap, and each stream that joins or
// parts one, which is 1.5 us for two and 4.5 us for four.
constexpr double kEventGaps = 1.5;
constexpr double kStreamGaps = 1.0;
// A load sets two flags, starts, and is waited for; at the end it is stopped and joined: under a load of 100
// us small work of 7 us took 115 us (same page).
constexpr double kLoadStartGaps = 6.0, kLoadEndGaps = 4.0;

// What a wait takes longer than by stream, event or device, asleep or not: 39 us where others took 4, and 11
// us to read a value (docs/notebook/2026-11-26-on-h200.md).
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
    // The first stream is the queue's, which has the usual priority.
    const std::int64_t own = chain().streams - (chain().high_priority ? 0 : 1);
    for (std::int64_t i = 0; i < own; ++i) own_.push_back(timeline.next_stream());
  }

  void run(NativeQueue native) override {
    queue_ = static_cast<VirtualQueue*>(native);
    if (waits_for_queue()) queue_->open_gate();
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
  // The host waits, and all is as without streams.
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
    // What had to wait for the load left none.
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
    // A neighbour's gap, and one for each other stream that is waited for, and that waits.
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
    // A copy of pageable memory lets the host wait, too; in a recording it does not.
    const bool waits = waits_behind(number);
    if (!waits && (!own.waits_for_queue() || queue_->is_recording())) return;
    end_group();
    queue_->wait_within(longer_than_usual(waits ? chain().wait : HostWait::none));
  }

  std::vector<std::uint32_t> own_;  // streams, by their numbers in traces
  // Of the launch at hand.
  VirtualQueue* queue_ = nullptr;
  std::vector<std::uint32_t> streams_;
  StreamGroup group_;
  std::vector<std::optional<std::size_t>> last_of_lane_;  // in the group
  std::vector<GroupLaunch::Dependency> behind_;           // what the next launch waits for
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_virtual_chain(Timeline& timeline, const Operation& operation,
                                                         const InputData& data,
                                                         const PreparedChain::PrepareStep& prepare) {
  const Chain& chain = std::get<Chain>(operation.parameters());
  if (!needs_streams(chain)) return std::make_unique<PreparedChain>(operation, data, prepare);
  return std::make_unique<VirtualChain>(timeline, operation, data, prepare);
}

}  // namespace jitterscope::virtual_gpu
