// A log's lines, and the numbers and words in them. All views point into the log's text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operation/words.hpp"

namespace jitterscope::library_log {

struct Line {
  std::string_view text;    ///< without its end
  std::int64_t number = 0;  ///< from 1
};

class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  std::optional<Line> next();

 private:
  std::string_view rest_;
  std::int64_t number_ = 0;
};

/// Removes `prefix` from the front of text; false, and text unchanged, where it does not start so.
bool consume(std::string_view& text, std::string_view prefix);
/// What follows the first `key` in text.
std::optional<std::string_view> after(std::string_view text, std::string_view key);
/// text up to the first of `ends`, or all of it.
std::string_view until(std::string_view text, std::string_view ends);

/// All of text, trimmed, as a number.
std::optional<std::int64_t> whole_number(std::string_view text);
std::optional<double> real_number(std::string_view text);
/// "[ 8,64,56,56 ]" at the front of text; cudnn-frontend writes some lists as "[,1,1 ]".
std::optional<std::vector<std::int64_t>> number_list(std::string_view text);

/// Whether text can be an engine: letters, digits, '_', '=' and '-', at most 200 of them.
bool is_engine(std::string_view text);
/// Text of a log for a sentence: without control characters, and cut where it is long.
std::string quotable(std::string_view text);

}  // namespace jitterscope::library_log
