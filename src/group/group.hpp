// Rank 0's side of a job of several ranks: who is there, and workers beside each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "group/control_plane.hpp"
#include "group/rank_identity.hpp"
#include "group/rendezvous.hpp"
#include "jitterscope/units.hpp"
#include "worker/partner.hpp"

namespace jitterscope::group {

/// Each rank is started with these.
struct Membership {
  RankIdentity identity;
  std::string executable;  ///< path of this program
  std::string command;     ///< as typed, without the program's name: equal on all ranks
  /// How long rank 0 waits for the others, and they for it.
  Nanoseconds patience = seconds(60);
};

/// Says who this process is.
Hello own_hello(const Membership& membership, const std::string& token);

/// The ranks of this job, made by rank 0 once all have come. It is not thread-safe. Its destructor has all
/// agents end and waits for them, so that rank 0 ends last: launchers kill the others as soon as one ends
/// with an error.
class Group {
 public:
  /// Publishes and waits. Throws FailedError, naming the ranks that have not come in time; UsageError if a
  /// rank runs another version or command; InterruptedError.
  Group(const Membership& membership, Rendezvous& rendezvous, const std::function<bool()>& interrupted);
  /// The same for `--local N`: starts the other ranks on this host, as `EXECUTABLE ARGUMENTS`.
  Group(const Membership& membership, const std::vector<std::string>& arguments,
        const std::function<bool()>& interrupted);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  std::size_t size() const { return ranks_.size(); }
  /// "rank 1 (node7)".
  std::string name_of(std::size_t rank) const;
  const std::string& host_of(std::size_t rank) const { return ranks_[rank].hello.host; }
  /// The device that this rank uses where all were asked to use `asked` ("cuda", "virtual:h200"): on CUDA the
  /// GPU of its local rank, unless CUDA_VISIBLE_DEVICES leaves it one.
  std::string device_of(std::size_t rank, const std::string& asked) const;
  /// Starts a fresh worker beside this rank. Throws FailedError if its agent has ended. The group must
  /// outlive it. As a StartPartner for run_in_step it gives each rank its plan.
  std::unique_ptr<Partner> start_worker(std::size_t rank);

 private:
  class RemotePartner;
  struct Worker {
    std::size_t rank = 0;
    std::vector<std::string> lines;
    std::string phase;
    std::optional<std::string> last_words;  ///< of one that has ended
  };
  struct Rank {
    Hello hello;
    std::unique_ptr<Connection> agent;  ///< null for rank 0
  };

  // Waits until each rank has a seat.
  void admit(Listener& listener, const std::string& token, const std::function<bool()>& interrupted);
  // Takes who has shown the token as the agent of its rank, or refuses it and throws UsageError.
  void seat(Hello hello, std::unique_ptr<Connection> agent);
  std::vector<std::int64_t> missing_ranks() const;
  [[noreturn]] void fail_for_want_of(const std::vector<std::int64_t>& missing);
  void finish();
  void send(std::size_t rank, const Message& message);
  /// Reads what agents have written, after waiting for at most this long.
  void listen(int milliseconds);
  void take_lines(std::size_t rank);

  Membership membership_;
  std::vector<Rank> ranks_;
  std::map<std::int64_t, Worker> workers_;  ///< of agents, by number
  std::int64_t started_ = 0;
  std::vector<std::unique_ptr<ChildProcess>> local_;  ///< ranks that this process started
};

/// The part of every other rank: starts and ends workers as rank 0 orders, until rank 0 has finished or is
/// gone. It opens no device. Returns a sentence if it could not take part, else nothing.
std::optional<std::string> be_agent(const Membership& membership, Rendezvous& rendezvous);

}  // namespace jitterscope::group
