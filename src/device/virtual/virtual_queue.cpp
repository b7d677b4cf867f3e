#include "device/virtual/virtual_queue.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// Recording an event took 0.6 us of host time, a launch 3.0 us (H200).
constexpr double kMarkShare = 0.2;

struct VirtualRecording final : Recording {
  std::vector<Item> items;
};

}  // namespace

VirtualQueue::VirtualQueue(Timeline& timeline, Place place)
    : timeline_(timeline),
      place_(place),
      stream_(timeline.next_stream()),
      eviction_(timeline.allocate(eviction_size())),
      end_(timeline.now()),
      marks_(kRingSize),
      stamps_(kRingSize) {
  timeline_.add(*this);
}

VirtualQueue::~VirtualQueue() {
  release();
  timeline_.settle(this);
  timeline_.remove(*this);
  timeline_.release(eviction_, eviction_size());
}

// Twice the L2, as on a real GPU.
Bytes VirtualQueue::eviction_size() const { return timeline_.parameters().memory.l2_capacity * 2; }

bool VirtualQueue::has_instruments() const {
  return timeline_.parameters().has(physics::Mechanism::instrument);
}

void VirtualQueue::require_not_recording(const char* what) const {
  if (recording_ != nullptr) throw std::logic_error(fmt::format("{} cannot be part of a recording", what));
}

KernelTime VirtualQueue::origin_of_call() {
  KernelTime origin;
  origin.launch = timeline_.traced_launch;
  origin.stream = stream_;
  origin.correlation = timeline_.next_correlation();
  return origin;
}

// Behind a mark there is no gap: mark_overhead is all that two marks add.
void VirtualQueue::put(Item item) {
  if (recording_ != nullptr) {
    recording_->push_back(std::move(item));
    return;
  }
  item.origin = origin_of_call();
  const bool has_gap = item.kind != Item::Kind::mark && item.kind != Item::Kind::join && !follows_mark_;
  if (has_gap) item.gap = timeline_.parameters().launch.gap;
  follows_mark_ = item.kind == Item::Kind::mark;
  enqueue(std::move(item));
}

void VirtualQueue::enqueue(Item item) {
  // How far the queue has got is not the same on all ranks, but how many collectives it holds is.
  if (collectives_ >= kDepth && !held_queue_) timeline_.catch_up();
  const bool may_be_full = collectives_ == 0 && item.kind != Item::Kind::collective;
  if (may_be_full && entries_ >= kDepth) timeline_.catch_up();
  while (may_be_full && entries_ >= kDepth) {
    timeline_.wait_until(*next_start());
    timeline_.catch_up();
  }
  const double slowdown = timeline_.slowdown();
  item.gap = item.gap * slowdown;
  const bool is_called_before = item.group && !item.is_node;
  item.earliest = timeline_.arrival(is_called_before ? item.group->launches.front().called : timeline_.now());
  if (item.frees_an_entry) ++entries_;
  if (item.kind == Item::Kind::collective) ++collectives_;
  pending_.push_back(std::move(item));
}

void VirtualQueue::launch_kernel(const std::shared_ptr<Kernel>& kernel, bool waits) {
  if (waits) release();
  pay_call();
  put({.kind = Item::Kind::kernel, .kernel = kernel});
  if (waits && recording_ == nullptr) {
    wait_for_end();
  }
}

void VirtualQueue::launch_collective(const std::shared_ptr<const CollectiveWork>& work) {
  pay_call();
  Item item{.kind = Item::Kind::collective, .kernel = nullptr, .collective = work, .side_part = open_part_};
  if (recording_ == nullptr) item.late = lateness(physics::Straggler::Cause::gpu);
  put(std::move(item));
}

void VirtualQueue::begin_part(std::size_t part) {
  pay_event();
  pay_event();
  open_part_ = part;
}

void VirtualQueue::end_part() {
  pay_event();
  open_part_.reset();
}

void VirtualQueue::join_part(std::size_t part) {
  pay_event();
  put({.kind = Item::Kind::join, .kernel = nullptr, .side_part = part});
}

Nanoseconds VirtualQueue::lateness(physics::Straggler::Cause cause) const {
  const ClusterLink* link = timeline_.link;
  return link == nullptr ? Nanoseconds(0)
                         : link->cluster().delay(cause, link->rank(), timeline_.host_clock());
}

