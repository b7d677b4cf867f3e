// A parallel training step as a value: what each rank computes and exchanges, in which order, and how long
// each part takes by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "jitterscope/units.hpp"

namespace jitterscope::plan {

enum class Work { compute, collective, send, receive, copy };
enum class Exchange { all_reduce, reduce_scatter, all_gather, send };
/// The part of a step that a node belongs to.
enum class Phase { forward, backward, exchange };

using NodeId = std::size_t;
inline constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

/// Streams of a rank. Nodes of a stream run in the order in which they were added. Further streams may have
/// any number.
inline constexpr std::size_t kComputeStream = 0, kExchangeStream = 1, kSendStream = 2, kReceiveStream = 3,
                             kSendBackStream = 4, kReceiveBackStream = 5;

/// Layers of a network, from `begin` to before `end`.
struct LayerRange {
  std::size_t begin = 0, end = 0;
};

/// One piece of work of all ranks of a class.
struct Node {
  Work work = Work::compute;
  Phase phase = Phase::exchange;
  std::size_t rank_class = 0, stream = kComputeStream;
  Nanoseconds cost = {};           ///< of compute and copy; a meeting's is its transfer
  Nanoseconds launch = {};         ///< the host's time to launch it; the host launches in the order of adding
  std::size_t meeting = kNone;     ///< of collective, send and receive
  std::vector<NodeId> after = {};  ///< nodes of the same class that must have ended
  std::string name = {};           ///< for a timeline: "forward 3"
  LayerRange layers = {};          ///< that it computes, in the direction of its phase
  std::int64_t micro_batch = 0;
};

/// An exchange and its size: the bytes of the larger buffer, as nccl-tests count.
struct Transfer {
  Exchange exchange = Exchange::all_reduce;
  Bytes bytes;
};

/// Work that begins once all its nodes have arrived, and ends for all at once. It has one node for each class
/// that takes part, however many ranks the class has.
struct Meeting {
  Nanoseconds time;                      ///< of all its transfers
  std::vector<Transfer> transfers = {};  ///< one after the other
  std::vector<NodeId> nodes = {};
};

/// Ranks that do the same at the same times.
struct RankClass {
  std::int64_t first_rank = 0, ranks = 1;
  double slowness = 1.0;  ///< factor of all its computing
  std::string name = {};
};

/// While a rank computes and communicates at once, each takes this factor longer.
struct OverlapTax {
  double compute = 1.0, communication = 1.0;
};

struct StepPlan {
  std::vector<RankClass> classes;
  std::vector<Node> nodes;
  std::vector<Meeting> meetings;
  OverlapTax tax = {};
  std::int64_t steps = 1;  ///< that the nodes make up: of an exchange in every k-th step, k

  NodeId add(Node node) {
    node.cost = node.work == Work::compute ? node.cost * classes[node.rank_class].slowness : node.cost;
    nodes.push_back(std::move(node));
    return nodes.size() - 1;
  }
  /// Adds a meeting without nodes.
  std::size_t add_meeting(Nanoseconds time, std::vector<Transfer> transfers = {}) {
    meetings.push_back({time, std::move(transfers)});
    return meetings.size() - 1;
  }
  /// Adds a node that takes part in a meeting.
  NodeId join(std::size_t meeting, Node node) {
    node.meeting = meeting;
    const NodeId id = add(std::move(node));
    meetings[meeting].nodes.push_back(id);
    return id;
  }
};

// Below: a step in virtual time.

struct NodeTimes {
  Nanoseconds arrival;  ///< nothing of its own rank held it back any more
  Nanoseconds begin;    ///< a meeting's: all had arrived
  Nanoseconds worked;   ///< its work was done
  Nanoseconds end;      ///< and the host had launched all of it
};

/// Time in which a rank does not compute, by what it waited for. Their sum and `busy` is the step's length.
struct IdleTime {
  Nanoseconds bubble;   ///< for another stage of the pipeline to send or to receive, or for the others to end
  Nanoseconds exposed;  ///< for a transfer that is under way: communication that nothing hides
  Nanoseconds straggler;  ///< for another rank to come to a collective
  Nanoseconds launch;     ///< for the own host
  Nanoseconds sum() const { return bubble + exposed + straggler + launch; }
};

struct ClassTimes {
  Nanoseconds busy;
  IdleTime idle;
  Nanoseconds communication;  ///< sum over its transfers, at the same time or not
  Nanoseconds hidden() const { return communication - std::min(communication, idle.exposed); }
};

struct SimulatedStep {
  Nanoseconds length;            ///< of all of the plan's steps
  std::vector<NodeTimes> nodes;  ///< as in the plan
  std::vector<ClassTimes> classes;
};

/// Runs a plan. Throws FailedError, which names two of them, if nodes wait for each other for ever.
SimulatedStep simulate(const StepPlan& plan);
/// Returns the length alone.
Nanoseconds length_of(const StepPlan& plan);

}  // namespace jitterscope::plan
