#include "import/trace_event.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/files.hpp"
#include "base/quantity_text.hpp"
#include "import/json.hpp"
#include "import/recognise.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

namespace ondemand = simdjson::ondemand;

// PyTorch before 1.12 wrote other words.
TraceCategory category_of(std::string_view text) {
  constexpr std::pair<std::string_view, TraceCategory> kCategories[] = {
      {"cpu_op", TraceCategory::called_operator},
      {"Operator", TraceCategory::called_operator},
      {"cuda_runtime", TraceCategory::launch},
      {"cuda_driver", TraceCategory::launch},
      {"Runtime", TraceCategory::launch},
      {"kernel", TraceCategory::kernel},
      {"Kernel", TraceCategory::kernel},
      {"gpu_memcpy", TraceCategory::copy},
      {"Memcpy", TraceCategory::copy},
      {"gpu_memset", TraceCategory::set},
      {"Memset", TraceCategory::set},
      {"user_annotation", TraceCategory::annotation},
      {"overhead", TraceCategory::overhead}};
  for (const auto& [word, category] : kCategories) {
    if (word == text) return category;
  }
  return TraceCategory::other;
}

// Returns a JSON number or word without quotes, in which some programs that rewrite traces put numbers, and
// without the blanks behind it.
std::string_view bare(std::string_view token) {
  if (token.starts_with('"')) return token.substr(1, token.find('"', 1) - 1);
  return token.substr(0, token.find_first_of(" \t\r\n"));
}

// Reads 1.7169e+15, as programs that hold times as doubles write them.
std::optional<RecordTime> parse_power(std::string_view token) {
  constexpr double kLargest = 4.5e15;  // µs: 142 years
  double number = 0.0;
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, number);
  if (error != std::errc() || stop != end || !(number >= 0.0 && number <= kLargest)) return std::nullopt;
  return static_cast<RecordTime>(std::llround(number * 1000.0));
}

// Reads microseconds with decimals exactly: 1716900000123456.789 has more digits than a double.
std::optional<RecordTime> parse_time(std::string_view token) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 52;  // µs: 142 years
  token = bare(token);
  std::int64_t whole = 0;
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, whole);
  if (error != std::errc() || whole < 0 || whole > kLargest) return std::nullopt;
  RecordTime result = whole * 1000;
  if (stop == end) return result;
  if (token.find_first_of("eE") != std::string_view::npos) return parse_power(token);
  if (*stop != '.') return std::nullopt;
  std::int64_t unit = 100;
  for (const char* digit = stop + 1; digit < end && *digit >= '0' && *digit <= '9'; ++digit) {
    result += (*digit - '0') * unit;
    unit /= 10;
  }
  return result;
}

}  // namespace

TraceEvent read_trace_event(ondemand::object& object) {
  TraceEvent event;
  for (ondemand::field field : object) {
    const ondemand::raw_json_string key = field.key();
    ondemand::value value = field.value();
    std::string_view text;
    if (key == "ph") {
      event.complete = value.get_string().get(text) == simdjson::SUCCESS && text == "X";
    } else if (key == "cat") {
      if (value.get_string().get(text) == simdjson::SUCCESS) event.category = category_of(text);
    } else if (key == "name") {
      const simdjson::error_code error = value.get_string().get(text);
      if (error == simdjson::SUCCESS) event.name = text;
      if (error == simdjson::STRING_ERROR) throw simdjson::simdjson_error(error);  // mending may repair it
    } else if (key == "pid") {
      event.process = bare(value.raw_json_token());
    } else if (key == "tid") {
      event.thread = bare(value.raw_json_token());
    } else if (key == "ts") {
      event.begin = parse_time(value.raw_json_token());
    } else if (key == "dur") {
      event.duration = parse_time(value.raw_json_token());
    } else if (key == "args") {
      ondemand::object arguments;
      if (value.get_object().get(arguments) == simdjson::SUCCESS) event.arguments = arguments.raw_json();
    } else if (key == "traceEvents") {
      event.holds_traces = true;
    }
  }
  return event;
}

struct TracePieces::File {
  gzFile file = nullptr;
};

namespace {

constexpr std::size_t kPiece = std::size_t{16} << 20, kRead = std::size_t{1} << 20;
constexpr std::string_view kEvents = "\"traceEvents\"";
// So much may stand before the events; Kineto writes some kilobytes of devices there.
constexpr std::size_t kMostHead = std::size_t{64} << 20;

}  // namespace

TracePieces::TracePieces(const std::filesystem::path& file) : path_(file), file_(std::make_unique<File>()) {
  require_readable(file);
  file_->file = ::gzopen(file.c_str(), "rb");  // reads what is not packed as it is
  if (file_->file == nullptr)
    throw UsageError(fmt::format("{}: this file cannot be read: {}", file.string(), std::strerror(errno)));
  ::gzbuffer(file_->file, 1 << 17);
}

