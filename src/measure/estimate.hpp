// Computes estimates from rounds.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Returns the median of independent times with its exact interval.
TimeEstimate estimate_of(std::span<const double> times);

/// True if measuring may stop. Ask after each round or pass: it looks at a wider interval than is reported.
bool may_stop(std::span<const double> times, double precision);

/// Returns the mean of a quantity over each block of consecutive rounds. Rounds behind one idle count as one,
/// because they share its clock state.
std::vector<double> block_means(std::span<const Round> rounds,
                                const std::function<double(const Round&)>& quantity);
std::vector<double> block_times(std::span<const Round> rounds);

/// Returns log(second) - log(first) of the block means, for each block in which both have rounds, in order.
/// `quantity` is compared; blocks with a value not above zero are left out.
std::vector<double> paired_log_ratios(std::span<const Round> first, std::span<const Round> second,
                                      const std::function<double(const Round&)>& quantity);
std::vector<double> paired_log_ratios_of_time(std::span<const Round> first, std::span<const Round> second);

/// Returns the median over blocks with its exact interval.
TimeEstimate estimate_time(std::span<const Round> rounds);

/// The same over the medians of `blocks` consecutive parts: rounds of a sustained load follow each other
/// without pause, so neighbours share a clock state and are no independent sample.
TimeEstimate estimate_time_in_blocks(std::span<const Round> rounds, std::size_t blocks);

/// Returns the assumed variation between processes if it was not measured on this machine: on GPUs that of
/// several H200s (docs/method.md); on a CPU, whose neighbours and pages are unknown, ten times as much; on a
/// virtual machine's CPU, whose other guests are unknown, too, that of one that was measured.
ProcessVariation assumed_process_variation(bool is_gpu, bool is_virtual_machine);

/// True if the printed interval is narrow enough, or more rounds would hardly narrow it: if processes differ
/// by more than half of the precision, only this process's part must be within it.
bool may_stop(const Measurement& measurement, double precision);

/// True if the ratio of two paired measurements is known to the precision in this process.
bool may_stop_paired(const Measurement& first, const Measurement& second, double precision);

/// Finds slow calls that return after a fixed number of calls, given the calls' numbers and times. nullopt if
/// there are none, or if they are less than a tenth slower.
std::optional<Recurrence> find_recurrence(std::span<const std::int64_t> numbers,
                                          std::span<const double> times);
/// Returns "5th", "12th", "22nd".
std::string ordinal(std::int64_t number);
/// Returns "every 5th call takes", or "2 of every 7 calls take".
std::string recurring_text(std::int64_t slow, std::int64_t period, std::string_view unit);
/// Returns "every 5th call takes 12.1 ms, the others 2.05 ms".
std::string recurrence_text(const Recurrence& recurrence);

/// Returns what a call takes on average by the pattern, or by the modes' locations and weights: the means of
/// what is said beside them. The mean of all calls has a first slow one or a disturbed one in it, too.
Nanoseconds mean_of(const Recurrence& recurrence);
Nanoseconds mean_of(std::span<const Mode> modes);

/// Returns "64.0 % near 1.368 ms, 36.0 % near 1.436 ms; 1.392 ms on average", which is the pattern's mean if
/// calls recur. `mean` of all launches includes those that another program held up, and slow ones too rare
/// for a level: if it is another, ", 1.52 ms with the rare slow ones" follows. Zero: it is not known.
std::string modes_text(std::span<const Mode> modes, const std::optional<Recurrence>& recurrence,
                       Nanoseconds mean);

/// Fills time, clock, at_reference_clock, cycles, launches, modes and recurrence from the rounds from `first`
/// on. Launches and modes use readings above zero.
void summarise(Measurement& measurement, std::size_t first);

}  // namespace jitterscope
