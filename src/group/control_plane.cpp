#include "group/control_plane.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/host.hpp"
#include "jitterscope/error.hpp"
#include "record/envelope.hpp"
#include "record/values.hpp"

namespace jitterscope::group {

std::string_view to_string(MessageKind kind) {
  switch (kind) {
    case MessageKind::start: return "start";
    case MessageKind::tell: return "tell";
    case MessageKind::end: return "end";
    case MessageKind::refuse: return "refuse";
    case MessageKind::finish: return "finish";
    case MessageKind::line: return "line";
    case MessageKind::phase: return "phase";
    case MessageKind::ended: return "ended";
  }
  return "";
}
constexpr auto enumerators(MessageKind) {
  using enum MessageKind;
  return std::array{start, tell, end, refuse, finish, line, phase, ended};
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Hello>& hello) {
  for (const char* key : {"token", "rank", "process", "version", "command"}) fields.require(key);
  fields("token", hello.token);
  fields("rank", hello.rank);
  fields("local_rank", hello.local_rank);
  fields("host", hello.host);
  fields("process", hello.process);
  fields("version", hello.version);
  fields("command", hello.command);
  fields("visible_devices", hello.visible_devices);
  fields.check(hello.rank > 0, "rank", "a number above zero");
}

template <class Fields>
void describe(Fields& fields, Described<Fields, Message>& message) {
  fields.require("kind");
  fields("kind", message.kind);
  fields("worker", message.worker);
  fields("text", message.text);
}

std::string write_hello(const Hello& hello) { return write_value(hello).dump(); }
Hello read_hello(std::string_view line) { return read_value<Hello>(parse_document(line, "hello"), "hello"); }
std::string write_message(const Message& message) { return write_value(message).dump(); }
Message read_message(std::string_view line) {
  return read_value<Message>(parse_document(line, "message"), "message");
}

namespace {

constexpr Nanoseconds kWriteLimit = seconds(30);

void prepare_socket(int socket) {
  const int on = 1, idle = 20, interval = 10, count = 3;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // A host that is gone without a word is noticed within a minute.
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
}

int milliseconds_until(Nanoseconds end) {
  const double left = to_seconds(end - host_time_now()) * 1e3;
  return left <= 0.0 ? 0 : static_cast<int>(left) + 1;
}

bool can_write(int socket, Nanoseconds end) {
  pollfd waited{socket, POLLOUT, 0};
  while (true) {
    const int left = milliseconds_until(end);
    if (::poll(&waited, 1, left) > 0) return true;
    if (left == 0) return false;
  }
}

}  // namespace

Connection::Connection(Descriptor socket) : socket_(std::move(socket)) { prepare_socket(socket_.number()); }

void Connection::read() {
  std::array<char, 64u << 10u> part{};
  while (is_open()) {
    const ssize_t count = ::recv(socket_.number(), part.data(), part.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (count <= 0) return close();
    read_.append(part.data(), static_cast<std::size_t>(count));
    const std::size_t begun = read_.rfind('\n');
    const std::size_t unfinished = begun == std::string::npos ? read_.size() : read_.size() - begun - 1;
    if (unfinished > largest_) return close();
    // One part at a time, so that lines are taken before more come.
    if (static_cast<std::size_t>(count) < part.size() || begun != std::string::npos) return;
  }
}

std::optional<std::string> Connection::next_line() {
  const std::size_t length = read_.find('\n', searched_);
  searched_ = length == std::string::npos ? read_.size() : 0;
  if (length == std::string::npos) return std::nullopt;
  std::string line = read_.substr(0, length);
  read_.erase(0, length + 1);
  return line;
}

void Connection::write(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  std::string_view left = text;
  const Nanoseconds end = host_time_now() + kWriteLimit;
  while (is_open() && !left.empty()) {
    const ssize_t count = ::send(socket_.number(), left.data(), left.size(), MSG_NOSIGNAL);
    if (count > 0) {
      left.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!can_write(socket_.number(), end)) close();
    } else if (errno != EINTR) {
      close();
    }
  }
}

Listener listen_on(bool loopback_only, int port) {
  Listener listener;
  listener.socket.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(loopback_only ? INADDR_LOOPBACK : INADDR_ANY);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  socklen_t length = sizeof address;
  const int on = 1;
  const int socket = listener.socket.number();
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket, SOMAXCONN) != 0 ||
      ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    throw FailedError(
        fmt::format("rank 0 cannot listen for the other ranks on {} ({}); name {} by --rendezvous",
                    port == 0 ? "any port" : fmt::format("port {}", port), std::strerror(errno),
                    port == 0 ? "a folder" : "another port or a folder"));
  }
  listener.port = ntohs(address.sin_port);
  return listener;
}

std::optional<Descriptor> connect_to(const std::string& host, int port, Nanoseconds time_limit) {
  const Nanoseconds end = host_time_now() + time_limit;
  addrinfo hints{};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return std::nullopt;
  std::optional<Descriptor> connected;
  for (const addrinfo* each = found; each != nullptr && !connected; each = each->ai_next) {
    Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (::connect(socket.number(), each->ai_addr, each->ai_addrlen) != 0 &&
        (errno != EINPROGRESS || !can_write(socket.number(), end))) {
      continue;
    }
    int problem = 0;
    socklen_t length = sizeof problem;
    ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &problem, &length);
    if (problem == 0) connected = std::move(socket);
  }
  ::freeaddrinfo(found);
  return connected;
}

void wait_for_input(const std::vector<int>& descriptors, int milliseconds) {
  std::vector<pollfd> waited;
  for (const int descriptor : descriptors) waited.push_back({descriptor, POLLIN, 0});
  ::poll(waited.data(), waited.size(), milliseconds);  // a signal ends it early
}

}  // namespace jitterscope::group
