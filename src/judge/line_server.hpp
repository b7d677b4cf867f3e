// A socket of this machine on which requests come as lines, and are answered as lines, one after the other.
#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/subprocess.hpp"

namespace jitterscope::judging {

/// How much a client may ask for. One that goes beyond is told so and closed.
struct ServerLimits {
  std::size_t clients = 32;
  std::size_t line = std::size_t{4} << 20;     ///< bytes of a request
  std::size_t waiting = 16;                    ///< requests of a client; more are left in its socket
  std::size_t unread = std::size_t{64} << 20;  ///< bytes of answers that a client has not taken
};

class LineServer {
 public:
  /// Makes the socket, which only this user may open (0600), in place of one that nobody serves any more.
  /// Throws UsageError if there is something else, or a server that answers.
  explicit LineServer(const std::filesystem::path& path, const ServerLimits& limits = {});
  /// Removes the socket.
  ~LineServer();
  LineServer(const LineServer&) = delete;
  LineServer& operator=(const LineServer&) = delete;

  /// Answers requests in the order in which they came until `is_ended`; what `answer` throws ends it, too.
  /// `idle` is called when nothing waits.
  void serve(const std::function<std::string(const std::string& line)>& answer,
             const std::function<void()>& idle, const std::function<bool()>& is_ended);

 private:
  struct Client {
    Descriptor socket;
    std::string received, unsent;
    std::size_t waiting = 0;
    bool has_ended = false;  ///< sends nothing more, and may still read
    bool is_gone = false;
  };
  struct Request {
    std::size_t client;  ///< number of it
    std::string line;
  };

  void listen();
  void exchange(int milliseconds);
  void accept_client();
  void receive(std::size_t number);
  void send(Client& client);
  void refuse(Client& client, const char* sentence);

  std::filesystem::path path_;
  ServerLimits limits_;
  Descriptor socket_;
  std::vector<std::pair<std::size_t, Client>> clients_;  ///< each with a number of its own
  std::size_t next_number_ = 0;
  std::deque<Request> requests_;
};

}  // namespace jitterscope::judging
