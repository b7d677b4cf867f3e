#include "base/line_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace jitterscope {

bool read_part(int descriptor, std::string& text) {
  std::array<char, 65536> part;
  const ssize_t count = ::read(descriptor, part.data(), part.size());
  if (count > 0) text.append(part.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

void LineReader::read_more() { is_closed_ = !read_part(descriptor_, read_); }

std::optional<std::string> LineReader::next(int milliseconds) {
  std::size_t length = read_.find('\n');
  if (length == std::string::npos && !is_closed_) {
    pollfd stream = {descriptor_, POLLIN, 0};
    if (::poll(&stream, 1, milliseconds) > 0) read_more();
    length = read_.find('\n');
  }
  if (length == std::string::npos && !(is_closed_ && !read_.empty())) return std::nullopt;
  std::string line = read_.substr(0, length);
  read_.erase(0, length == std::string::npos ? length : length + 1);
  return line;
}

std::string LineReader::rest() {
  while (!is_closed_) read_more();
  return std::exchange(read_, {});
}

}  // namespace jitterscope
