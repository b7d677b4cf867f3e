// From rounds to estimates.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Median of independent times with its exact interval.
TimeEstimate estimate_of(std::span<const double> times);

/// Whether measuring may stop, asked after each round or pass: looks at a wider interval than is reported.
bool may_stop(std::span<const double> times, double precision);

/// Rounds behind one idle count as one: they share its clock state. The mean of a quantity for each block of
/// consecutive rounds.
std::vector<double> block_means(std::span<const Round> rounds,
                                const std::function<double(const Round&)>& quantity);
std::vector<double> block_times(std::span<const Round> rounds);

/// What two measurements share of their blocks, in order: log(second) - log(first) of the means of each block
/// that both have rounds in. `quantity` is what is compared of a round; a block where it is not above zero is
/// left out.
std::vector<double> paired_log_ratios(std::span<const Round> first, std::span<const Round> second,
                                      const std::function<double(const Round&)>& quantity);
std::vector<double> paired_log_ratios_of_time(std::span<const Round> first, std::span<const Round> second);

/// Median over blocks with its exact interval.
TimeEstimate estimate_time(std::span<const Round> rounds);

/// As estimate_time over the medians of `blocks` consecutive blocks of rounds: rounds of a sustained load
/// follow each other without pause, so that neighbours share a clock state and are no independent sample.
TimeEstimate estimate_time_in_blocks(std::span<const Round> rounds, std::size_t blocks);

/// How processes differ, where nobody has measured it on this machine: on GPUs as several H200s were found to
/// (docs/method.md), on a CPU, whose neighbours and pages are not known, ten times as much, and on that of a
/// virtual machine, whose other guests are not known either, as on one that was measured.
ProcessVariation assumed_process_variation(bool is_gpu, bool is_virtual_machine);

/// Whether the interval that will be printed is narrow enough, or more rounds would hardly make it so: where
/// processes differ by as much as the precision, what this one adds is to be no more than that.
bool may_stop(const Measurement& measurement, double precision);

/// Whether the ratio of two paired measurements is known to the precision in this process.
bool may_stop_paired(const Measurement& first, const Measurement& second, double precision);

/// Slow calls that come back after a fixed number of calls, among calls with these numbers and times. Nothing
/// where none do, or where they are slower by less than a tenth.
std::optional<Recurrence> find_recurrence(std::span<const std::int64_t> numbers,
                                          std::span<const double> times);
/// "every 5th call takes 12.1 ms, the others 2.05 ms".
std::string recurrence_text(const Recurrence& recurrence);

/// Fills time, clock, at_reference_clock, cycles, launches and modes from rounds [first, end). Launches and
/// modes are of readings above zero.
void summarise(Measurement& measurement, std::size_t first);

}  // namespace jitterscope
