// What comparisons of every kind have in common: sides, ratios and verdicts.
#pragma once

#include <optional>
#include <span>

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

}  // namespace jitterscope
