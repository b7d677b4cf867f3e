// Sides, ratios and verdicts, common to all kinds of comparisons.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// Returns the side of a comparison that one process, or one record, gives.
ComparedSide side_of(const Result& result, const Measurement& measurement);

/// Tells whether the two sides were measured in one process.
enum class Beside {
  same_process,  ///< both share the error of one instrument constant
  apart          ///< each has a constant of its own
};
/// Returns the smallest relative difference that the instrument resolves (Comparison::resolution).
double resolution_of(const Measurement& first, const Measurement& second, Beside beside);

RatioEstimate ratio_of(const statistics::Effect& effect);

/// Adds a layer's time to a network's sum, as often as the network runs it. Half-widths are added, because
/// all layers of a record may share one error.
void add_times(TimeEstimate& sum, const TimeEstimate& time, std::int64_t count);

/// Sets the verdicts of all comparisons that have an effect; each must hold beside all others (Holm, 1979).
/// `effects` are in the order of the comparisons.
void judge(std::span<Comparison> comparisons, std::span<const std::optional<statistics::Effect>> effects,
           double margin, Judging judging = Judging::comparison);

/// Sets ratio, processes and verdict of a total, which is judged alone. A total with layers left out gets no
/// verdict.
void judge(TotalComparison& total, const statistics::Effect& effect, const ComparisonRecord& record,
           Judging judging = Judging::comparison);

// Rounds kept in a comparison's record show how the times of each side are distributed.

/// Returns the times of the rounds that the estimate uses: all, or the settled part of a sustained load.
std::vector<Nanoseconds> settled_times(const Measurement& measurement);

/// Returns all readings above zero in these rounds, or 400 of them, selected as in keep_some_rounds().
std::vector<Nanoseconds> settled_launches(const Measurement& measurement);

/// Keeps at most 4,000 rounds per record and 400 per side (50 kB), and as many launches. If there are more,
/// takes them at even ranks by size, which keeps the shape. Keeps none for layers of a network, or if each
/// side would have fewer than 20.
void keep_some_rounds(std::span<Comparison> comparisons);

// The next functions tell whether two operations do the same amount of work.

/// Returns "16.8 MFLOP and 33.6 MFLOP, 64 KiB and 128 KiB to move" for operations that compute or move
/// different amounts, else an empty string.
std::string unlike_work(const Operation& first, const Operation& second);
/// Returns the same as a sentence that names both.
std::string unlike_work_sentence(const std::string& first_label, const Operation& first,
                                 const std::string& second_label, const Operation& second);

/// Counts pairs of layers or operations, and those that do different amounts of work.
class UnlikeWork {
 public:
  void add(const std::string& name, const Operation& first, const Operation& second, std::int64_t count);
  /// Returns a sentence with some examples; empty if all do the same.
  std::string sentence(const std::string& first_label, const std::string& second_label) const;

 private:
  std::int64_t all_ = 0, unlike_ = 0;
  std::vector<std::string> examples_;
};

/// Notes pairs that do different amounts of work. Call it once, after the comparisons are filled.
void note_unlike_layers(ComparisonRecord& record);

/// Adds a note if a side is a kernel whose arithmetic a simulated GPU does not simulate.
void note_only_moved(ComparisonRecord& record);

/// Notes that other programs had the core, or used the device, while the alternatives were timed: for how
/// large a share of the time, in how many of the processes. `processes` are those of one comparison.
void note_other_work(std::span<const RunRecord> processes, ComparisonRecord& record);
/// The same of a record that is compared; `name` is its own in the sentence.
void note_other_work(const RunRecord& compared, const std::string& name, std::vector<std::string>& notes);

// An engine that was asked for may not run; a ratio would then compare something else than the named engines.

/// Returns why two sides that ask for different engines cannot be compared: one ran another engine. Empty if
/// they ask for the same, or both ran what they asked for.
std::string ignored_engine(const Result& first, const Result& second);

/// Notes sides that ask for the same engine but did not run it: the first, and the number of others. Each
/// operation has `alternatives` entries in a process.
void note_ignored_engines(std::span<const RunRecord> processes, std::size_t alternatives,
                          ComparisonRecord& record);

// Lists layers in a sentence that has room for only some.

class LayerNames {
 public:
  /// Adds the names of one operation, which a network may run in many places.
  void add(const std::vector<std::string>& names);
  std::size_t size() const { return firsts_.size() + others_.size(); }
  bool empty() const { return firsts_.empty(); }
  /// Returns "conv1, bn1, fc and 40 more", with one name of each operation first.
  std::string some() const;

 private:
  std::vector<std::string> firsts_, others_;
};

}  // namespace jitterscope