TracePieces::~TracePieces() {
  if (file_->file != nullptr) ::gzclose(file_->file);
}

bool TracePieces::read_more() {
  const std::size_t before = text_.size();
  text_.resize(before + kRead);
  const int count = ::gzread(file_->file, text_.data() + before, static_cast<unsigned>(kRead));
  text_.resize(before + static_cast<std::size_t>(std::max(count, 0)));
  read_ += std::max(count, 0);
  if (count < 0) {
    int error = 0;
    problem_ = fmt::format("the gzip file is damaged after {} unpacked: {}", bytes_text(Bytes(read_)),
                           ::gzerror(file_->file, &error));
  }
  return count > 0;
}

std::string TracePieces::early_end() const {
  int error = Z_OK;
  ::gzerror(file_->file, &error);
  // zlib's word for a stream whose end is missing.
  return error == Z_BUF_ERROR
             ? fmt::format("the gzip file ends early, after {} unpacked; was it copied in full?",
                           bytes_text(Bytes(read_)))
             : fmt::format(
                   "the file ends early, after {}, in the middle of its JSON; was the program stopped "
                   "while it wrote it?",
                   bytes_text(Bytes(read_)));
}

// Reads what follows the events: only its end tells that the file is whole.
void TracePieces::read_to_end() {
  char last = ' ';
  do {
    const std::size_t end = text_.find_last_not_of(" \t\r\n");
    if (end != std::string::npos) last = text_[end];
    text_.clear();
  } while (read_more());
  int error = Z_OK;
  ::gzerror(file_->file, &error);
  const bool is_object = !head_.empty();
  if (problem_.empty() && (error == Z_BUF_ERROR || (is_object && last != '}'))) problem_ = early_end();
}

// Moves to behind the bracket that opens the events. A trace may be the bare array of its events.
void TracePieces::find_events() {
  while (true) {
    const std::size_t first = text_.find_first_not_of(" \t\r\n");
    const std::size_t second =
        first == std::string::npos ? first : text_.find_first_not_of(" \t\r\n", first + 1);
    if (second != std::string::npos && text_[first] == '[' && text_[second] == '{') {
      text_.erase(0, first + 1);
      return;
    }
    const std::size_t name = text_.find(kEvents);
    const std::size_t bracket = name == std::string::npos ? name : text_.find('[', name);
    if (bracket != std::string::npos) {
      head_ = text_.substr(0, name);
      text_.erase(0, bracket + 1);
      return;
    }
    if (text_.size() <= kMostHead && read_more()) continue;
    const std::string file = path_.string();
    int error = Z_OK;
    ::gzerror(file_->file, &error);
    if (!problem_.empty()) throw UsageError(fmt::format("{}: {}", file, problem_));
    if (error == Z_BUF_ERROR && text_.empty())
      throw UsageError(file + ": the gzip file ends before anything can be read; was it copied in full?");
    const std::string other = misplaced_file(text_, file, "not a capture or a trace of GPU work");
    if (!other.empty() && recognise(text_) != FileKind::profiler_trace) throw UsageError(other);
    if (error == Z_BUF_ERROR || closed_json(text_))
      throw UsageError(fmt::format("{}: {}", file, early_end()));
    throw UsageError(file +
                     ": this is no capture, no trace of torch.profiler and no SQLite file of Nsight Systems");
  }
}

std::optional<simdjson::padded_string> TracePieces::next() {
  if (over_) return std::nullopt;
  if (!found_) find_events();
  found_ = true;
  // The end of the last whole event that was read; strings may hold brackets.
  std::size_t end = 0;
  int depth = 0;
  bool in_string = false, closed = false;
  for (std::size_t i = 0; !closed; ++i) {
    if (i >= text_.size() && end > 0 && text_.size() >= kPiece) break;
    while (i >= text_.size() && !over_) {
      if (read_more()) continue;
      if (problem_.empty()) problem_ = early_end();
      over_ = true;
    }
    if (over_) break;
    const char c = text_[i];
    if (in_string) {
      if (c == '\\') {
        ++i;  // what it escapes
      } else if (c == '"') {
        in_string = false;
      }
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '{' || c == '[') ++depth;
    if (c != '}' && c != ']') continue;
    if (--depth < 0) {
      closed = true;
    } else if (depth == 0) {
      end = i + 1;
    }
  }
  if (closed) over_ = true;
  std::string piece = "[" + text_.substr(0, end) + "]";
  std::size_t rest = end;
  while (rest < text_.size() &&
         (text_[rest] == ',' || std::isspace(static_cast<unsigned char>(text_[rest])) != 0))
    ++rest;
  text_.erase(0, rest);
  if (closed) read_to_end();
  if (end == 0) return std::nullopt;
  return simdjson::padded_string(piece);
}

}  // namespace jitterscope
