#include "group/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/version.hpp"

namespace jitterscope::group {
namespace {

constexpr int kListenMilliseconds = 100;
// An agent answers an order with a line or two. More than this unread is no agent.
constexpr std::size_t kUnreadLines = 64;

// Compares all bytes, so that the time tells nothing of a token.
bool are_equal(std::string_view token, std::string_view other) {
  unsigned difference = token.size() == other.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(token.size(), other.size()); ++i) {
    difference |= static_cast<unsigned>(token[i] ^ other[i]);
  }
  return difference == 0;
}

// Says why a rank with the right token cannot take part; empty if it can.
std::string reason_against(const Hello& hello, const Membership& membership) {
  if (hello.version != version()) {
    return fmt::format("rank {} ({}) runs jitterscope {}, rank 0 {}; install one version on all hosts",
                       hello.rank, hello.host, hello.version, version());
  }
  if (hello.command != membership.command) {
    return fmt::format("rank {} was started as '{}', rank 0 as '{}'; start all with one command", hello.rank,
                       hello.command, membership.command);
  }
  if (hello.rank >= membership.identity.size) {
    return fmt::format("rank {} is none of {} ranks; start all by one launcher", hello.rank,
                       membership.identity.size);
  }
  return {};
}

std::string list_of(const std::vector<std::int64_t>& ranks) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(ranks.size(), kShown); ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", ranks[i]);
  }
  return ranks.size() > kShown ? fmt::format("{} and {} more", text, ranks.size() - kShown) : text;
}

// Those that have connected and not said yet who they are. Anybody may connect: only a few at a time are
// listened to, each must soon show the token, and who does not is turned away without a word.
class Strangers {
 public:
  Strangers(const Listener& listener, const std::string& token) : listener_(listener), token_(token) {}

  struct Member {
    Hello hello;
    std::unique_ptr<Connection> connection;
  };
  /// Waits for at most this long. Returns those that have shown the token.
  std::vector<Member> hear(int milliseconds) {
    std::vector<int> descriptors = {is_full() ? -1 : listener_.socket.number()};
    for (const Stranger& stranger : strangers_) descriptors.push_back(stranger.connection->descriptor());
    wait_for_input(descriptors, milliseconds);
    if (!is_full()) accept_one();
    std::vector<Member> members;
    for (Stranger& stranger : strangers_) {
      if (std::optional<Hello> hello = hello_of(stranger))
        members.push_back({*std::move(hello), std::move(stranger.connection)});
    }
    std::erase_if(strangers_, [](const Stranger& stranger) {
      return !stranger.connection || !stranger.connection->is_open();
    });
    return members;
  }

 private:
  struct Stranger {
    std::unique_ptr<Connection> connection;
    Nanoseconds since;
  };

  bool is_full() const {
    constexpr std::size_t kMost = 256;
    return strangers_.size() >= kMost;
  }

  void accept_one() {
    Descriptor come(::accept4(listener_.socket.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (come.number() < 0) return;
    strangers_.push_back({std::make_unique<Connection>(std::move(come)), host_time_now()});
  }

  // nullopt as long as it has said nothing, and if it was turned away.
  std::optional<Hello> hello_of(Stranger& stranger) const {
    constexpr Nanoseconds kPatience = seconds(10);
    stranger.connection->read();
    const std::optional<std::string> line = stranger.connection->next_line();
    if (!line && host_time_now() - stranger.since <= kPatience) return std::nullopt;
    try {
      if (line) {
        if (Hello hello = read_hello(*line); are_equal(hello.token, token_)) return hello;
      }
    } catch (const UsageError&) {  // it speaks something else: no rank of this job
    }
    stranger.connection->close();
    return std::nullopt;
  }

  const Listener& listener_;
  const std::string& token_;
  std::vector<Stranger> strangers_;
};

// While it exists, processes that are started find who they are in their environment.
class RankVariables {
 public:
  RankVariables(std::int64_t rank, std::int64_t size, const MeetingPoint& point) {
    ::setenv(kRankVariable, std::to_string(rank).c_str(), 1);
    ::setenv(kRanksVariable, std::to_string(size).c_str(), 1);
    ::setenv(kLocalRankVariable, std::to_string(rank).c_str(), 1);
    ::setenv(kMeetingPointVariable, write_meeting_point(point).c_str(), 1);
  }
  ~RankVariables() {
    for (const char* name : {kRankVariable, kRanksVariable, kLocalRankVariable, kMeetingPointVariable})
      ::unsetenv(name);
  }
  RankVariables(const RankVariables&) = delete;
  RankVariables& operator=(const RankVariables&) = delete;
};

}  // namespace

Hello own_hello(const Membership& membership, const std::string& token) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return {.token = token,
          .rank = membership.identity.rank,
          .local_rank = membership.identity.local_rank.value_or(membership.identity.rank),
          .host = host_name(),
          .process = ::getpid(),
          .version = std::string(version()),
          .command = membership.command,
          .visible_devices = visible == nullptr ? "" : visible};
}

