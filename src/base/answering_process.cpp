#include "base/answering_process.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/quantity_text.hpp"
#include "base/subprocess.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

// Short: who asks is in the middle of a measurement.
constexpr int kPollMilliseconds = 20;

std::array<Descriptor, 2> connected() {
  std::array<int, 2> ends{};
  // Not a pipe: to write to one whose reader has ended is a signal, and here only an error.
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw FailedError(std::string("no way to another process could be made: ") + std::strerror(errno));
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

AnsweringProcess::AnsweringProcess(const std::vector<std::string>& arguments)
    : AnsweringProcess(arguments, connected()) {}

AnsweringProcess::AnsweringProcess(const std::vector<std::string>& arguments, std::array<Descriptor, 2> ends)
    : input_(std::move(ends[0])), child_(arguments, std::move(ends[1])) {}

AnsweringProcess::~AnsweringProcess() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kGrace(2);
  input_.close();
  const Clock::time_point end = Clock::now() + kGrace;
  while (Clock::now() < end && child_.read(output_, errors_, kPollMilliseconds)) {
  }
}

void AnsweringProcess::write(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::send(input_.number(), text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // it has ended, which reading shows with its last words
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string AnsweringProcess::ask(std::string_view line, Nanoseconds time_limit,
                                  const std::function<bool()>& interrupted) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(to_seconds(time_limit));
  write(std::string(line) + '\n');
  while (true) {
    if (const std::size_t length = output_.find('\n'); length != std::string::npos) {
      std::string answer = output_.substr(0, length);
      output_.erase(0, length + 1);
      return answer;
    }
    if (interrupted && interrupted()) throw InterruptedError();
    if (Clock::now() > end) {
      throw FailedError(fmt::format("another process has not answered for {}", duration_text(time_limit)));
    }
    if (child_.read(output_, errors_, kPollMilliseconds)) continue;
    const std::string words = last_line(errors_);
    throw FailedError("another process has ended" + (words.empty() ? "" : ": " + words));
  }
}

}  // namespace jitterscope