Nanoseconds VirtualQueue::call_cost() {
  return timeline_.host_costs().launch() + lateness(physics::Straggler::Cause::host);
}

void VirtualQueue::pay_call() {
  if (recording_ == nullptr) timeline_.spend_in_driver(call_cost());
}

KernelTime VirtualQueue::pay_launch() {
  pay_call();
  return origin_of_call();
}

void VirtualQueue::pay_event() {
  if (recording_ == nullptr) {
    timeline_.spend_in_driver(timeline_.parameters().launch.host_median * kMarkShare);
  }
}

void VirtualQueue::launch_group(StreamGroup group) {
  put({.kind = Item::Kind::group,
       .kernel = nullptr,
       .group = std::make_shared<const StreamGroup>(std::move(group))});
}

void VirtualQueue::wait_for_end() {
  timeline_.drain(*this);
  timeline_.wait_until(end_);
}

void VirtualQueue::wait_within(Nanoseconds longer) {
  if (is_recording()) {
    throw UsageError(
        "the host waits within this launch, which no recording can hold; take --instrument events or host");
  }
  release();
  wait_for_end();
  timeline_.spend_in_driver(timeline_.host_costs().synchronize());
  timeline_.spend(longer);
}

void VirtualQueue::write(const std::vector<physics::Access>& accesses) {
  pay_call();
  Item item{.kind = Item::Kind::helper, .kernel = nullptr};
  item.helper.accesses = accesses;
  item.helper.fixed = timeline_.parameters().compute.kernel_floor;
  item.helper.activity = timeline_.parameters().compute.memory_activity;
  put(std::move(item));
}

void VirtualQueue::hold() {
  require_not_recording("holding the queue");
  if (held_queue_) throw std::logic_error("the queue is held already");
  timeline_.spend_in_driver(timeline_.host_costs().launch());
  held_queue_ = std::make_shared<Hold>();
  marks_behind_hold_ = 0;
  put({.kind = Item::Kind::hold, .kernel = nullptr, .hold = held_queue_});
}

void VirtualQueue::release() noexcept {
  if (held_queue_) held_queue_->opened = timeline_.now();
  held_queue_.reset();
}

Mark VirtualQueue::mark() {
  require_not_recording("a mark");
  pay_event();
  const Mark mark{next_mark_++ % kRingSize};
  ++marks_behind_hold_;
  marks_[mark.slot].reset();
  put({.kind = Item::Kind::mark, .kernel = nullptr, .slot = mark.slot});
  return mark;
}

ClockStamp VirtualQueue::stamp_clock() {
  require_not_recording("a clock stamp");
  timeline_.spend_in_driver(timeline_.host_costs().launch());
  const ClockStamp stamp{next_stamp_++ % kRingSize};
  stamps_[stamp.slot].reset();
  put({.kind = Item::Kind::stamp, .kernel = nullptr, .slot = stamp.slot});
  return stamp;
}

void VirtualQueue::evict(bool leaves_modified_lines) {
  pay_call();
  const physics::Parameters& parameters = timeline_.parameters();
  const auto bytes = static_cast<double>(eviction_size().value());
  const double passes = leaves_modified_lines ? 1.0 : 2.0;  // written; for clean lines then read
  Item item{.kind = Item::Kind::eviction, .kernel = nullptr};
  item.helper.fixed = seconds(passes * bytes / parameters.memory.dram_bandwidth);
  item.helper.activity = parameters.compute.memory_activity;
  item.leaves_modified_lines = leaves_modified_lines;
  put(std::move(item));
}

void VirtualQueue::set_cache(CacheState state, Workload& workload) {
  if (state == CacheState::warm) return;
  evict(state != CacheState::cold);
  if (state == CacheState::produced && !workload.produce_inputs(native())) {
    throw UsageError(
        "cache state 'produced' is not possible here: the inputs cannot be written by another kernel; "
        "take warm, cold or dirty");
  }
}

std::unique_ptr<Recording> VirtualQueue::record(const std::function<void(Queue&)>& work) {
  require_not_recording("a recording");
  if (held_queue_) throw std::logic_error("a recording must be made while the queue is not held");
  auto recording = std::make_unique<VirtualRecording>();
  recording_ = &recording->items;
  try {
    work(*this);
  } catch (...) {
    recording_ = nullptr;
    throw;
  }
  recording_ = nullptr;
  return recording;
}

