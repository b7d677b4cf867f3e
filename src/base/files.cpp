#include "base/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace jitterscope {

// std::ifstream is not used: its iterators throw if reading fails, and its state does not say why.
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

void require_readable(const std::filesystem::path& file) {
  namespace fs = std::filesystem;
  const std::string name = file.string();
  std::error_code problem;
  const fs::file_status status = fs::status(file, problem);
  if (status.type() == fs::file_type::not_found)
    throw UsageError(name + ": this file does not exist; check the path and the folder you are in");
  if (fs::is_directory(status)) {
    std::error_code ignored;
    throw UsageError(
        name + (fs::exists(file / "capture.json", ignored)
                    ? ": this is the folder of a capture: `jitterscope capture show " + name + "` prints it"
                    : ": this is a folder, not a file; name a file in it"));
  }
  if (::access(file.c_str(), R_OK) != 0) {
    throw UsageError(
        name + ": this file cannot be read: " + std::error_code(errno, std::generic_category()).message());
  }
  // A pipe's size is not known beforehand.
  if (fs::is_regular_file(status) && fs::file_size(file, problem) == 0 && !problem)
    throw UsageError(name + ": this file is empty; was it written, or copied, in full?");
}

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

namespace {

std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

}  // namespace

Utf8Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  constexpr Utf8Character kInvalid = {U'\ufffd', 1, false};
  const std::size_t length = sequence_length(byte(0));
  if (length == 0 || length > text.size()) return kInvalid;
  if (length == 1) return {byte(0), 1, true};
  char32_t code = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return kInvalid;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kSmallest[length] || surrogate || code > 0x10ffff) return kInvalid;
  return {code, length, true};
}

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> candidate_folders(const DataFiles& files) {
  std::vector<fs::path> folders;
  if (const char* list = std::getenv(files.variable.c_str())) {
    std::istringstream entries(list);
    for (std::string folder; std::getline(entries, folder, ':');) {
      if (!folder.empty()) folders.emplace_back(folder);
    }
  }
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const fs::path folder = executable.parent_path();
    folders.push_back(folder / files.folder);
    folders.push_back(folder.parent_path() / files.folder);
    folders.push_back(folder.parent_path() / "share/jitterscope" / files.folder);
  }
#ifdef JITTERSCOPE_SOURCE_FOLDER
  folders.push_back(fs::path(JITTERSCOPE_SOURCE_FOLDER) / files.folder);
#endif
  return folders;
}

}  // namespace

std::vector<fs::path> DataFiles::folders() const {
  std::vector<fs::path> existing;
  for (const fs::path& candidate : candidate_folders(*this)) {
    std::error_code ignored;
    const bool known = std::find(existing.begin(), existing.end(), candidate) != existing.end();
    if (!known && fs::is_directory(candidate, ignored)) existing.push_back(candidate);
  }
  return existing;
}

std::vector<std::string> DataFiles::names() const {
  std::set<std::string> names;
  for (const fs::path& searched : folders()) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(searched, error)) {
      if (entry.path().extension() == extension) names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::optional<fs::path> DataFiles::find(std::string_view name) const {
  // Paths are refused, so that a name cannot lead out of the folders.
  if (name.empty() || name.find('/') != std::string_view::npos) return std::nullopt;
  for (const fs::path& searched : folders()) {
    const fs::path file = searched / (std::string(name) + extension);
    std::error_code ignored;
    if (fs::is_regular_file(file, ignored)) return file;
  }
  return std::nullopt;
}

std::vector<std::filesystem::path> own_library_files(const char* variable, const char* name) {
  if (const char* file = variable == nullptr ? nullptr : std::getenv(variable))
    return {std::filesystem::path(file)};
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  return {folder / name, folder.parent_path() / "lib" / "jitterscope" / name};
}

}  // namespace jitterscope
