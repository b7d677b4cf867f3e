// The result of a comparison of trials timed side by side, or of two records: which is faster.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "statistics/effect.hpp"

namespace jitterscope {

/// The amount of work that a launch does, for studies that count it.
struct Amount {
  enum class Unit {
    loads,     ///< dependent loads, each from the address that the last one read
    bytes,     ///< bytes requested
    additions  ///< atomic additions
  };
  Unit unit = Unit::bytes;
  double count = 0.0;
};

/// One side of a comparison, over all processes.
struct ComparedSide {
  Subject subject;
  std::string provider, algorithm;        ///< empty if unknown or if processes differ
  std::optional<HeldMemory> held_memory;  ///< from the first process, for operations that allocate
  Bytes workspace = {};                   ///< beside the operands, from the first process
  Conditions conditions;
  Instrument instrument = Instrument::events;
  TimeEstimate time;
  std::optional<Nanoseconds> per_sample = {};  ///< if the alternatives differ in their samples
  std::vector<Nanoseconds> rounds =
      {};  ///< round times of all processes: a selection of many, none for layers
  std::vector<Nanoseconds> launches = {};  ///< readings in these rounds, selected in the same way
  std::optional<Hertz> clock;
  std::optional<Cycles> cycles;
  std::optional<Verification> verification;  ///< from the first process, if it was asked for
  std::optional<Amount> amount;
  std::optional<LaunchCounters> counters;  ///< in this cache state, from the first process, if asked for
  std::optional<KernelConcurrency> concurrency;  ///< from the first process, if kernels were traced
  std::optional<Shortfall> without_kernels;      ///< why kernels could not be traced
};

/// Ratio of second to first; 1 if they are equal.
struct RatioEstimate {
  double ratio = 1.0, low = 0.0, high = 0.0;  ///< 95 % interval
};

struct Comparison {
  std::vector<std::string> layers = {};  ///< the network's names for it; empty for operations that were typed
  std::int64_t count = 1;                ///< how often the network runs it
  std::size_t alternative = 1;  ///< the second side: index of ComparisonRecord::alternatives; the first is 0
  ComparedSide first = {}, second = {};
  RatioEstimate time = {};
  std::optional<RatioEstimate> cycles = {};  ///< if the clock of each round is known
  std::int64_t processes = 0;                ///< number of processes that timed both
  /// Ratio of times of each process; for two records of each second process over the mean of the first's.
  std::vector<double> process_ratios = {};
  /// Relative standard deviations: of a process's ratio by its own rounds, and between processes beyond that.
  double within = 0.0, between = 0.0;
  double p_value = 1.0;
  statistics::EffectVerdict verdict = statistics::EffectVerdict::undecided;
  std::optional<std::int64_t> processes_to_decide = {};  ///< probable number, if undecided
  /// Smaller relative differences cannot be resolved: the timer's step over the time, or what the uncertainty
  /// of the instrument's constant leaves in the ratio (similar times in one process share it). 0: not known.
  double resolution = 0.0;
  std::string failure = {};  ///< why there is no ratio; empty if there is one
};

/// Sum over all layers of a network, each counted as often as it runs; also for one layer that runs several
/// times. If a side has layers left out (ComparisonRecord::left_out), this is the sum of the others and has
/// no verdict.
struct TotalComparison {
  std::size_t alternative = 1;  ///< as in Comparison
  Load load = Load::burst;
  CacheState cache = CacheState::warm;
  TimeEstimate first = {}, second = {};
  std::optional<Nanoseconds> first_per_sample = {}, second_per_sample = {};  ///< as in ComparedSide
  std::optional<Hertz> first_clock = {}, second_clock = {};  ///< mean over the time of all layers
  RatioEstimate time = {};
  std::optional<RatioEstimate> cycles = {};  ///< if the clock of all layers is known
  std::int64_t processes = 0;
  double p_value = 1.0;
  statistics::EffectVerdict verdict = statistics::EffectVerdict::undecided;
  std::optional<std::int64_t> processes_to_decide = {};
};

/// Clocks that differ by more than this change times by more than the width of most intervals.
inline constexpr double kSameClock = 0.005;

/// Layers of one alternative that are not compared: no other has them, or they cannot run on all sides.
struct LeftOutLayers {
  std::size_t alternative = 0;  ///< index of ComparisonRecord::alternatives
  std::int64_t layers = 0;      ///< number left out, 1 or more
  std::int64_t of = 0;          ///< number of all its layers
  /// If several records are compared with the first, and these are layers of the first: the alternative that
  /// lacks them. 0: every comparison lacks them.
  std::size_t beside = 0;
};

/// Name of the difference in the operation itself, which is no circumstance.
inline constexpr const char* kOperationDifference = "operation";

/// Names of the differences that change a time by the clock.
inline constexpr const char* kMaximumClockDifference = "maximum clock";
inline constexpr const char* kPowerLimitDifference = "power limit";

/// A circumstance in which a record differs from the first one.
struct RecordDifference {
  std::string name;                  ///< gpu, driver, cudnn, tool_version, cache…
  std::string first, second;         ///< as text
  bool may_explain = false;          ///< it alone may change a time
  std::vector<std::string> of = {};  ///< layers or operations that have it; empty for the machine
  std::size_t alternative = 1;       ///< the record that differs, as in Comparison
};

/// The record that a gate compared with.
struct ComparedBaseline {
  std::string name;    ///< name of the history
  std::string record;  ///< NAME/ID
  std::string time;    ///< when it was measured: ISO 8601, UTC
};

/// The study that chose the alternatives.
struct ComparedStudy {
  std::string id;  ///< layout, precision…
  std::string question;
  std::vector<std::string> answers;  ///< sentences, the most important first
};

struct ComparisonRecord {
  Environment environment;
  DeviceDescription device;
  std::string title;
  std::optional<ComparedBaseline> baseline;  ///< set by a gate
  std::optional<ComparedStudy> study;
  std::vector<std::string> alternatives;  ///< names; the others are compared with the first
  std::vector<std::string> measured;      ///< of records: when each was measured, ISO 8601, UTC
  /// Work per launch of each alternative, in units of the first's: 64 if it takes a batch of 64 and the first
  /// one of 1. Ratios are of times for the same work. Empty if all do the same.
  std::vector<double> works;
  /// Samples in a launch of each alternative, or in a pass of a network, if it is they that differ; times are
  /// then given for one, too. Empty if all have the same, or if it is not known.
  std::vector<std::int64_t> samples;
  double margin = 0.01;
  std::int64_t processes_asked = 0;  ///< 0 if records were compared
  std::vector<Comparison> comparisons;
  std::vector<TotalComparison> totals;
  std::vector<LeftOutLayers> left_out;        ///< for networks; empty if every layer has a partner
  std::vector<RecordDifference> differences;  ///< between records, shown before anything else
  std::vector<std::string> cautions;          ///< sentences to read with the verdict: they stand beside it
  std::vector<std::string> notes;
  std::vector<std::string> lost_processes;  ///< why each process without a result gave none
  bool interrupted = false;
};

/// True if files were compared: neither trials side by side nor a gate's baseline.
inline bool is_of_files(const ComparisonRecord& record) { return !record.measured.empty(); }
/// Says a difference in a cell, as change_text does: "-2.21 ± 0.16 %", "14.4 times ± 1.1 %", "1/14.4 ± 1.1
/// %"; both ends if the interval is lopsided.
std::string change_of(const RatioEstimate& ratio);
/// The same for a difference of times in words, its interval apart: "-2.21 %" and "-2.37 to -2.05 %", "14.4
/// times as long" and "14.2 to 14.6". The interval is empty if nothing else can be said.
struct ChangeWords {
  std::string change, interval;
};
ChangeWords change_words_of(const RatioEstimate& ratio);
/// Says a difference of times in a sentence: "-2.21 % (-2.37 to -2.05 %)", "14.4 times as long (14.2
/// to 14.6)", "1/14.4 of the time (1/14.6 to 1/14.2)".
std::string change_with_interval(const RatioEstimate& ratio);

/// True if verification of a side failed.
bool is_wrong(const Comparison& comparison);

/// Returns the layers of an alternative that are left out of the comparison of `compared` with the first, or
/// null.
const LeftOutLayers* left_out_of(const ComparisonRecord& record, std::size_t alternative,
                                 std::size_t compared);
/// True if the total includes every layer of both sides: none left out, none failed.
bool is_whole(const ComparisonRecord& record, const TotalComparison& total);

/// Returns the mean of the layers' resolutions, weighted by time.
double resolution_of(const ComparisonRecord& record, const TotalComparison& total);
/// True if margin and observed difference are below the resolution, so that more processes decide nothing.
bool is_below_resolution(double margin, const RatioEstimate& time, double resolution);

/// Returns the time for one sample of an alternative; nullopt if the record has no samples.
std::optional<Nanoseconds> per_sample(const ComparisonRecord& record, std::size_t alternative,
                                      Nanoseconds time);

/// Returns works as a record holds them: in units of the first, empty if all are equal.
std::vector<double> recorded_works(std::vector<double> works);
/// Returns the work of one launch of the alternative, in units of the first's.
double work_of(const ComparisonRecord& record, std::size_t alternative);

/// The items that are compared (layers, or typed operations), each with one trial for each alternative.
struct ComparisonItems {
  std::vector<RunEntry> items;  ///< layers and count of each
  std::size_t alternatives = 2;
  bool have_total = true;  ///< the items are parts of one whole, such as a network

