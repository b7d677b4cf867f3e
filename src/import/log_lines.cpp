#include "import/log_lines.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace jitterscope::library_log {
std::optional<Line> LineReader::next() {
  if (rest_.empty()) return std::nullopt;
  const std::size_t end = rest_.find('\n');
  std::string_view text = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return Line{text, ++number_};
}

bool consume(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::string_view> after(std::string_view text, std::string_view key) {
  const std::size_t found = text.find(key);
  if (found == std::string_view::npos) return std::nullopt;
  return text.substr(found + key.size());
}

std::string_view until(std::string_view text, std::string_view ends) {
  return text.substr(0, text.find_first_of(ends));
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> real_number(std::string_view text) {
  text = trimmed(text);
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::vector<std::int64_t>> number_list(std::string_view text) {
  constexpr std::size_t kMostNumbers = 16;  // cuDNN's tensors have at most 8 dimensions
  text = trimmed(text);
  const std::size_t end = text.find(']');
  if (!consume(text, "[") || end == std::string_view::npos) return std::nullopt;
  text = text.substr(0, end - 1);
  std::vector<std::int64_t> numbers;
  while (!trimmed(text).empty()) {
    const std::string_view item = trimmed(until(text, ","));
    text.remove_prefix(std::min(text.size(), until(text, ",").size() + 1));
    if (item.empty() && numbers.empty()) continue;
    const std::optional<std::int64_t> number = whole_number(item);
    if (!number || numbers.size() == kMostNumbers) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

bool is_engine(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  return !text.empty() && text.size() <= kLongest && std::all_of(text.begin(), text.end(), [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '=' || letter == '-';
  });
}

std::string quotable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result;
  for (const char letter : trimmed(text).substr(0, kLongest)) {
    result += letter >= ' ' && letter <= '~' ? letter : '?';
  }
  return text.size() > kLongest ? result + "…" : result;
}

}  // namespace jitterscope::library_log
