#include "recorder/process_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace jitterscope::recorder {
namespace {

// The rank that a launcher gave this process, or empty.
std::string rank() {
  constexpr std::size_t kMostDigits = 9;
  for (const char* name :
       {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "LOCAL_RANK"}) {
    const char* text = std::getenv(name);
    if (text == nullptr || *text == '\0') continue;
    const std::size_t length = std::strlen(text);
    if (length <= kMostDigits && std::strspn(text, "0123456789") == length)
      return std::to_string(std::atol(text));  // a number of JSON has no zeros before it
  }
  return "";
}

std::string read_whole(const char* path) {
  std::string text;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t count = ::read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(file);
  return text;
}

// Each argument ends with a zero; a title that the process gave itself may end without.
std::string command_line() {
  std::string items;
  const std::string text = read_whole("/proc/self/cmdline");
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    items += (items.empty() ? "" : ", ") + quoted(item);
  }
  return "[" + items + "]";
}

// The length of the UTF-8 character that a text begins with, or 0 where it begins with none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0   ? 2
                             : first >= 0xE0 && first < 0xF0 ? 3
                             : first >= 0xF0 && first < 0xF5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Shorter forms of the same, halves of pairs, and what is beyond Unicode.
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0)) return 0;
  if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90)) return 0;
  return length;
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string result = "\"";
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const unsigned char c = static_cast<unsigned char>(text.front());
    if (length == 0) {
      result += "\\ufffd";
    } else if (c == '"' || c == '\\') {
      result += '\\';
      result += static_cast<char>(c);
    } else if (c < 0x20) {
      constexpr const char* kDigits = "0123456789abcdef";
      result += "\\u00";
      result += kDigits[c >> 4];
      result += kDigits[c & 15];
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result + '"';
}

std::string make_folder(const std::string& capture, std::int64_t begin) {
  constexpr std::int64_t kMillisecond = 1'000'000;
  const std::string number = rank();
  const std::string folder = capture + "/p" + std::to_string(::getpid()) + "-" +
                             std::to_string(begin / kMillisecond) + (number.empty() ? "" : "-r" + number);
  return ::mkdir(folder.c_str(), 0755) == 0 ? folder : "";
}

void write_process_file(const std::string& folder, std::int64_t begin, const Cupti& cupti,
                        const std::string& problem) {
  int version = 0;
  if (driver().cuDriverGetVersion != nullptr) driver().cuDriverGetVersion(&version);
  const std::string number = rank();
  const std::string text =
      "{\n  \"pid\": " + std::to_string(::getpid()) + ",\n  \"begin\": " + std::to_string(begin) +
      ",\n  \"command\": " + command_line() + (number.empty() ? "" : ",\n  \"rank\": " + number) +
      ",\n  \"driver_version\": " + std::to_string(version) +
      ",\n  \"cupti_version\": " + std::to_string(cupti.version) +
      ",\n  \"cupti_path\": " + quoted(cupti.path) + ",\n  \"problem\": " + quoted(problem) + "\n}\n";
  // It has its name when it is whole.
  const std::string path = folder + "/process.json", part = path + ".part";
  const int file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  ::close(file);
  if (done == text.size()) {
    ::rename(part.c_str(), path.c_str());
  } else {
    ::unlink(part.c_str());
  }
}

}  // namespace jitterscope::recorder
