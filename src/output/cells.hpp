// A measured time with its interval, for people.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/comparison.hpp"
#include "jitterscope/counters.hpp"
#include "measure/rates_and_totals.hpp"
#include "measure/run_record.hpp"

namespace jitterscope {

/// "3.312 µs ± 0.1 %", "25 µs (25–104 µs)" where the interval is wide or lopsided, or "3.31 µs, no interval
/// (3 rounds)".
std::string estimate_text(const TimeEstimate& estimate);

// Ratios of times as people read them: as a change in percent, and far from one as a factor.

/// "-2.21 % (-2.37 to -2.05 %)", "12.3 times (12.1 to 12.5)".
std::string change_with_interval(const RatioEstimate& ratio);
/// "-2.21 ± 0.16 %", "12.3 ± 0.2 times"; "0.0 to 11.1 times" where the interval says no more.
std::string change_of(const RatioEstimate& ratio);

// Rates in words, and their shares of a ceiling.

/// In place of a share: a copy through memory is no ceiling for operands that stay in a cache.
inline constexpr std::string_view kInCache = "in cache";
/// In place of a share: what was to be the fastest was not.
inline constexpr std::string_view kAboveCeiling = "above";
/// For below a table with these words in its column of shares; empty where it has none.
std::string ceiling_words_explained(std::span<const std::string> shares);

/// "795 TFLOP/s" or "4.31 TB/s".
std::string rate_text(const AchievedRate& rate);
/// "79 %" of the measured ceiling, kInCache or kAboveCeiling; empty where none was measured.
std::string share_text(const AchievedRate& rate);

// Hardware counters of a launch as cells of a table and parts of sentences.

/// "1.2 MiB"; empty where there is no value.
std::string counted_bytes_text(const CounterReading& reading, CounterQuantity quantity);
/// "93 %"; empty where there is no value.
std::string counted_share_text(const CounterReading& reading, CounterQuantity quantity);
/// "102 %": all that memory moved over the least that it must, below 100 % where the cache keeps some; empty
/// where that was not counted or nothing must move.
std::string moved_share_text(const CounterReading& reading, Bytes least);
/// "long_scoreboard 41 %, barrier 12 %": what warps wait for most; empty where that was not counted.
std::string stalls_text(const CounterReading& reading, std::size_t most = 3);

// Operations named by what sets them apart.

struct OperationLabels {
  std::vector<std::string> labels;  ///< one for each operation: "conv2d dgrad c=64,hw=56,k=64,rs=3"
  std::string common;  ///< what was left out where it occurs: "n=32,dtype=f16"; empty where nothing was
};

/// Takes operations in normal form. A parameter is left out where every operation of the kinds that have it
/// has the same value, and these kinds are two at least, or all. Values that explain themselves (dtype,
/// layout, direction) stand without their key.
OperationLabels label_operations(std::span<const std::string> operations);

// The conditions of a run as column headings.

struct ConditionLabels {
  std::vector<Conditions> conditions;  ///< in the order first measured
  /// "cold burst"; data and queue only where they differ, fresh where it is.
  std::vector<std::string> labels;
};
ConditionLabels label_conditions(const RunRecord& record);

/// What the words mean, for the words that occur: "warm: operands as the last launch left them; …".
std::string explain_conditions(const ConditionLabels& labels);

}  // namespace jitterscope
