// Runs a step's nodes in virtual time, and says what each rank waited for.
#include <algorithm>
#include <array>
#include <queue>
#include <vector>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "plan/step_plan.hpp"

namespace jitterscope::plan {
namespace {

// The order that a plan gives its nodes, and what the host launches when.
struct Order {
  explicit Order(const StepPlan& plan)
      : before_in_stream(plan.nodes.size(), kNone),
        followers(plan.nodes.size()),
        pending(plan.nodes.size(), 0),
        launch_begin(plan.nodes.size()),
        launch_end(plan.nodes.size()) {
    std::vector<std::vector<NodeId>> last(plan.classes.size());
    std::vector<Nanoseconds> host(plan.classes.size());
    for (NodeId id = 0; id < plan.nodes.size(); ++id) {
      const Node& node = plan.nodes[id];
      std::vector<NodeId>& streams = last[node.rank_class];
      if (streams.size() <= node.stream) streams.resize(node.stream + 1, kNone);
      before_in_stream[id] = streams[node.stream];
      streams[node.stream] = id;
      launch_begin[id] = host[node.rank_class];
      host[node.rank_class] += node.launch;
      launch_end[id] = host[node.rank_class];
      if (before_in_stream[id] != kNone) follow(before_in_stream[id], id);
      for (const NodeId before : node.after) follow(before, id);
    }
  }

  std::vector<NodeId> before_in_stream;
  std::vector<std::vector<NodeId>> followers;
  std::vector<std::size_t> pending;  // nodes that have to end before it
  std::vector<Nanoseconds> launch_begin, launch_end;

 private:
  void follow(NodeId before, NodeId id) {
    followers[before].push_back(id);
    ++pending[id];
  }
};

class Simulator {
 public:
  explicit Simulator(const StepPlan& plan)
      : plan_(plan),
        order_(plan),
        times_(plan.nodes.size()),
        arrived_(plan.meetings.size(), 0),
        activities_(plan.nodes.size() + plan.meetings.size()),
        active_(plan.classes.size()) {}

  void run() {
    for (NodeId id = 0; id < plan_.nodes.size(); ++id)
      if (order_.pending[id] == 0) release(id, Nanoseconds(0));
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      switch (event.kind) {
        case Event::Kind::arrive: arrive(event.index, event.time); break;
        case Event::Kind::finish:
          if (activities_[event.index].version == event.version) finish(event.index, event.time);
          break;
        case Event::Kind::end: end(event.index, event.time); break;
      }
    }
    if (ended_ < plan_.nodes.size()) fail_waiting();
  }

  const std::vector<NodeTimes>& times() const { return times_; }
  const Order& order() const { return order_; }
  Nanoseconds length() const { return length_; }

 private:
  // A node that computes or copies (its index is the node's), or a meeting (behind all nodes).
  struct Activity {
    Nanoseconds remaining, updated;
    double slowdown = 1.0;
    std::uint32_t version = 0;
  };
  struct Event {
    enum class Kind { arrive, finish, end };
    Nanoseconds time;
    std::uint64_t number;  // equal times: in the order in which they were found
    Kind kind;
    std::size_t index;
    std::uint32_t version = 0;
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  // The activities that run on the ranks of a class.
  struct Active {
    std::size_t computing = 0;
    std::vector<std::size_t> activities;  // of both kinds
    std::size_t communicating = 0;
  };

  void push(Nanoseconds time, Event::Kind kind, std::size_t index, std::uint32_t version = 0) {
    events_.push({time, next_number_++, kind, index, version});
  }

  void release(NodeId id, Nanoseconds now) {
    if (order_.launch_begin[id] > now) {
      push(order_.launch_begin[id], Event::Kind::arrive, id);
    } else {
      arrive(id, now);
    }
  }

  void arrive(NodeId id, Nanoseconds now) {
    const Node& node = plan_.nodes[id];
    times_[id].arrival = now;
    if (node.meeting == kNone) {
      times_[id].begin = now;
      start(id, node.cost, now);
      return;
    }
    const Meeting& meeting = plan_.meetings[node.meeting];
    if (++arrived_[node.meeting] < meeting.nodes.size()) return;
    for (const NodeId each : meeting.nodes) times_[each].begin = now;
    start(plan_.nodes.size() + node.meeting, meeting.time, now);
  }

