// Defines the flags of all measuring commands for conditions, precision and duration.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/names.hpp"
#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/measure.hpp"

namespace jitterscope::cli {

inline constexpr const char* kDeviceHelp =
    "device to measure on: auto, cpu, cuda or gpu (the first GPU), cuda:N, or a simulated GPU (virtual, "
    "virtual:PRESET or virtual:FILE.toml; add ,without=MECHANISM+… to switch causes of variation off)";

/// For CLI::Option::transform: makes a duration a number of `unit`s, and a count its digits. Throws
/// UsageError with the flag's name.
std::function<std::string(std::string)> duration_in(const std::string& flag, Nanoseconds unit);
std::function<std::string(std::string)> count_of(const std::string& flag);

/// Returns the value with this word. Throws UsageError with the nearest word.
template <class Enum>
Enum read_word(const std::string& flag, const std::string& word, const std::vector<Enum>& values) {
  std::vector<std::string> known;
  for (const Enum value : values) {
    if (to_string(value) == word) return value;
    known.emplace_back(to_string(value));
  }
  throw UsageError(fmt::format("{}: unknown word '{}'{}", flag, word, suggestion(word, known)));
}

/// Differences of a command's flags from those of `run`, for its help.
struct MeasureHelp {
  const char* caches = "cache states: warm, cold, dirty, produced (default: warm,cold)";
  const char *precision = "", *time_limit = "";  ///< defaults in words; empty: the numbers
  /// False for flags that the command does not take: its help omits them, and it refuses them when typed.
  bool has_load = true, has_lock_clocks = true, has_sustained_time_limit = true;
};

struct MeasureFlags {
  MeasureHelp help = {};
  std::string device = "auto";
  std::vector<std::string> caches, loads;  ///< empty: the command's own default
  std::string queue = "saturated", instrument = "auto", data = "normal";
  double precision_percent = 0.5;
  /// An answer should come in 3 s, and cold launches of a few microseconds do not reach 0.5 % in 3 s either.
  double time_limit_seconds = 1.5;
  double sustained_time_limit_seconds = 10;
  std::int64_t minimum_rounds = 10, conditioning_launches = 2;
  std::optional<std::int64_t> launches_per_round = {};  ///< nullopt: as many as take 5 ms
  std::vector<double> idle_milliseconds = {10, 70};
  bool no_warm_up = false;
  std::uint64_t seed = 1;
  std::string lock_clocks;
  std::optional<double> reference_clock_megahertz = {};  ///< nullopt: the run's own median clock
  const CLI::Option* precision_option = nullptr;
  const CLI::Option* time_limit_option = nullptr;

  void add_to(CLI::App& command);
  /// True if a flag or the settings file asks for a precision. Missing only the default is no failure.
  bool asks_for_precision() const { return precision_option != nullptr && precision_option->count() > 0; }
  bool asks_for_time() const { return time_limit_option != nullptr && time_limit_option->count() > 0; }
  /// Throws UsageError with the nearest known word.
  MeasureOptions options() const;
  /// The same for so many fresh processes. Throws as options() does.
  MeasureOptions options(std::int64_t processes) const;
  /// The same for functions of Python in so many processes: on a host, with warm caches unless others are
  /// asked for.
  MeasureOptions python_options(std::int64_t processes) const;
  /// Locks the clocks if a flag asks for it, and notes the frequency in the options; else returns null.
  std::unique_ptr<ClockLock> lock(Device& on, MeasureOptions& options) const;
};

/// Throws UsageError if the flag's count is outside of the range.
void check_count(const char* flag, std::int64_t count, std::int64_t least, std::int64_t most);

// Below: percentages in flags: --margin (difference that counts as the same) and --tolerance.

/// Returns 0.01 for "1%" or "1". Throws UsageError if the text is no percentage between 0 and 100.
double read_percentage(const std::string& flag, std::string text);
inline double read_margin(std::string text) { return read_percentage("--margin", std::move(text)); }

}  // namespace jitterscope::cli
