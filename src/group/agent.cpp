// The part of every rank but 0.
#include <fmt/format.h>

#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <unistd.h>

#include "base/host.hpp"
#include "base/subprocess.hpp"
#include "group/group.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::group {
namespace {

constexpr int kAgentPollMilliseconds = 1000;

class Agent {
 public:
  Agent(const Membership& membership, Descriptor socket) : membership_(membership), root_(std::move(socket)) {
    root_.allow(kLargestMessage);
  }

  void introduce(const MeetingPoint& point) { root_.write(write_hello(own_hello(membership_, point.token))); }

  std::optional<std::string> serve() {
    while (root_.is_open()) {
      std::vector<int> descriptors = {root_.descriptor()};
      for (const auto& [number, worker] : workers_) {
        for (const int output : worker.process->outputs()) descriptors.push_back(output);
      }
      wait_for_input(descriptors, kAgentPollMilliseconds);
      root_.read();
      while (const std::optional<std::string> line = root_.next_line()) {
        const Message order = read_message(*line);
        if (order.kind == MessageKind::finish) return std::nullopt;
        if (order.kind == MessageKind::refuse) return order.text;
        follow(order);
      }
      relay();
    }
    return std::nullopt;  // rank 0 is gone, which has its own words
  }

 private:
  struct Started {
    std::unique_ptr<AnsweringProcess> process;
    std::string phase;
  };

  void say(MessageKind kind, std::int64_t worker, const std::string& text) {
    root_.write(write_message({.kind = kind, .worker = worker, .text = text}));
  }

  void follow(const Message& order) {
    const auto found = workers_.find(order.worker);
    if (order.kind == MessageKind::start) {
      try {
        workers_[order.worker].process =
            std::make_unique<AnsweringProcess>(std::vector<std::string>{membership_.executable, "worker"});
      } catch (const FailedError& problem) {
        workers_.erase(order.worker);
        say(MessageKind::ended, order.worker, problem.what());
      }
    } else if (order.kind == MessageKind::tell && found != workers_.end()) {
      found->second.process->tell(order.text);
    } else if (order.kind == MessageKind::end && found != workers_.end()) {
      workers_.erase(found);
    }
  }

  // Passes on what workers have written.
  void relay() {
    for (auto each = workers_.begin(); each != workers_.end();) {
      auto& [number, worker] = *each;
      try {
        while (const std::optional<std::string> line = worker.process->next(0)) {
          say(MessageKind::line, number, *line);
        }
        if (std::string phase = last_line(worker.process->errors()); phase != worker.phase) {
          say(MessageKind::phase, number, phase);
          worker.phase = std::move(phase);
        }
        ++each;
      } catch (const FailedError& ended) {
        say(MessageKind::ended, number, ended.what());
        each = workers_.erase(each);
      }
    }
  }

  const Membership& membership_;
  Connection root_;
  std::map<std::int64_t, Started> workers_;
};

std::optional<Descriptor> connect_to_root(const MeetingPoint& point, Nanoseconds patience) {
  constexpr useconds_t kAgainMicroseconds = 100'000;
  constexpr Nanoseconds kOneTry = seconds(5);
  std::vector<std::string> hosts;
  // On one host the loopback is there, whatever a firewall says.
  if (point.host == host_name()) hosts.emplace_back("127.0.0.1");
  hosts.insert(hosts.end(), point.addresses.begin(), point.addresses.end());
  hosts.push_back(point.host);
  const Nanoseconds end = host_time_now() + patience;
  while (true) {
    for (const std::string& host : hosts) {
      if (auto socket = connect_to(host, point.port, kOneTry)) return socket;
    }
    if (host_time_now() > end) return std::nullopt;
    ::usleep(kAgainMicroseconds);
  }
}

}  // namespace

std::optional<std::string> be_agent(const Membership& membership, Rendezvous& rendezvous) {
  // A terminal or a scheduler signals all ranks at once. Rank 0 decides what becomes of the workers, and the
  // agent ends with it.
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) std::signal(number, SIG_IGN);
  try {
    const MeetingPoint point = rendezvous.look_up(membership.patience);
    std::optional<Descriptor> socket = connect_to_root(point, membership.patience);
    if (!socket) {
      return fmt::format("rank {} cannot reach rank 0 at {}:{}; see whether a firewall is between them",
                         membership.identity.rank, point.host, point.port);
    }
    Agent agent(membership, *std::move(socket));
    agent.introduce(point);
    return agent.serve();
  } catch (const Error& problem) {
    return fmt::format("rank {}: {}", membership.identity.rank, problem.what());
  }
}

}  // namespace jitterscope::group