  bool is_meeting(std::size_t activity) const { return activity >= plan_.nodes.size(); }
  bool computes(std::size_t activity) const {
    return !is_meeting(activity) && plan_.nodes[activity].work == Work::compute;
  }

  template <class Visit>
  void for_each_class(std::size_t activity, const Visit& visit) {
    if (!is_meeting(activity)) return visit(plan_.nodes[activity].rank_class);
    for (const NodeId id : plan_.meetings[activity - plan_.nodes.size()].nodes)
      visit(plan_.nodes[id].rank_class);
  }

  void start(std::size_t activity, Nanoseconds work, Nanoseconds now) {
    activities_[activity].remaining = work;
    activities_[activity].updated = now;
    change_presence(activity, now, true);
    Activity& started = activities_[activity];
    started.slowdown = slowdown_of(activity);
    push(now + started.remaining * started.slowdown, Event::Kind::finish, activity, started.version);
  }

  // Other activities on the same ranks get faster or slower by it.
  void change_presence(std::size_t activity, Nanoseconds now, bool begins) {
    const bool has_tax = plan_.tax.compute != 1.0 || plan_.tax.communication != 1.0;
    if (!has_tax) return;
    for_each_class(activity, [&](std::size_t rank_class) {
      Active& active = active_[rank_class];
      std::size_t& count = computes(activity) ? active.computing : active.communicating;
      const bool counts = computes(activity) || is_meeting(activity);
      if (begins) {
        active.activities.push_back(activity);
        if (counts) ++count;
      } else {
        std::erase(active.activities, activity);
        if (counts) --count;
      }
      for (const std::size_t other : active.activities)
        if (other != activity) adjust(other, now);
    });
  }

  double slowdown_of(std::size_t activity) {
    double slowdown = 1.0;
    for_each_class(activity, [&](std::size_t rank_class) {
      const Active& active = active_[rank_class];
      if (computes(activity) && active.communicating > 0) slowdown = plan_.tax.compute;
      if (is_meeting(activity) && active.computing > 0) slowdown = plan_.tax.communication;
    });
    return slowdown;
  }

  void adjust(std::size_t activity, Nanoseconds now) {
    Activity& adjusted = activities_[activity];
    const double slowdown = slowdown_of(activity);
    if (slowdown == adjusted.slowdown) return;
    adjusted.remaining -= (now - adjusted.updated) / adjusted.slowdown;
    adjusted.remaining = std::max(adjusted.remaining, Nanoseconds(0));
    adjusted.updated = now;
    adjusted.slowdown = slowdown;
    ++adjusted.version;
    push(now + adjusted.remaining * slowdown, Event::Kind::finish, activity, adjusted.version);
  }

  void finish(std::size_t activity, Nanoseconds now) {
    ++activities_[activity].version;
    change_presence(activity, now, false);
    const auto finish_node = [&](NodeId id) {
      times_[id].worked = now;
      if (order_.launch_end[id] > now) {
        push(order_.launch_end[id], Event::Kind::end, id);
      } else {
        end(id, now);
      }
    };
    if (!is_meeting(activity)) return finish_node(activity);
    for (const NodeId id : plan_.meetings[activity - plan_.nodes.size()].nodes) finish_node(id);
  }

  void end(NodeId id, Nanoseconds now) {
    times_[id].end = now;
    length_ = std::max(length_, now);
    ++ended_;
    for (const NodeId follower : order_.followers[id])
      if (--order_.pending[follower] == 0) release(follower, now);
  }

  [[noreturn]] void fail_waiting() const {
    std::vector<std::string> waiting;
    for (std::size_t m = 0; m < plan_.meetings.size() && waiting.size() < 2; ++m) {
      if (arrived_[m] == 0 || arrived_[m] == plan_.meetings[m].nodes.size()) continue;
      const Node& node = plan_.nodes[plan_.meetings[m].nodes.front()];
      waiting.push_back(
          fmt::format("\"{}\" of rank {}", node.name, plan_.classes[node.rank_class].first_rank));
    }
    throw FailedError(fmt::format(
        "this step never ends: {} wait for ranks that wait for them; let all ranks exchange in the same "
        "order",
        waiting.empty() ? "its nodes" : fmt::format("{}", fmt::join(waiting, " and "))));
  }

