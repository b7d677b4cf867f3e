// What comparisons of every kind have in common: sides, ratios and verdicts.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiment/comparison.hpp"

namespace jitterscope {

/// What one process, or one record, says of a side.
ComparedSide side_of(const Result& result, const Measurement& measurement);

/// Where two sides were measured.
enum class Beside {
  same_process,  ///< with one constant of the instrument, whose error they share
  apart          ///< each with its own
};
/// What the instrument tells apart, of the measured time: Comparison::resolution.
double resolution_of(const Measurement& first, const Measurement& second, Beside beside);

RatioEstimate ratio_of(const statistics::Effect& effect);

/// Adds a layer's time to the sum of a network, as often as that runs it. What the layers of one record are
/// off by they may all be off by: half-widths are added.
void add_times(TimeEstimate& sum, const TimeEstimate& time, std::int64_t count);

/// Verdicts of all comparisons that have an effect, each where it holds beside all others (Holm, 1979);
/// `effects` are those of the comparisons, in their order.
void judge(std::span<Comparison> comparisons, std::span<const std::optional<statistics::Effect>> effects,
           double margin, Judging judging = Judging::comparison);

/// Ratio, processes and verdict of a total of the record's, which stands for itself. No verdict where layers
/// of a side are left out.
void judge(TotalComparison& total, const statistics::Effect& effect, const ComparisonRecord& record,
           Judging judging = Judging::comparison);

// The rounds behind the times of a comparison, as many as its record keeps: they show how each side is
// distributed.

/// The times of what an estimate stands on: all rounds, or those of a sustained load that had settled.
std::vector<Nanoseconds> settled_times(const Measurement& measurement);

/// All readings in these rounds that are above zero, or 400 of them as keep_some_rounds() takes them.
std::vector<Nanoseconds> settled_launches(const Measurement& measurement);

/// At most 4,000 rounds in a record and 400 of a side, 50 kB, and as many launches: of more, every so many-th
/// by size, which keeps the shape. None of a network's layers, and none where so many things are compared
/// that each would have a handful.
void keep_some_rounds(std::span<Comparison> comparisons);

// Whether what is compared does the same amount of work.

/// "16.8 MFLOP and 33.6 MFLOP, 64 KiB and 128 KiB to move": in what two operations compute or move unlike
/// amounts; empty where they do not.
std::string unlike_work(const Operation& first, const Operation& second);
/// The same as a sentence that names both.
std::string unlike_work_sentence(const std::string& first_label, const Operation& first,
                                 const std::string& second_label, const Operation& second);

/// How many pairs of layers or operations there are, and those that do unlike work.
class UnlikeWork {
 public:
  void add(const std::string& name, const Operation& first, const Operation& second, std::int64_t count);
  /// A sentence with some of them; empty where all do the same.
  std::string sentence(const std::string& first_label, const std::string& second_label) const;

 private:
  std::int64_t all_ = 0, unlike_ = 0;
  std::vector<std::string> examples_;
};

/// Notes the pairs of the record that do unlike work; it has comparisons and no notes of these yet.
void note_unlike_layers(ComparisonRecord& record);

/// A note where a side is a kernel that a simulated GPU does not look into.
void note_only_moved(ComparisonRecord& record);

// Engines that were asked for and did not run: a ratio would be said of engines, and be one of something
// else.

/// Why two sides that ask for different engines cannot be compared: one of them ran another engine. Empty
/// where both ran what they asked for, or ask for the same.
std::string ignored_engine(const Result& first, const Result& second);

/// Notes where sides that ask for the same engine did not run it: the first of them, and how many more there
/// are. `alternatives` entries of a process are one operation.
void note_ignored_engines(std::span<const RunRecord> processes, std::size_t alternatives,
                          ComparisonRecord& record);

// Layers in a sentence that has room for some of them.

class LayerNames {
 public:
  /// The names of one operation, which a network may run in many places.
  void add(const std::vector<std::string>& names);
  std::size_t size() const { return firsts_.size() + others_.size(); }
  bool empty() const { return firsts_.empty(); }
  /// "conv1, bn1, fc and 40 more": one of each operation first.
  std::string some() const;

 private:
  std::vector<std::string> firsts_, others_;
};

}  // namespace jitterscope
