#include "support/forked_ranks.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <exception>
#include <optional>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

enum class Sort : char { exchange, result };

struct Message {
  Sort sort = Sort::result;
  std::string text;
};

bool send_bytes(int socket, const void* data, std::size_t size) {
  return ::send(socket, data, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size);
}

bool receive_bytes(int socket, void* data, std::size_t size) {
  return size == 0 || ::recv(socket, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

bool send(int socket, const Message& message) {
  const std::size_t size = message.text.size();
  return send_bytes(socket, &message.sort, sizeof(message.sort)) && send_bytes(socket, &size, sizeof(size)) &&
         send_bytes(socket, message.text.data(), size);
}

std::optional<Message> receive(int socket) {
  Message message;
  std::size_t size = 0;
  if (!receive_bytes(socket, &message.sort, sizeof(message.sort))) return std::nullopt;
  if (!receive_bytes(socket, &size, sizeof(size))) return std::nullopt;
  message.text.resize(size);
  if (!receive_bytes(socket, message.text.data(), size)) return std::nullopt;
  return message;
}

class ForkedRank final : public Ranks {
 public:
  ForkedRank(int rank, int count, int socket) : rank_(rank), count_(count), socket_(socket) {}
  int rank() const override { return rank_; }
  int count() const override { return count_; }
  std::vector<std::string> exchange(const std::string& own) override {
    std::vector<std::string> texts;
    bool is_whole = send(socket_, {Sort::exchange, own});
    for (int i = 0; is_whole && i < count_; ++i) {
      const auto message = receive(socket_);
      is_whole = message.has_value();
      if (message) texts.push_back(message->text);
    }
    if (!is_whole) throw FailedError("another rank has ended");
    return texts;
  }

 private:
  int rank_, count_, socket_;
};

[[noreturn]] void live_as(ForkedRank rank, int socket, const std::function<std::string(Ranks&)>& body) {
  Message result;
  try {
    result.text = body(rank);
  } catch (const std::exception& error) {
    result.text = std::string("error: ") + error.what();
  }
  send(socket, result);
  ::_exit(0);  // the test's own clean-up is its parent's
}

}  // namespace

std::vector<std::string> run_ranks(int count, const std::function<std::string(Ranks&)>& body) {
  std::vector<int> sockets;
  std::vector<pid_t> processes;
  for (int rank = 0; rank < count; ++rank) {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) != 0) throw FailedError("no sockets for ranks");
    const pid_t process = ::fork();
    if (process == 0) {
      for (const int others : sockets) ::close(others);
      ::close(pair[0]);
      live_as(ForkedRank(rank, count, pair[1]), pair[1], body);
    }
    ::close(pair[1]);
    sockets.push_back(pair[0]);
    processes.push_back(process);
  }
  std::vector<std::string> results(sockets.size(), "ended");
  std::vector<bool> lives(sockets.size(), true);
  for (std::size_t ended = 0; ended < sockets.size();) {
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
      if (!lives[rank]) continue;
      const auto message = receive(sockets[rank]);
      if (message && message->sort == Sort::exchange) {
        texts.push_back(message->text);
        continue;
      }
      if (message) results[rank] = message->text;
      lives[rank] = false;
      ++ended;
    }
    for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
      if (lives[rank] && ended > 0) ::shutdown(sockets[rank], SHUT_WR);  // who waits for an answer gets none
      for (const std::string& text : texts) {
        if (lives[rank] && ended == 0) send(sockets[rank], {Sort::exchange, text});
      }
    }
  }
  for (const int socket : sockets) ::close(socket);
  for (const pid_t process : processes) ::waitpid(process, nullptr, 0);
  return results;
}

}  // namespace jitterscope
