// Shows progress on stderr while measuring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "jitterscope/measure.hpp"

namespace jitterscope {

/// Position of an operation in the plan, counted from 1.
struct PlanPosition {
  std::size_t number = 1, total = 1;
  std::int64_t calls = 1;  ///< number of calls of the operation in the timed work
};

/// Returns "[3/35] conv2d:n=32,… warm burst 127.9 µs ± 0.8 %, 1716 MHz, 2.1 s left" in at most `width`
/// columns, with the operation cut first. With several calls, "4× 127.9 µs": the time of one call.
std::string progress_line(const Progress& progress, PlanPosition position, std::size_t width);

/// On a terminal, rewrites one line in place, at most 10 times a second. Elsewhere, or if TERM is dumb or CI
/// is set, prints a plain line when an operation begins, at most one every 10 seconds.
class ProgressLine {
 public:
  ProgressLine(std::FILE* stream, std::function<Nanoseconds()> now);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& progress, PlanPosition position);
  /// Shows any text instead of an operation. The plain line is printed every 10 seconds, because one position
  /// may take long.
  void show(const std::string& text, PlanPosition position);
  /// Removes the live line: before other output, and at the end.
  void clear();

 private:
  std::size_t width() const;
  void show_live(const std::string& line);
  void show_plain(const Progress& progress, PlanPosition position);
  bool due(Nanoseconds pause);

  std::FILE* stream_;
  std::function<Nanoseconds()> now_;
  bool live_;
  bool shown_ = false;  ///< the terminal shows a live line
  std::size_t last_number_ = 0;
  std::optional<Nanoseconds> last_time_;
};

}  // namespace jitterscope
