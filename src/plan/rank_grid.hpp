// Ranks arranged by tensor, data and pipeline, and which of them are alike.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/step_plan.hpp"

namespace jitterscope::plan {

/// Rank = (stage · data + replica) · tensor + part: tensor-parallel ranks are neighbours, as they exchange
/// most.
struct RankGrid {
  std::int64_t data = 1, tensor = 1, pipeline = 1;
  std::int64_t ranks() const { return data * tensor * pipeline; }
  std::int64_t stage_of(std::int64_t rank) const { return rank / (data * tensor); }
  bool operator==(const RankGrid&) const = default;
};

/// A rank whose computing takes a factor longer, for a step.
struct SlowRank {
  std::int64_t rank = 0;
  double factor = 1.0;
};

/// The classes of a grid's ranks. Ranks are of one class if they have the same stage and speed, and so have
/// those that they exchange with, and those with theirs.
struct GridClasses {
  std::vector<RankClass> classes;
  std::vector<std::size_t> stages;  ///< of each class
  /// For each class, all classes in its tensor-parallel group and among its replicas, itself too, sorted.
  /// Classes of one group have the same list.
  std::vector<std::vector<std::size_t>> tensor_groups, data_groups;
  /// The class with the next and the previous stage, around the end.
  std::vector<std::size_t> next, previous;
};
/// Throws UsageError if a slow rank is none of the grid.
GridClasses classes_of(const RankGrid& grid, std::span<const SlowRank> slow = {});

/// All ways to write `ranks` as data · tensor · pipeline.
std::vector<RankGrid> factorizations(std::int64_t ranks);

/// Adds a collective of each group of classes: `after` and the result have a node for each class, or kNone.
/// `groups` as in GridClasses. No time: nothing is added, and `after` is returned.
std::vector<NodeId> add_collectives(StepPlan& plan, std::span<const std::vector<std::size_t>> groups,
                                    std::span<const std::size_t> of_classes, std::size_t stream,
                                    Nanoseconds time, const std::vector<Transfer>& transfers,
                                    const std::vector<NodeId>& after, const std::string& name);

}  // namespace jitterscope::plan