  const StepPlan& plan_;
  Order order_;
  std::vector<NodeTimes> times_;
  std::vector<std::size_t> arrived_;
  std::vector<Activity> activities_;
  std::vector<Active> active_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t next_number_ = 0;
  std::size_t ended_ = 0;
  Nanoseconds length_;
};

// The exchanges that a class waited for while it did not compute.
class Waiting {
 public:
  Waiting(const StepPlan& plan, const Order& order, const std::vector<NodeTimes>& times, Nanoseconds length)
      : plan_(plan), order_(order), times_(times), length_(length) {}

  std::vector<ClassTimes> of_all() {
    std::vector<ClassTimes> all(plan_.classes.size());
    std::vector<std::vector<NodeId>> computes(plan_.classes.size());
    std::vector<NodeId> last(plan_.classes.size(), kNone);
    std::vector<bool> is_staged(plan_.classes.size(), false);
    for (NodeId id = 0; id < plan_.nodes.size(); ++id) {
      const Node& node = plan_.nodes[id];
      const std::size_t of = node.rank_class;
      if (node.work == Work::compute) computes[of].push_back(id);
      if (node.meeting != kNone) all[of].communication += times_[id].worked - times_[id].begin;
      if (node.work == Work::send || node.work == Work::receive) is_staged[of] = true;
      if (last[of] == kNone || times_[id].end > times_[last[of]].end) last[of] = id;
    }
    for (std::size_t of = 0; of < all.size(); ++of) {
      idle_ = {};
      Nanoseconds computed;  // until when the class has computed
      std::ranges::stable_sort(computes[of], {}, [&](NodeId id) { return times_[id].begin; });
      for (const NodeId id : computes[of]) {
        if (times_[id].begin > computed) add_before(id, computed, times_[id].begin);
        all[of].busy += std::max(times_[id].worked - std::max(times_[id].begin, computed), Nanoseconds(0));
        computed = std::max(computed, times_[id].worked);
      }
      const Nanoseconds ended = last[of] == kNone ? Nanoseconds(0) : times_[last[of]].end;
      if (last[of] != kNone && ended > computed) add_within(last[of], computed, ended);
      (is_staged[of] ? idle_.bubble : idle_.straggler) += length_ - std::max(ended, computed);
      all[of].idle = idle_;
    }
    return all;
  }

 private:
  // Adds the time from `from` to `until` in which `id` could not begin.
  void add_before(NodeId id, Nanoseconds from, Nanoseconds until) {
    while (until > from) {
      NodeId binding = order_.before_in_stream[id];
      for (const NodeId before : plan_.nodes[id].after)
        if (binding == kNone || times_[before].end > times_[binding].end) binding = before;
      const Nanoseconds ready = binding == kNone ? Nanoseconds(0) : times_[binding].end;
      if (ready < until) idle_.launch += until - std::max(ready, from);
      until = std::min(until, ready);
      if (binding == kNone || until <= from) return;
      until = add_span(binding, from, until);
      id = binding;
    }
  }
  void add_within(NodeId id, Nanoseconds from, Nanoseconds until) {
    const Nanoseconds arrival = add_span(id, from, until);
    if (arrival > from) add_before(id, from, arrival);
  }
  // Adds what a node took of this time; returns when it arrived.
  Nanoseconds add_span(NodeId id, Nanoseconds from, Nanoseconds until) {
    const NodeTimes& times = times_[id];
    const Work work = plan_.nodes[id].work;
    const auto take = [&](Nanoseconds& cause, Nanoseconds since) {
      since = std::max(since, from);
      if (since < until) cause += until - since;
      until = std::min(until, std::max(since, from));
    };
    take(idle_.launch, times.worked);
    take(idle_.exposed, times.begin);
    take(work == Work::collective ? idle_.straggler : idle_.bubble, times.arrival);
    return until;
  }

  const StepPlan& plan_;
  const Order& order_;
  const std::vector<NodeTimes>& times_;
  Nanoseconds length_;
  IdleTime idle_;
};

}  // namespace

SimulatedStep simulate(const StepPlan& plan) {
  Simulator simulator(plan);
  simulator.run();
  Waiting waiting(plan, simulator.order(), simulator.times(), simulator.length());
  return {simulator.length(), simulator.times(), waiting.of_all()};
}

Nanoseconds length_of(const StepPlan& plan) {
  Simulator simulator(plan);
  simulator.run();
  return simulator.length();
}

}  // namespace jitterscope::plan
