// Lines between rank 0 and the agents of the other ranks: one JSON object each, over TCP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/subprocess.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope::group {

/// The first line of an agent: who it is. Rank 0 refuses what it does not fit.
struct Hello {
  std::string token = {};
  std::int64_t rank = 0;
  std::int64_t local_rank = 0;
  std::string host = {};
  std::int64_t process = 0;          ///< the agent's, which is the parent of its workers
  std::string version = {};          ///< of this program
  std::string command = {};          ///< as typed, without the program's name
  std::string visible_devices = {};  ///< its CUDA_VISIBLE_DEVICES
};

enum class MessageKind : std::uint8_t {
  // From rank 0.
  start,   ///< a worker with a number that is not in use
  tell,    ///< text: a line for the worker
  end,     ///< the worker, gently at first
  refuse,  ///< text: why the agent cannot take part; it ends
  finish,  ///< all is done; the agent ends
  // From an agent.
  line,   ///< text: what the worker has written
  phase,  ///< text: what it has said of what it is doing
  ended,  ///< text: its last words
};

/// Every later line.
struct Message {
  MessageKind kind = MessageKind::finish;
  std::int64_t worker = 0;
  std::string text = {};
};

std::string write_hello(const Hello& hello);
/// Throws UsageError if the line is no hello.
Hello read_hello(std::string_view line);
std::string write_message(const Message& message);
/// Throws UsageError if the line is no message.
Message read_message(std::string_view line);

/// For who has not shown the token: enough for a hello.
inline constexpr std::size_t kLargestHello = 64u << 10u;
/// For members of the group: a record of many rounds takes some MiB. Memory is taken as the line comes.
inline constexpr std::size_t kLargestMessage = 256u << 20u;

/// One end of a connection. Its lines are read as they come and written whole.
class Connection {
 public:
  explicit Connection(Descriptor socket);

  int descriptor() const { return socket_.number(); }
  bool is_open() const { return socket_.number() >= 0; }
  /// From now on lines of this length are read; the limit is kLargestHello at first.
  void allow(std::size_t largest) { largest_ = largest; }
  /// Reads what has come, without waiting. Closes at the end of the stream, or if a line is too long.
  void read();
  /// Returns the next whole line that was read, without its end.
  std::optional<std::string> next_line();
  /// Writes a line, given without its end; waits for at most 30 s. Closes if the other end is gone.
  void write(std::string_view line);
  void close() { socket_.close(); }

 private:
  Descriptor socket_;
  std::size_t largest_ = kLargestHello;
  std::string read_;
  std::size_t searched_ = 0;  ///< no line ends before it
};

struct Listener {
  Descriptor socket;
  int port = 0;
};
/// Listens on a free port, on the loopback alone or on all interfaces; `port` 0 takes any. Throws
/// FailedError.
Listener listen_on(bool loopback_only, int port = 0);
/// Returns nullopt if nobody answers within the time.
std::optional<Descriptor> connect_to(const std::string& host, int port, Nanoseconds time_limit);

/// Waits until one of these can be read, for at most this long; those below zero are left out.
void wait_for_input(const std::vector<int>& descriptors, int milliseconds);

}  // namespace jitterscope::group