void VirtualQueue::replay(Recording& recording) {
  require_not_recording("a replay");
  timeline_.spend_in_driver(call_cost());
  const physics::Parameters& parameters = timeline_.parameters();
  const Nanoseconds overhead = has_instruments() ? parameters.instruments.node_overhead : Nanoseconds(0);
  const std::vector<Item>& items = dynamic_cast<VirtualRecording&>(recording).items;
  const KernelTime origin = origin_of_call();
  std::uint64_t nodes = 1;
  bool is_first = true;  // collective: a rank is late once in a replay
  for (std::size_t i = 0; i < items.size(); ++i) {
    Item node = items[i];
    node.origin = origin;
    node.origin.graph_node = nodes;
    const bool is_edge = node.kind == Item::Kind::join;  // of the graph, and no node
    nodes += is_edge ? 0 : node.group ? node.group->launches.size() : 1;
    node.is_node = true;
    node.starts_replay = i == 0;
    node.frees_an_entry = i + 1 == items.size();
    if (node.kind == Item::Kind::collective && std::exchange(is_first, false)) {
      node.late = lateness(physics::Straggler::Cause::gpu);
    }
    node.gap = is_edge ? Nanoseconds(0)
                       : (i > 0           ? parameters.launch.graph_gap
                          : follows_mark_ ? Nanoseconds(0)
                                          : parameters.launch.gap) +
                             overhead;
    enqueue(std::move(node));
  }
  if (!items.empty()) follows_mark_ = false;
}

void VirtualQueue::wait() {
  require_not_recording("a wait");
  release();
  wait_for_end();
  timeline_.spend_in_driver(timeline_.host_costs().synchronize());
  throw_if_hold_timed_out();
}

void VirtualQueue::wait_for(Mark mark) {
  // The marks since the queue was held are the last marks_behind_hold_ slots before next_mark_.
  const std::uint32_t age = (next_mark_ - 1 - mark.slot) % kRingSize;
  if (held_queue_ && age < marks_behind_hold_) release();
  while (!marks_[mark.slot]) {
    const auto next = next_start();
    if (!next) throw std::logic_error("a wait for a mark that was never made");
    timeline_.wait_until(*next);
    timeline_.catch_up();
  }
  timeline_.wait_until(marks_[mark.slot]->truth);
  timeline_.spend_in_driver(timeline_.host_costs().synchronize());
  throw_if_hold_timed_out();
}

// Asking costs the host as much as making the mark did.
bool VirtualQueue::has_passed(Mark mark) {
  timeline_.spend_in_driver(timeline_.parameters().launch.host_median * kMarkShare);
  timeline_.catch_up();
  return marks_[mark.slot] && marks_[mark.slot]->truth <= timeline_.now();
}

void VirtualQueue::throw_if_hold_timed_out() {
  if (!std::exchange(hold_timed_out_, false)) return;
  throw HoldTimeoutError(
      fmt::format("the held queue was released by its time limit of {:.1f} s, so the times of this round are "
                  "not valid: the host was stopped, or something waits for the GPU while the queue is held",
                  to_seconds(kHoldLimit)));
}

Nanoseconds VirtualQueue::elapsed(Mark from, Mark to) {
  timeline_.catch_up();
  const auto read = [&](Mark mark) {
    const auto& value = marks_[mark.slot];
    if (!value) throw std::logic_error("a mark is read before the queue passed it");
    return value->reading;
  };
  const Nanoseconds end = read(to);
  return end - read(from);
}

std::optional<ClockReading> VirtualQueue::clock_between(ClockStamp from, ClockStamp to) {
  timeline_.catch_up();
  const auto read = [&](ClockStamp stamp) {
    const auto& value = stamps_[stamp.slot];
    if (!value || value->truth > timeline_.now())
      throw std::logic_error("a clock stamp is read before the queue passed it");
    return *value;
  };
  const StampValue first = read(from), last = read(to);
  const Nanoseconds window = last.reading - first.reading;
  if (window <= Nanoseconds(0)) return std::nullopt;
  return ClockReading{Hertz((last.cycles - first.cycles).value() / to_seconds(window)), window};
}

// The GPU's side: runs each item in its turn.

namespace {

// Back-to-back replays leave far shorter gaps; a burst's idle is 20 ms.
constexpr Nanoseconds kIdleBeforeReplay = milliseconds(1);

}  // namespace

