// Which of several is faster: trials that were timed beside each other in several processes, or two records.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/run_record.hpp"
#include "statistics/effect.hpp"

namespace jitterscope {

/// What a launch does, where a study counts it.
struct Amount {
  enum class Unit {
    loads,     ///< one after the other, each of an address that the last one read
    bytes,     ///< that it is asked for
    additions  ///< atomic ones
  };
  Unit unit = Unit::bytes;
  double count = 0.0;
};

/// One side of a comparison, over all processes.
struct ComparedSide {
  Subject subject;
  std::string provider, algorithm;        ///< where there is one; empty where processes chose different ones
  std::optional<HeldMemory> held_memory;  ///< the first process's, of operations that allocate
  Conditions conditions;
  Instrument instrument = Instrument::events;
  TimeEstimate time;
  std::vector<Nanoseconds> rounds = {};    ///< times of them, of all processes; of many some, of layers none
  std::vector<Nanoseconds> launches = {};  ///< what was read in these rounds; likewise
  std::optional<Hertz> clock;
  std::optional<Cycles> cycles;
  std::optional<Verification> verification;  ///< the first process's, where it was asked for
  std::optional<Amount> amount;
  std::optional<LaunchCounters> counters;        ///< in its cache state, the first process's, where asked for
  std::optional<KernelConcurrency> concurrency;  ///< the first process's, where kernels were traced
  std::optional<Shortfall> without_kernels;      ///< why they were not, where that was asked for
};

/// Second over first, 1 where they are alike.
struct RatioEstimate {
  double ratio = 1.0, low = 0.0, high = 0.0;  ///< 95 %
};

struct Comparison {
  std::vector<std::string> layers =
      {};                       ///< the network's names for what is compared; empty for what was typed
  std::int64_t count = 1;       ///< how often the network runs it
  std::size_t alternative = 1;  ///< index of ComparisonRecord::alternatives: the second side; 0 is the first
  ComparedSide first = {}, second = {};
  RatioEstimate time = {};
  std::optional<RatioEstimate> cycles = {};  ///< where the clock of each round is known
  std::int64_t processes = 0;                ///< that timed both
  /// Of time, of each of them; of two records each process of the second over the mean of the first's.
  std::vector<double> process_ratios = {};
  /// Standard deviations, relative: of a process's ratio from its own rounds, and of processes beyond that.
  double within = 0.0, between = 0.0;
  double p_value = 1.0;
  statistics::EffectVerdict verdict = statistics::EffectVerdict::undecided;
  std::optional<std::int64_t> processes_to_decide = {};  ///< probably; where undecided
  /// Smaller differences are not told apart: the timer's step, of the time, or what the uncertainty of the
  /// instrument's constant leaves in the ratio (alike times of one process share it). 0: not known.
  double resolution = 0.0;
  std::string failure = {};  ///< empty, or why there is no ratio
};

/// All layers of a network together, each as often as the network runs it; also where it is one that runs
/// several times. Where layers of a side are left
/// out (ComparisonRecord::left_out) it is the sum of the others, and has no verdict.
struct TotalComparison {
  std::size_t alternative = 1;  ///< as in Comparison
  Load load = Load::burst;
  CacheState cache = CacheState::warm;
  TimeEstimate first = {}, second = {};
  std::optional<Hertz> first_clock = {}, second_clock = {};  ///< mean over the time of all layers
  RatioEstimate time = {};
  std::optional<RatioEstimate> cycles = {};  ///< where the clock of all layers is known
  std::int64_t processes = 0;
  double p_value = 1.0;
  statistics::EffectVerdict verdict = statistics::EffectVerdict::undecided;
  std::optional<std::int64_t> processes_to_decide = {};
};

/// A clock that differs by more than this moves what follows it by more than most intervals are wide.
inline constexpr double kSameClock = 0.005;

/// Of the networks compared: what one of them has and no other has, or what cannot run on all sides.
struct LeftOutLayers {
  std::size_t alternative = 0;  ///< index of ComparisonRecord::alternatives
  std::int64_t layers = 0;      ///< that are not compared: 1 or more
  std::int64_t of = 0;          ///< all that it has
};

/// The difference in what an operation does, not in its circumstances.
inline constexpr const char* kOperationDifference = "operation";

/// A circumstance that two records do not share.
struct RecordDifference {
  std::string name;                  ///< gpu, driver, cudnn, tool_version, cache…
  std::string first, second;         ///< in words
  bool may_explain = false;          ///< it alone may move a time
  std::vector<std::string> of = {};  ///< the layers or operations that have it; empty for the machine
};

/// The record of a history that a gate compared with.
struct ComparedBaseline {
  std::string name;    ///< of the history
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
  std::optional<ComparedBaseline> baseline;  ///< of a gate
  std::optional<ComparedStudy> study;
  std::vector<std::string> alternatives;  ///< what each is called; the others are compared with the first
  /// How much of the first's work one launch of each does: 64 where it takes a batch of 64 and the first one
  /// of 1. Ratios are those of the time for the same work. Empty where all do the same.
  std::vector<double> works;
  double margin = 0.01;
  std::int64_t processes_asked = 0;  ///< 0 where records were compared
  std::vector<Comparison> comparisons;
  std::vector<TotalComparison> totals;
  std::vector<LeftOutLayers> left_out;        ///< of networks; empty where each layer has its partners
  std::vector<RecordDifference> differences;  ///< of two records, before anything else
  std::vector<std::string> notes;
  std::vector<std::string> lost_processes;  ///< why each of those that gave nothing did not
  bool interrupted = false;
};

/// Whether a side of it was verified and did not compute what it should.
bool is_wrong(const Comparison& comparison);

/// How many layers of an alternative are left out; null where none is.
const LeftOutLayers* left_out_of(const ComparisonRecord& record, std::size_t alternative);
/// Whether the total holds every layer of both sides: none is left out, and none failed.
bool is_whole(const ComparisonRecord& record, const TotalComparison& total);

/// Of a total: the mean of its layers' by their times.
double resolution_of(const ComparisonRecord& record, const TotalComparison& total);
/// Whether both the margin and what was seen lie below the resolution, so that no more processes decide.
bool is_below_resolution(double margin, const RatioEstimate& time, double resolution);

/// As a record has them: in units of the first one's, empty where all do the same.
std::vector<double> recorded_works(std::vector<double> works);
/// Of the alternative's launches: 1 where all do the same.
double work_of(const ComparisonRecord& record, std::size_t alternative);

/// Item by item (a layer, or what was typed), a trial for each alternative.
struct ComparisonItems {
  std::vector<RunEntry> items;  ///< layers and count of each
  std::size_t alternatives = 2;
  bool have_total = true;  ///< the items are parts of one whole, such as a network

