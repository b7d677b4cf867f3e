#include "output/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/quantity_text.hpp"
#include "output/text.hpp"

namespace jitterscope {
namespace {

constexpr Nanoseconds kLivePause = milliseconds(100);
constexpr Nanoseconds kPlainPause = seconds(10);

bool is_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// False for a terminal that cannot rewrite a line, and for build logs, which keep every rewritten line.
bool can_rewrite(std::FILE* stream) {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return ::isatty(::fileno(stream)) != 0 && !dumb && !is_set("CI");
}

std::string state_text(const Progress& progress, std::int64_t calls) {
  if (progress.rounds == 0) return {};  // a preparation has no conditions yet
  std::string text =
      fmt::format("{} {}", to_string(progress.conditions.cache), to_string(progress.conditions.load));
  if (progress.median.value() > 0) {
    text += (calls > 1 ? fmt::format(" {}× ", calls) : " ") + time_text(progress.median, progress.precision);
    if (std::isfinite(progress.precision)) text += " ± " + percent_text(progress.precision);
  }
  if (progress.clock) text += ", " + clock_text(*progress.clock);
  if (progress.time_left.value() > 0) text += ", " + duration_text(progress.time_left) + " left";
  return text;
}

}  // namespace

std::string progress_line(const Progress& progress, PlanPosition position, std::size_t width) {
  const std::string before = fmt::format("[{}/{}] ", position.number, position.total);
  const std::string state = state_text(progress, position.calls), after = state.empty() ? state : ' ' + state;
  const std::size_t taken = display_width(before) + display_width(after);
  constexpr std::size_t kShortest = 8;  // enough to see the kind
  const std::size_t room = std::max(kShortest, width - std::min(width, taken));
  return cut_to_width(before + cut_to_width(one_line(progress.operation), room) + after, width);
}

ProgressLine::ProgressLine(std::FILE* stream, std::function<Nanoseconds()> now)
    : stream_(stream), now_(std::move(now)), live_(can_rewrite(stream)) {}

bool ProgressLine::due(Nanoseconds pause) {
  const Nanoseconds now = now_();
  if (last_time_ && now - *last_time_ < pause) return false;
  last_time_ = now;
  return true;
}

// Leaves the last column free: some terminals begin a new line when it is filled.
std::size_t ProgressLine::width() const { return terminal_width(stream_).value_or(kPageWidth) - 1; }

void ProgressLine::show(const Progress& progress, PlanPosition position) {
  if (!live_) return show_plain(progress, position);
  if (due(kLivePause)) show_live(progress_line(progress, position, width()));
}

void ProgressLine::show(const std::string& text, PlanPosition position) {
  const std::string line = fmt::format("[{}/{}] {}", position.number, position.total, one_line(text));
  if (!due(live_ ? kLivePause : kPlainPause)) return;
  if (live_) return show_live(cut_to_width(line, width()));
  std::fputs(fmt::format("{}\n", line).c_str(), stream_);
  std::fflush(stream_);
}

void ProgressLine::show_live(const std::string& line) {
  std::fputs(fmt::format("\r{}\x1b[K", line).c_str(), stream_);
  std::fflush(stream_);
  shown_ = true;
}

void ProgressLine::show_plain(const Progress& progress, PlanPosition position) {
  if (position.number == last_number_ || !due(kPlainPause)) return;
  last_number_ = position.number;
  std::fputs(
      fmt::format("[{}/{}] {}\n", position.number, position.total, one_line(progress.operation)).c_str(),
      stream_);
  std::fflush(stream_);
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  shown_ = false;
}

}  // namespace jitterscope
