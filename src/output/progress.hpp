// What a person sees while measuring, on stderr.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>

#include "jitterscope/measure.hpp"

namespace jitterscope {

/// Which operation of the plan, counted from 1.
struct PlanPosition {
  std::size_t number = 1, total = 1;
  std::int64_t calls = 1;  ///< of the operation, in what is timed
};

/// "[3/35] conv2d:n=32,… warm burst 127.9 µs ± 0.8 %, 1716 MHz, 2.1 s left", at most `width` columns: the
/// operation gives way first. Where it is called more than once, "4× 127.9 µs": that is the time of one call.
std::string progress_line(const Progress& progress, PlanPosition position, std::size_t width);

/// On a terminal one line that is rewritten in place, at most 10 times a second. Elsewhere, and where TERM is
/// dumb or CI is set, a plain line when an operation begins, at most one each 10 seconds.
class ProgressLine {
 public:
  ProgressLine(std::FILE* stream, std::function<Nanoseconds()> now);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(const Progress& progress, PlanPosition position);
  /// Any text in place of an operation; as a plain line every 10 seconds, since it may stay at one position
  /// for long.
  void show(const std::string& text, PlanPosition position);
  /// Takes the line away: before anything else is printed, and at the end.
  void clear();

 private:
  std::size_t width() const;
  void show_live(const std::string& line);
  void show_plain(const Progress& progress, PlanPosition position);
  bool due(Nanoseconds pause);

  std::FILE* stream_;
  std::function<Nanoseconds()> now_;
  bool live_;
  bool shown_ = false;  ///< a live line stands on the terminal
  std::size_t last_number_ = 0;
  std::optional<Nanoseconds> last_time_;
};

}  // namespace jitterscope