  /// Of a process that carried out these trials; null where it was interrupted before it.
  const Result* result_of(const RunRecord& process, std::size_t item, std::size_t alternative) const {
    const std::size_t place = item * alternatives + alternative;
    return place < process.entries.size() ? &process.entries[place].result : nullptr;
  }
};

/// Fills comparisons and totals of a record that has its alternatives, works and margin, from the record of
/// each process, whose entries are the trials of one item after those of the other. The unit of each interval
/// is the process; a verdict counts where it holds beside all others of the record (Holm, 1979).
void compare_processes(const ComparisonItems& items, std::span<const RunRecord> processes,
                       ComparisonRecord& record);

/// How an effect becomes a verdict.
enum class Judging {
  comparison,  ///< shown where it is significant
  gate,  ///< a change counts only beyond the margin, and where it comes by chance in at most one of a hundred
         ///< gates on either side; else it is undecided
};

/// Fills differences, comparisons and totals of a record that names both alternatives, from two records that
/// were measured apart: entry by entry, where the subject and the conditions are the same, or where each
/// record has one entry. Where both were measured by several processes, these are the unit of the interval
/// (Welch), in time and in cycles; else each record has its own. Throws UsageError where nothing can be
/// compared, with what each record holds.
void compare_records(const RunRecord& first, const RunRecord& second, ComparisonRecord& record,
                     Judging judging = Judging::comparison);

/// In what the machines, their software and their limits differ.
std::vector<RecordDifference> machine_differences(const RunRecord& first, const RunRecord& second);

/// Entries of both that belong together: by their subject, by a layer's name, or the only one of each.
struct EntryPair {
  const RunEntry *first, *second;
};
std::vector<EntryPair> entries_in_common(const RunRecord& first, const RunRecord& second);

}  // namespace jitterscope