/// A worker beside another rank, which its agent started.
class Group::RemotePartner final : public Partner {
 public:
  RemotePartner(Group& group, std::int64_t number) : group_(group), number_(number) {}
  ~RemotePartner() override {
    group_.send(worker().rank, {.kind = MessageKind::end, .worker = number_});
    group_.workers_.erase(number_);
  }

  std::string name() const override { return group_.name_of(worker().rank); }
  std::int64_t parent() const override { return group_.ranks_[worker().rank].hello.process; }
  void tell(std::string_view line) override {
    group_.send(worker().rank, {.kind = MessageKind::tell, .worker = number_, .text = std::string(line)});
  }
  std::optional<std::string> hear(int milliseconds) override {
    if (worker().lines.empty()) group_.listen(milliseconds);
    Worker& own = worker();
    if (!own.lines.empty()) {
      std::string line = std::move(own.lines.front());
      own.lines.erase(own.lines.begin());
      return line;
    }
    if (own.last_words) throw FailedError(*own.last_words);
    if (!group_.ranks_[own.rank].agent->is_open())
      throw FailedError("its agent has ended, and with it its worker");
    return std::nullopt;
  }
  std::string phase() const override { return worker().phase; }

 private:
  Worker& worker() const { return group_.workers_.at(number_); }

  Group& group_;
  std::int64_t number_;
};

Group::Group(const Membership& membership, Rendezvous& rendezvous, const std::function<bool()>& interrupted)
    : membership_(membership) {
  Listener listener = listen_on(false, rendezvous.port());
  MeetingPoint point = new_meeting_point(listener.port);
  if (const std::string agreed = rendezvous.token(); !agreed.empty()) point.token = agreed;
  rendezvous.publish(point);
  admit(listener, point.token, interrupted);
}

Group::Group(const Membership& membership, const std::vector<std::string>& arguments,
             const std::function<bool()>& interrupted)
    : membership_(membership) {
  Listener listener = listen_on(true);
  MeetingPoint point = new_meeting_point(listener.port);
  point.addresses.clear();
  std::vector<std::string> command = {membership.executable};
  command.insert(command.end(), arguments.begin(), arguments.end());
  for (std::int64_t rank = 1; rank < membership.identity.size; ++rank) {
    const RankVariables variables(rank, membership.identity.size, point);
    local_.push_back(std::make_unique<ChildProcess>(command, Descriptor()));
  }
  admit(listener, point.token, interrupted);
}

Group::~Group() { finish(); }

void Group::finish() {
  constexpr Nanoseconds kPatience = seconds(10);
  for (Rank& rank : ranks_) {
    if (rank.agent) rank.agent->write(write_message({.kind = MessageKind::finish}));
  }
  const Nanoseconds end = host_time_now() + kPatience;
  const auto is_there = [](const Rank& rank) { return rank.agent && rank.agent->is_open(); };
  while (std::ranges::any_of(ranks_, is_there) && host_time_now() < end) listen(kListenMilliseconds);
  for (const std::unique_ptr<ChildProcess>& process : local_) {
    std::string output, errors;
    while (host_time_now() < end && process->read(output, errors, kListenMilliseconds)) {
    }
  }
}

