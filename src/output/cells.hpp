// Formats times, changes, rates, counters and names as cells of tables and parts of sentences.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/comparison.hpp"
#include "jitterscope/counters.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/run_record.hpp"
#include "output/html.hpp"

namespace jitterscope {

/// Returns "3.312 µs ± 0.1 %", "25 µs (25–104 µs)" if the interval is wide or lopsided, or "3.31 µs, no
/// interval (3 rounds)".
std::string estimate_text(const TimeEstimate& estimate);

/// Returns a page's headline: the median, and ± or the interval.
Headline headline_of(std::string subject, const TimeEstimate& estimate);
/// Returns one of a difference of times: the change, and its interval.
Headline headline_of(std::string subject, const RatioEstimate& ratio);

/// Says that no results are there, and lists why. `all` was to be timed: "ranks"; without an interruption
/// nothing of it was: "group of ranks".
Text without_results(bool interrupted, std::string_view all, std::string_view nothing,
                     std::span<const std::string> reasons, std::size_t width);

// Below: rates, and their shares of a ceiling.

/// Shown instead of a share: the ceiling is a copy through memory, which does not limit operands in a cache.
inline constexpr std::string_view kInCache = "in cache";
/// Shown instead of a share: the work was faster than the measured ceiling.
inline constexpr std::string_view kAboveCeiling = "above";
/// Explains these words below a table whose column of shares has them; empty if it has none.
std::string ceiling_words_explained(std::span<const std::string> shares);

/// Returns "795 TFLOP/s" or "4.31 TB/s".
std::string rate_text(const AchievedRate& rate);
/// Returns "79 %" of the measured ceiling, kInCache or kAboveCeiling; empty if no ceiling was measured.
std::string share_text(const AchievedRate& rate);

// Below: hardware counters of a launch.

/// Returns "1.2 MiB"; empty if there is no value.
std::string counted_bytes_text(const CounterReading& reading, CounterQuantity quantity);
/// Returns "93 %"; empty if there is no value.
std::string counted_share_text(const CounterReading& reading, CounterQuantity quantity);
/// Returns "102 %": the bytes that memory moved over `least`, the bytes that must move. Below 100 % if the
/// cache keeps some. Empty if not counted or if `least` is 0.
std::string moved_share_text(const CounterReading& reading, Bytes least);
/// Returns why warps stall most: "long_scoreboard 41 %, barrier 12 %"; empty if not counted.
std::string stalls_text(const CounterReading& reading, std::size_t most = 3);

// Below: operations named by the parameters in which they differ.

struct OperationLabels {
  std::vector<std::string> labels;  ///< one for each operation: "conv2d dgrad c=64,hw=56,k=64,rs=3"
  std::string common;               ///< parameters that all labels omit: "n=32,dtype=f16"; may be empty
};

/// Takes operations in normal form. A label omits a parameter that has the same value in all operations of
/// the kinds that have it, if these kinds are at least two or all. Values that explain themselves (dtype,
/// layout, direction) have no key.
OperationLabels label_operations(std::span<const std::string> operations);

// Below: the conditions of a run as column headings.

struct ConditionLabels {
  std::vector<Conditions> conditions;  ///< in the order first measured
  /// "cold burst"; with data and queue only if they differ, with "fresh" if each launch takes fresh data
  std::vector<std::string> labels;
};
ConditionLabels label_conditions(const RunRecord& record);

/// Explains the words that occur: "warm: operands as the last launch left them; …".
std::string explain_conditions(const ConditionLabels& labels);

}  // namespace jitterscope
