#include "judge/line_server.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "jitterscope/error.hpp"

namespace jitterscope::judging {
namespace {

constexpr int kWaitMilliseconds = 100;

sockaddr_un address_of(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.empty() || text.size() >= sizeof(address.sun_path)) {
    throw UsageError(
        fmt::format("--serve: a socket's path has 1 to {} bytes, and this has {}; name a shorter one",
                    sizeof(address.sun_path) - 1, text.size()));
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

Descriptor new_socket() {
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.number() < 0) throw FailedError(std::string("no socket could be made: ") + std::strerror(errno));
  return made;
}

// Removes a socket that a server left which is no more.
void clear_place(const std::filesystem::path& path, const sockaddr_un& address) {
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) return;
  if (!S_ISSOCK(found.st_mode)) {
    throw UsageError(fmt::format("--serve: {} is there and is no socket; name another place", path.string()));
  }
  const Descriptor tried = new_socket();
  if (::connect(tried.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ||
      errno == EAGAIN) {
    throw UsageError(fmt::format("--serve: another judge serves {}; name another place", path.string()));
  }
  ::unlink(path.c_str());
}

}  // namespace

LineServer::LineServer(const std::filesystem::path& path, const ServerLimits& limits)
    : path_(path), limits_(limits) {
  listen();
}

LineServer::~LineServer() { ::unlink(path_.c_str()); }

void LineServer::listen() {
  const sockaddr_un address = address_of(path_);
  clear_place(path_, address);
  socket_ = new_socket();
  // From its first moment nobody else may open it.
  const mode_t before = ::umask(0177);
  const int bound = ::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int problem = errno;
  ::umask(before);
  if (bound != 0) {
    throw UsageError(
        fmt::format("--serve: {} could not be made: {}", path_.string(), std::strerror(problem)));
  }
  constexpr int kBacklog = 32;
  if (::listen(socket_.number(), kBacklog) != 0) {
    ::unlink(path_.c_str());
    throw FailedError(std::string("a socket could not be listened on: ") + std::strerror(errno));
  }
}

void LineServer::refuse(Client& client, const char* sentence) {
  client.received.clear();
  client.unsent += fmt::format("{{\"error\": \"{}\"}}\n", sentence);
  client.has_ended = true;
  send(client);
}

void LineServer::accept_client() {
  Descriptor accepted(::accept4(socket_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (accepted.number() < 0) return;
  clients_.emplace_back(next_number_++, Client{.socket = std::move(accepted), .received = {}, .unsent = {}});
  if (clients_.size() > limits_.clients)
    refuse(clients_.back().second, "the judge has too many clients; come later");
}

void LineServer::receive(std::size_t number) {
  Client& client = clients_[number].second;
  std::array<char, 65536> part{};
  const ssize_t count = ::recv(client.socket.number(), part.data(), part.size(), 0);
  if (count < 0) {
    client.is_gone = errno != EAGAIN && errno != EINTR;
    return;
  }
  if (count == 0) {
    client.has_ended = true;
    return;
  }
  client.received.append(part.data(), static_cast<std::size_t>(count));
  for (std::size_t end = 0; (end = client.received.find('\n')) != std::string::npos;) {
    requests_.push_back({clients_[number].first, client.received.substr(0, end)});
    client.received.erase(0, end + 1);
    ++client.waiting;
  }
  if (client.received.size() > limits_.line) refuse(client, "a request is longer than the judge takes");
}

void LineServer::send(Client& client) {
  while (!client.unsent.empty()) {
    const ssize_t count =
        ::send(client.socket.number(), client.unsent.data(), client.unsent.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      client.is_gone = errno != EAGAIN || client.unsent.size() > limits_.unread;
      return;
    }
    client.unsent.erase(0, static_cast<std::size_t>(count));
  }
}

// Takes what has come and gives what can be taken.
void LineServer::exchange(int milliseconds) {
  std::vector<pollfd> waited = {{socket_.number(), POLLIN, 0}};
  for (const auto& [number, client] : clients_) {
    short events = 0;
    if (!client.has_ended && client.waiting < limits_.waiting) events |= POLLIN;
    if (!client.unsent.empty()) events |= POLLOUT;
    waited.push_back({client.socket.number(), events, 0});
  }
  if (::poll(waited.data(), waited.size(), milliseconds) <= 0) return;
  for (std::size_t i = 0; i + 1 < waited.size(); ++i) {
    const short found = waited[i + 1].revents;
    Client& client = clients_[i].second;
    if ((found & POLLIN) != 0) receive(i);
    if ((found & POLLOUT) != 0) send(client);
    // A client that is gone reads no answer: what it asked for is left out.
    if ((found & (POLLERR | POLLHUP | POLLNVAL)) != 0) client.is_gone = true;
  }
  if ((waited[0].revents & POLLIN) != 0) accept_client();
  std::erase_if(clients_, [](const auto& each) {
    const Client& client = each.second;
    return client.is_gone || (client.has_ended && client.waiting == 0 && client.unsent.empty());
  });
}

void LineServer::serve(const std::function<std::string(const std::string&)>& answer,
                       const std::function<void()>& idle, const std::function<bool()>& is_ended) {
  while (!is_ended()) {
    exchange(requests_.empty() ? kWaitMilliseconds : 0);
    if (requests_.empty()) {
      idle();
      continue;
    }
    const Request request = std::move(requests_.front());
    requests_.pop_front();
    const auto asks = [&](const auto& each) { return each.first == request.client; };
    if (std::ranges::none_of(clients_, asks)) continue;
    const std::string text = answer(request.line) + '\n';
    const auto client = std::ranges::find_if(clients_, asks);
    --client->second.waiting;
    client->second.unsent += text;
    send(client->second);
  }
}

}  // namespace jitterscope::judging