void Group::admit(Listener& listener, const std::string& token, const std::function<bool()>& interrupted) {
  ranks_.resize(static_cast<std::size_t>(membership_.identity.size));
  ranks_[0].hello = own_hello(membership_, token);
  Strangers strangers(listener, token);
  const Nanoseconds end = host_time_now() + membership_.patience;
  for (auto missing = missing_ranks(); !missing.empty(); missing = missing_ranks()) {
    if (interrupted && interrupted()) throw InterruptedError();
    if (host_time_now() > end) fail_for_want_of(missing);
    for (Strangers::Member& member : strangers.hear(kListenMilliseconds)) {
      seat(std::move(member.hello), std::move(member.connection));
    }
  }
}

void Group::seat(Hello hello, std::unique_ptr<Connection> agent) {
  std::string reason = reason_against(hello, membership_);
  const auto rank = static_cast<std::size_t>(hello.rank);
  if (reason.empty() && ranks_[rank].agent) {
    reason = fmt::format("two processes are rank {} ({} and {}); start all by one launcher", hello.rank,
                         ranks_[rank].hello.host, hello.host);
  }
  if (!reason.empty()) {
    agent->write(write_message({.kind = MessageKind::refuse, .text = reason}));
    finish();
    throw UsageError(reason);
  }
  agent->allow(kLargestMessage);
  ranks_[rank] = {std::move(hello), std::move(agent)};
}

std::vector<std::int64_t> Group::missing_ranks() const {
  std::vector<std::int64_t> missing;
  for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].agent) missing.push_back(static_cast<std::int64_t>(rank));
  }
  return missing;
}

void Group::fail_for_want_of(const std::vector<std::int64_t>& missing) {
  finish();
  const bool is_one = missing.size() == 1;
  throw FailedError(fmt::format("of {} ranks, {} not come within {}: {}; see whether {} started",
                                ranks_.size(), is_one ? "one has" : fmt::format("{} have", missing.size()),
                                duration_text(membership_.patience), list_of(missing),
                                is_one ? "it was" : "they were"));
}

std::string Group::name_of(std::size_t rank) const {
  return fmt::format("rank {} ({})", rank, ranks_.at(rank).hello.host);
}

std::string Group::device_of(std::size_t rank, const std::string& asked) const {
  if (asked != "cuda" && asked != "gpu" && asked != "auto") return asked;
  const Hello& hello = ranks_.at(rank).hello;
  const bool has_one = !hello.visible_devices.empty() && hello.visible_devices.find(',') == std::string::npos;
  return fmt::format("cuda:{}", has_one ? 0 : hello.local_rank);
}

std::unique_ptr<Partner> Group::start_worker(std::size_t rank) {
  if (rank == 0) return std::make_unique<LocalPartner>(membership_.executable, name_of(0));
  if (!ranks_.at(rank).agent->is_open()) throw FailedError(name_of(rank) + ": its agent has ended");
  const std::int64_t number = ++started_;
  workers_[number].rank = rank;
  send(rank, {.kind = MessageKind::start, .worker = number});
  return std::make_unique<RemotePartner>(*this, number);
}

void Group::send(std::size_t rank, const Message& message) {
  ranks_[rank].agent->write(write_message(message));
}

void Group::listen(int milliseconds) {
  std::vector<int> descriptors;
  for (const Rank& rank : ranks_) {
    if (rank.agent) descriptors.push_back(rank.agent->descriptor());
  }
  wait_for_input(descriptors, milliseconds);
  for (std::size_t rank = 1; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank].agent) continue;
    ranks_[rank].agent->read();
    take_lines(rank);
  }
}

void Group::take_lines(std::size_t rank) {
  while (const std::optional<std::string> line = ranks_[rank].agent->next_line()) {
    try {
      Message message = read_message(*line);
      const auto found = workers_.find(message.worker);
      if (found == workers_.end() || found->second.rank != rank) continue;  // it was ended in between
      Worker& worker = found->second;
      switch (message.kind) {
        case MessageKind::line:
          worker.lines.push_back(std::move(message.text));
          if (worker.lines.size() > kUnreadLines) ranks_[rank].agent->close();
          break;
        case MessageKind::phase: worker.phase = std::move(message.text); break;
        case MessageKind::ended: worker.last_words = std::move(message.text); break;
        default: ranks_[rank].agent->close();
      }
    } catch (const UsageError&) {  // no agent writes this
      ranks_[rank].agent->close();
    }
  }
}

}  // namespace jitterscope::group