Nanoseconds VirtualQueue::start_of(const Item& item) const {
  return std::max(end_ + item.gap, item.earliest) + item.late;
}

bool VirtualQueue::reaches_collective() const {
  if (collectives_ == 0 || timeline_.link->is_abandoned()) return false;
  for (const Item& item : pending_) {
    if (item.kind == Item::Kind::collective) return true;
    if (item.kind == Item::Kind::hold && !item.hold->opened) return false;
  }
  return false;
}

std::optional<Nanoseconds> VirtualQueue::next_start() const {
  if (pending_.empty()) return std::nullopt;
  const Item& item = pending_.front();
  // Nothing behind a collective that the other ranks do not take part in any more is ever reached.
  if (item.kind == Item::Kind::collective && timeline_.link->is_abandoned()) return std::nullopt;
  const Nanoseconds start = start_of(item);
  if (item.kind == Item::Kind::join) return std::max(start, ends_of_parts_.at(*item.side_part));
  if (item.kind == Item::Kind::collective && item.side_part) return std::max(start, side_end_ + item.gap);
  if (item.kind != Item::Kind::hold) return start;
  const Nanoseconds limit = start + kHoldLimit;
  return item.hold->opened ? std::clamp(*item.hold->opened, start, limit) : limit;
}

void VirtualQueue::hold_until(Nanoseconds time) {
  if (pending_.empty() || pending_.front().kind != Item::Kind::hold) return;
  const Nanoseconds start = std::max(start_of(pending_.front()), timeline_.machine().free_at());
  if (start >= time) return;
  physics::KernelWork wait;  // the hold polls one word: nearly idle, but the clock stays up
  wait.fixed = time - start;
  timeline_.run_helper(wait, start);
}

// The collective that it waits for keeps the GPU busy.
void VirtualQueue::wait_until(Nanoseconds time) {
  const Nanoseconds from = std::max(end_, timeline_.machine().free_at());
  physics::KernelWork wait;
  wait.fixed = time - from;
  end_ = wait.fixed > Nanoseconds(0) ? timeline_.run_helper(wait, from) : time;
}

void VirtualQueue::run_hold(Nanoseconds end, const Hold& hold) {
  hold_until(end);
  if (!hold.opened || *hold.opened > end) hold_timed_out_ = true;
  end_ = end;
}

Nanoseconds VirtualQueue::start_of_work(const Item& item, Nanoseconds start) const {
  const physics::Parameters& parameters = timeline_.parameters();
  if (!item.starts_replay || !parameters.has(physics::Mechanism::one_time_work)) return start;
  const bool rested = !last_replay_ || start - *last_replay_ > kIdleBeforeReplay;
  return rested ? start + parameters.one_time.graph_first_replay : start;
}

Nanoseconds VirtualQueue::run_kernel(const Item& item, Nanoseconds start) {
  start = start_of_work(item, start);
  const bool takes_gpu = place_ == Place::alone || !item.kernel || !item.kernel->is_one_block;
  if (!takes_gpu) return start + item.kernel->work.fixed;
  const Nanoseconds end = item.kind == Item::Kind::kernel ? timeline_.run(*item.kernel, start, item.origin,
                                                                          stretch_beside(*item.kernel, start))
                                                          : timeline_.run_helper(item.helper, start);
  if (item.is_node) last_replay_ = end;
  return end;
}

Nanoseconds VirtualQueue::run_group(const Item& item, Nanoseconds start) {
  const physics::Parameters& parameters = timeline_.parameters();
  GroupTurn turn{std::max(start_of_work(item, start), timeline_.machine().free_at()), parameters.launch.gap};
  if (item.is_node) {
    turn.gap = parameters.launch.graph_gap;
    if (has_instruments()) turn.gap += parameters.instruments.node_overhead;
    turn.replay = item.origin;
  }
  turn.gap = turn.gap * timeline_.slowdown();
  const Nanoseconds end = virtual_gpu::run_group(timeline_, *item.group, turn);
  if (item.is_node) last_replay_ = end;
  return end;
}

