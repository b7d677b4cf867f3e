#include "plan/rank_grid.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "jitterscope/error.hpp"

namespace jitterscope::plan {
namespace {

using Colours = std::vector<std::size_t>;

class Refinement {
 public:
  Refinement(const RankGrid& grid, std::span<const SlowRank> slow)
      : grid_(grid), slowness_(static_cast<std::size_t>(grid.ranks()), 1.0) {
    for (const SlowRank& each : slow) {
      if (each.rank < 0 || each.rank >= grid.ranks())
        throw UsageError(
            fmt::format("rank {} is none of {} ranks, which count from 0", each.rank, grid.ranks()));
      slowness_[static_cast<std::size_t>(each.rank)] = each.factor;
    }
  }

  // Ranks that differ in what they see of others are parted until none does.
  Colours colours() const {
    std::map<std::pair<std::int64_t, double>, std::size_t> first;
    Colours colours(slowness_.size());
    for (std::size_t r = 0; r < colours.size(); ++r)
      colours[r] = first.try_emplace({stage_of(r), slowness_[r]}, first.size()).first->second;
    for (std::size_t count = first.size();;) {
      const auto tensor = sets(colours, [&](std::size_t r) { return tensor_group(r); });
      const auto data = sets(colours, [&](std::size_t r) { return data_group(r); });
      std::map<std::tuple<std::size_t, Colours, Colours, std::size_t, std::size_t>, std::size_t> seen;
      Colours finer(colours.size());
      for (std::size_t r = 0; r < colours.size(); ++r) {
        const auto key = std::make_tuple(colours[r], tensor[tensor_group(r)], data[data_group(r)],
                                         colours[neighbour(r, 1)], colours[neighbour(r, -1)]);
        finer[r] = seen.try_emplace(key, seen.size()).first->second;
      }
      if (seen.size() == count) return finer;
      count = seen.size();
      colours = std::move(finer);
    }
  }

  std::int64_t stage_of(std::size_t rank) const { return grid_.stage_of(static_cast<std::int64_t>(rank)); }
  std::size_t tensor_group(std::size_t rank) const { return rank / static_cast<std::size_t>(grid_.tensor); }
  std::size_t data_group(std::size_t rank) const {
    return static_cast<std::size_t>(stage_of(rank)) * static_cast<std::size_t>(grid_.tensor) +
           rank % static_cast<std::size_t>(grid_.tensor);
  }
  std::size_t neighbour(std::size_t rank, std::int64_t stages) const {
    const std::int64_t all = grid_.ranks(),
                       moved = static_cast<std::int64_t>(rank) + stages * grid_.data * grid_.tensor;
    return static_cast<std::size_t>((moved + all) % all);
  }
  double slowness(std::size_t rank) const { return slowness_[rank]; }

  // For each group the colours in it, sorted, each once.
  template <class GroupOf>
  std::vector<Colours> sets(const Colours& colours, const GroupOf& group_of) const {
    std::vector<Colours> sets;
    for (std::size_t r = 0; r < colours.size(); ++r) {
      const std::size_t group = group_of(r);
      if (sets.size() <= group) sets.resize(group + 1);
      const auto place = std::ranges::lower_bound(sets[group], colours[r]);
      if (place == sets[group].end() || *place != colours[r]) sets[group].insert(place, colours[r]);
    }
    return sets;
  }

 private:
  const RankGrid& grid_;
  std::vector<double> slowness_;
};

}  // namespace

GridClasses classes_of(const RankGrid& grid, std::span<const SlowRank> slow) {
  const Refinement refinement(grid, slow);
  const Colours colours = refinement.colours();
  GridClasses result;
  const std::size_t count = *std::ranges::max_element(colours) + 1;
  std::vector<std::size_t> first(count, kNone);
  result.classes.resize(count);
  for (RankClass& each : result.classes) each.ranks = 0;
  for (std::size_t r = 0; r < colours.size(); ++r) {
    if (first[colours[r]] == kNone) first[colours[r]] = r;
    ++result.classes[colours[r]].ranks;
  }
  const auto tensor = refinement.sets(colours, [&](std::size_t r) { return refinement.tensor_group(r); });
  const auto data = refinement.sets(colours, [&](std::size_t r) { return refinement.data_group(r); });
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t r = first[c];
    result.classes[c].first_rank = static_cast<std::int64_t>(r);
    result.classes[c].slowness = refinement.slowness(r);
    result.stages.push_back(static_cast<std::size_t>(refinement.stage_of(r)));
    result.tensor_groups.push_back(tensor[refinement.tensor_group(r)]);
    result.data_groups.push_back(data[refinement.data_group(r)]);
    result.next.push_back(colours[refinement.neighbour(r, 1)]);
    result.previous.push_back(colours[refinement.neighbour(r, -1)]);
  }
  return result;
}

std::vector<RankGrid> factorizations(std::int64_t ranks) {
  std::vector<RankGrid> all;
  for (std::int64_t tensor = 1; tensor <= ranks; ++tensor) {
    if (ranks % tensor != 0) continue;
    const std::int64_t rest = ranks / tensor;
    for (std::int64_t pipeline = 1; pipeline <= rest; ++pipeline)
      if (rest % pipeline == 0) all.push_back({rest / pipeline, tensor, pipeline});
  }
  return all;
}

std::vector<NodeId> add_collectives(StepPlan& plan, std::span<const std::vector<std::size_t>> groups,
                                    std::span<const std::size_t> of_classes, std::size_t stream,
                                    Nanoseconds time, const std::vector<Transfer>& transfers,
                                    const std::vector<NodeId>& after, const std::string& name) {
  if (time <= Nanoseconds(0)) return after;
  std::vector<NodeId> added = after;
  for (const std::size_t c : of_classes) {
    if (groups[c].front() != c) continue;  // the first of a group adds it for all
    const std::size_t meeting = plan.add_meeting(time, transfers);
    for (const std::size_t member : groups[c]) {
      Node node{.work = Work::collective, .rank_class = member, .stream = stream, .name = name};
      if (after[member] != kNone) node.after.push_back(after[member]);
      added[member] = plan.join(meeting, std::move(node));
    }
  }
  return added;
}

}  // namespace jitterscope::plan
