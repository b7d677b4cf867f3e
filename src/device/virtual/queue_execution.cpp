// The GPU's side of a queue: what happens when an item's turn comes.
#include <algorithm>

#include "device/virtual/virtual_queue.hpp"

namespace jitterscope::virtual_gpu {
namespace {

// Back-to-back replays leave no gap near this; a burst's idle is 20 ms.
constexpr Nanoseconds kIdleBeforeReplay = milliseconds(1);

}  // namespace

Nanoseconds VirtualQueue::start_of(const Item& item) const {
  return std::max(end_ + item.gap, item.earliest);
}

std::optional<Nanoseconds> VirtualQueue::next_start() const {
  if (pending_.empty()) return std::nullopt;
  const Item& item = pending_.front();
  const Nanoseconds start = start_of(item);
  if (item.kind != Item::Kind::gate) return start;
  const Nanoseconds limit = start + kGateLimit;
  return item.gate->opened ? std::clamp(*item.gate->opened, start, limit) : limit;
}

void VirtualQueue::hold_until(Nanoseconds time) {
  if (pending_.empty() || pending_.front().kind != Item::Kind::gate) return;
  const Nanoseconds start = std::max(start_of(pending_.front()), timeline_.machine().free_at());
  if (start >= time) return;
  physics::KernelWork gate;  // polls one word: as good as idle, but the clock stays up
  gate.fixed = time - start;
  timeline_.run_helper(gate, start);
}

void VirtualQueue::run_gate(Nanoseconds end, const Gate& gate) {
  hold_until(end);
  if (!gate.opened || *gate.opened > end) gate_timed_out_ = true;
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
  const Nanoseconds end = item.kind == Item::Kind::kernel ? timeline_.run(*item.kernel, start, item.origin)
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

void VirtualQueue::pass_mark(std::uint32_t slot, Nanoseconds time) {
  marks_[slot] = MarkValue{time, timeline_.timers().read_mark(time)};
  end_ = time;
  if (has_instruments()) end_ += timeline_.parameters().instruments.mark_overhead;
}

void VirtualQueue::pass_stamp(std::uint32_t slot, Nanoseconds time) {
  physics::KernelWork reader;
  if (has_instruments()) reader.fixed = timeline_.parameters().instruments.stamp_time;
  end_ = timeline_.run_helper(reader, time);
  stamps_[slot] = StampValue{end_, timeline_.timers().read_stamp(end_), timeline_.machine().cycles()};
}

void VirtualQueue::run_next() {
  const Nanoseconds start = *next_start();
  if (pending_.front().kind == Item::Kind::gate) run_gate(start, *pending_.front().gate);
  const Item item = std::move(pending_.front());
  pending_.pop_front();
  if (item.frees_an_entry) --entries_;
  switch (item.kind) {
    case Item::Kind::gate: return;
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