  /// Returns the item's result in a process, or null if it was interrupted before that trial.
  const Result* result_of(const RunRecord& process, std::size_t item, std::size_t alternative) const {
    const std::size_t place = item * alternatives + alternative;
    return place < process.entries.size() ? &process.entries[place].result : nullptr;
  }
};

/// Fills comparisons and totals of a record that has its alternatives, works, samples and margin. `processes`
/// are the records of the processes, their entries item by item, each with all alternatives. Intervals are
/// over processes; a verdict must hold beside all others of the record (Holm, 1979).
void compare_processes(const ComparisonItems& items, std::span<const RunRecord> processes,
                       ComparisonRecord& record);

/// How an effect becomes a verdict.
enum class Judging {
  comparison,  ///< a significant effect counts
  gate,  ///< an effect counts only beyond the margin, and if chance makes it in at most one of a hundred
         ///< gates on either side; else undecided
  gate_on_host  ///< the same, but in at most one of four hundred
};

/// Fills differences, comparisons and totals of a record that names all alternatives, from records measured
/// apart: each of `others` is compared with the first. Compares entries_in_common() under equal load and in
/// equal cache state. If both records have several processes, intervals are over processes (Welch), for times
/// and cycles; else each record's own interval is used. Throws UsageError that lists both records' contents
/// if one of the others has nothing that can be compared.
void compare_records(const RunRecord& first, std::span<const RunRecord> others, ComparisonRecord& record,
                     Judging judging = Judging::comparison);

/// Returns how the machines, their software and their limits differ.
std::vector<RecordDifference> machine_differences(const RunRecord& first, const RunRecord& second);

/// Two entries that belong together: by their calls' names in records of one network, else by subject, by a
/// layer's name, or as the only one of each record.
struct EntryPair {
  const RunEntry *first, *second;
  std::int64_t count;  ///< number of calls that both networks have of them, each in one pair only
};
std::vector<EntryPair> entries_in_common(const RunRecord& first, const RunRecord& second);
/// The same of different networks, whose calls' names mean nothing: only equal operations belong together.
std::vector<EntryPair> equal_entries(const RunRecord& first, const RunRecord& second);

}  // namespace jitterscope
