#include "output/output_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

UsageError cannot_write(const std::string& path, const std::string& reason) {
  return UsageError(fmt::format("cannot write '{}': {}", path, reason));
}
FailedError writing_failed(const std::string& path, int error) {
  return FailedError(fmt::format("writing '{}' failed: {}", path, std::strerror(error)));
}

// True for names of open descriptors: a redirected file behind one must be continued, not replaced.
bool names_descriptor(const std::string& path) {
  return path == "/dev/stderr" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

// A file in the target's folder, and so on its file system, so that renaming replaces the target in one step.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& target)
      : name_(fmt::format("{}.{}.partial", target, ::getpid())) {
    ::unlink(name_.c_str());  // left by a killed process with this number
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) error_ = errno;
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (descriptor_ >= 0 || closed_) ::unlink(name_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return descriptor_; }
  int error() const { return error_; }

  // Keeps a replaced file's permissions, which its owner chose.
  bool keep_mode_of(const std::string& target) const {
    struct stat status {};
    return ::stat(target.c_str(), &status) != 0 || ::fchmod(descriptor_, status.st_mode & 0777) == 0;
  }
  bool rename_to(const std::string& target) {
    const bool closed = ::close(descriptor_) == 0;
    descriptor_ = -1;
    closed_ = true;
    if (!closed || ::rename(name_.c_str(), target.c_str()) != 0) return false;
    closed_ = false;
    return true;
  }

 private:
  std::string name_;
  int descriptor_ = -1;
  int error_ = 0;
  bool closed_ = false;  ///< written and closed, not yet renamed
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> name(::realpath(path.c_str(), nullptr), &std::free);
  return name ? std::string(name.get()) : path;
}

}  // namespace

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) throw cannot_write(path_, "the path is empty");
  if (path_ == "-" || path_ == "/dev/stdout") {
    stream_ = STDOUT_FILENO;
    return;
  }
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) throw cannot_write(path_, "it is a folder");
  if (names_descriptor(path_) || (exists && !S_ISREG(status.st_mode))) {
    stream_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (stream_ < 0) throw cannot_write(path_, std::strerror(errno));
    owns_stream_ = true;
    return;
  }
  // Renaming would replace even a file that its owner has protected.
  if (exists && ::access(path_.c_str(), W_OK) != 0) throw cannot_write(path_, std::strerror(errno));
  target_ = resolved(path_);
  // Tries to write and removes the trial at once, so that a killed run leaves nothing behind.
  const TemporaryFile trial(target_);
  if (trial.descriptor() >= 0) return;
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  std::error_code unreadable;
  const bool missing = !folder.empty() && !std::filesystem::exists(folder, unreadable) && !unreadable;
  throw cannot_write(path_, missing ? fmt::format("the folder '{}' does not exist", folder)
                                    : std::string(std::strerror(trial.error())));
}

OutputFile::~OutputFile() {
  if (owns_stream_) ::close(stream_);
}

void OutputFile::save(std::string_view text) {
  if (!is_stream()) replace(text);
}

void OutputFile::commit(std::string_view text) {
  if (!is_stream()) return replace(text);
  std::fflush(stdout);  // keeps the order with text printed before
  write_whole(stream_, text, path_);
}

void write_whole(int descriptor, std::string_view text, const std::string& path) {
  if (!write_all(descriptor, text)) throw writing_failed(path, errno);
}

void OutputFile::replace(std::string_view text) const {
  TemporaryFile file(target_);
  if (file.descriptor() < 0) throw writing_failed(path_, file.error());
  const bool done =
      write_all(file.descriptor(), text) && file.keep_mode_of(target_) && file.rename_to(target_);
  if (!done) throw writing_failed(path_, errno);
}

namespace {

int first_error = 0;

void keep_error(bool arrived) {
  if (!arrived && first_error == 0) first_error = errno != 0 ? errno : EIO;
}

}  // namespace

// Flushes at once: nobody could report an error of the flush when the process ends.
void print_result(const std::string& text) {
  errno = 0;
  const bool taken = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  keep_error(taken && std::fflush(stdout) == 0);
}

void check_standard_output() {
  print_result("");  // flushes
  if (first_error == 0 || first_error == EPIPE) return;
  throw FailedError(fmt::format(
      "standard output cannot be written ({}), so some or all of the output is lost; print to another "
      "place, or write a file with --json if the command has it",
      std::strerror(first_error)));
}

}  // namespace jitterscope
