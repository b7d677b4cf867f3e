// Records of processes that nobody started: one round for each block, its time by formula and by seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope::test {

inline constexpr double kClock = 1700e6;

/// A round in each block, of so many microseconds; one of no time is left out. Summarised as after measuring.
Measurement timed(const std::vector<double>& microseconds_of_blocks, CacheState cache = CacheState::warm,
                  std::optional<Hertz> clock = Hertz(kClock), Load load = Load::burst);

RunEntry entry_of(const std::string& operation, std::vector<Measurement> measurements);
RunEntry failed_entry(const std::string& operation, const std::string& reason);
/// As where a device ran another engine than its operation names.
void ignore_engine(Result& result);
RunRecord record_of(std::vector<RunEntry> entries);

/// What processes differ by. Standard deviations, relative.
struct Spread {
  double process = 0.03;  ///< of a process, in all its trials alike
  double block = 0.02;    ///< of a block, in all its trials alike
  double round = 0.002;   ///< of a round
  double ratio = 0.0005;  ///< of a trial in a process, beside the others
};

/// The time that each trial is to have, in microseconds, as process `number` reads it.
RunRecord process_of(std::uint64_t number, const std::vector<double>& trials, const Spread& spread = {});
std::vector<RunRecord> processes_of(std::size_t count, const std::vector<double>& trials,
                                    const Spread& spread = {});

/// A record of a comparison that asks nothing but what its alternatives are.
ComparisonRecord blank_comparison(std::size_t alternatives = 2);

}  // namespace jitterscope::test