// A collective takes processors and bandwidth of memory from the kernels that run beside it.
double VirtualQueue::stretch_beside(const Kernel& kernel, Nanoseconds start) const {
  start = std::max(start, timeline_.machine().free_at());
  if (timeline_.link == nullptr || side_end_ <= start) return 1.0;
  const double tax = timeline_.link->cluster().overlap_tax;
  if (tax == 1.0) return 1.0;
  const Nanoseconds alone = timeline_.machine().forecast({kernel.work}).front().time;
  const Nanoseconds beside = std::min(alone * tax, side_end_ - start);
  return (alone + beside * (1.0 - 1.0 / tax)) / alone;
}

void VirtualQueue::run_beside(Nanoseconds start) {
  const Item item = std::move(pending_.front());
  pending_.pop_front();
  if (item.frees_an_entry) --entries_;
  --collectives_;
  const CollectiveTimes times =
      timeline_.link->run(start, {{item.collective, item.gap + item.late, item.earliest + item.late}})
          .front();
  ends_of_parts_.resize(std::max(ends_of_parts_.size(), *item.side_part + 1));
  ends_of_parts_[*item.side_part] = times.end;
  if (!takes_part(item.collective->collective, timeline_.link->rank())) return;
  timeline_.tell_collective(*item.collective->kernel, times, item.origin);
  side_end_ = times.end;
}

namespace {

bool is_send(const CollectiveWork& work) { return work.collective.kind == CollectiveKind::send; }

}  // namespace

// Nothing else happens on the GPU between them, so their times follow from each other. Sends come one by one:
// what are two in a row on one rank may have work between them on another.
void VirtualQueue::run_collectives_in_a_row(Nanoseconds start) {
  start = std::max(start, timeline_.machine().free_at());
  std::vector<CollectiveTurn> turns;
  std::vector<KernelTime> origins;
  while (!pending_.empty() && pending_.front().kind == Item::Kind::collective &&
         !pending_.front().side_part &&
         (turns.empty() || !(is_send(*turns.back().work) || is_send(*pending_.front().collective)))) {
    const Item& item = pending_.front();
    turns.push_back({item.collective, item.gap + item.late, item.earliest + item.late});
    origins.push_back(item.origin);
    if (item.is_node) last_replay_ = start;
    if (item.frees_an_entry) --entries_;
    --collectives_;
    pending_.pop_front();
  }
  const std::vector<CollectiveTimes> times = timeline_.link->run(start, turns);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    if (!takes_part(turns[i].work->collective, timeline_.link->rank())) continue;
    timeline_.run_collective(*turns[i].work->kernel, times[i], origins[i]);
    end_ = times[i].end;
  }
  if (last_replay_) last_replay_ = end_;
}

void VirtualQueue::pass_mark(std::uint32_t slot, Nanoseconds time) {
  marks_[slot] = MarkValue{time, timeline_.timers().read_mark(timeline_.gpu_clock(time))};
  end_ = time;
  if (has_instruments()) end_ += timeline_.parameters().instruments.mark_overhead;
}

void VirtualQueue::pass_stamp(std::uint32_t slot, Nanoseconds time) {
  physics::KernelWork reader;
  if (has_instruments()) reader.fixed = timeline_.parameters().instruments.stamp_time;
  end_ = timeline_.run_helper(reader, time);
  stamps_[slot] = StampValue{end_, timeline_.timers().read_stamp(timeline_.gpu_clock(end_)),
                             timeline_.machine().cycles()};
}

void VirtualQueue::run_next() {
  const Nanoseconds start = *next_start();
  if (pending_.front().kind == Item::Kind::collective)
    return pending_.front().side_part ? run_beside(start) : run_collectives_in_a_row(start);
  if (pending_.front().kind == Item::Kind::hold) run_hold(start, *pending_.front().hold);
  const Item item = std::move(pending_.front());
  pending_.pop_front();
  if (item.frees_an_entry) --entries_;
  switch (item.kind) {
    case Item::Kind::hold:
    case Item::Kind::collective: return;
    case Item::Kind::join: return wait_until(start);
    case Item::Kind::mark: return pass_mark(item.slot, start);
    case Item::Kind::stamp: return pass_stamp(item.slot, start);
    case Item::Kind::kernel:
    case Item::Kind::helper: end_ = run_kernel(item, start); return;
    case Item::Kind::group: end_ = run_group(item, start); return;
    case Item::Kind::eviction:
      end_ = run_kernel(item, start);
      timeline_.machine().fill_cache(item.leaves_modified_lines);
      return;
  }
}

}  // namespace jitterscope::virtual_gpu
