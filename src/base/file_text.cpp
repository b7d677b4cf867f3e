#include "base/file_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace jitterscope {

// Not by std::ifstream: its iterators throw where reading fails, and its state does not say why.
FileText file_text(const std::filesystem::path& file) {
  const auto failed = [] { return FileText{{}, std::error_code(errno, std::generic_category())}; };
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return failed();
  FileText read;
  std::array<char, 1 << 16> part;
  ssize_t size = 0;
  do {
    size = ::read(descriptor, part.data(), part.size());
    if (size > 0) read.text.append(part.data(), static_cast<std::size_t>(size));
  } while (size > 0 || (size < 0 && errno == EINTR));
  if (size < 0) read = failed();
  ::close(descriptor);
  return read;
}

}  // namespace jitterscope
