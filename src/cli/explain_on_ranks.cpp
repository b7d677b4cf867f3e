#include "cli/explain_on_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/ranks.hpp"
#include "explain/tried_factors.hpp"
#include "jitterscope/error.hpp"
#include "worker/neighbour_process.hpp"

namespace jitterscope::cli {
namespace {

using explain::BlockOfRanks;

// A block has one group of fresh processes without another process at work, and one beside each neighbour.
class BlocksOfRanks {
 public:
  BlocksOfRanks(const explain::StudyBetweenRanks& study, const std::vector<std::string>& devices,
                const Invocation& invocation)
      : study_(study), devices_(devices), invocation_(invocation) {
    for (explain::Factor& factor : explain::factors_between_ranks(study)) {
      explain::Treatment treatment;
      for (const explain::Dose& dose : factor.doses) {
        if (dose.apply) dose.apply(treatment);
      }
      if (factor.not_available.empty() && treatment.neighbour)
        neighbours_.emplace_back(factor.id, *treatment.neighbour);
    }
  }

  /// Blocks without a plain group are left out.
  std::vector<BlockOfRanks> measure(Nanoseconds time_limit, std::uint64_t seed,
                                    std::vector<std::string>& notes) {
    const std::int64_t groups = blocks_within(time_limit) * groups_of_block();
    GroupsOnRanks found = run_groups_on_ranks(
        devices_, groups, fmt::format("{},", study_.operation.text()), seed,
        [this](const StartingGroup& group) { return std::vector{plan_of(group.number, group.seed)}; },
        invocation_);
    beside_.reset();
    neighbour_.reset();
    std::set<std::int64_t> lost;
    for (const GroupsOnRanks::Lost& each : found.lost) {
      lost.insert(each.group - 1);
      notes.push_back(fmt::format("Lost: {}.", each.why));
    }
    if (!problem_.empty()) notes.push_back(fmt::format("{}.", problem_));
    std::vector<BlockOfRanks> blocks(static_cast<std::size_t>(groups / groups_of_block()));
    auto next = found.groups.begin();
    for (std::int64_t group = 0; next != found.groups.end(); ++group) {
      if (lost.contains(group)) continue;
      std::vector<RunRecord> ranks = std::move(*next++);
      if (without_neighbour_.contains(group)) continue;
      BlockOfRanks& block = blocks[static_cast<std::size_t>(group / groups_of_block())];
      const std::int64_t arm = group % groups_of_block();
      (arm == 0 ? block.plain : block.beside[neighbours_[static_cast<std::size_t>(arm) - 1].first]) =
          std::move(ranks);
    }
    std::erase_if(blocks, [](const BlockOfRanks& block) { return block.plain.empty(); });
    return blocks;
  }

 private:
  std::int64_t groups_of_block() const { return 1 + std::ssize(neighbours_); }

  // Starting processes and a communicator takes some seconds on GPUs, as do the load and the delays of a
  // plain group.
  std::int64_t blocks_within(Nanoseconds time_limit) const {
    constexpr Nanoseconds kPlainGroup = seconds(9), kGroupBeside = seconds(4);
    constexpr std::int64_t kMost = 30;
    const Nanoseconds block = kPlainGroup + kGroupBeside * static_cast<double>(neighbours_.size());
    return std::clamp(static_cast<std::int64_t>(time_limit / block), explain::kFewestBlocks, kMost);
  }

  Plan plan_of(std::int64_t group, std::uint64_t seed) {
    beside_.reset();
    const std::int64_t arm = group % groups_of_block();
    if (arm > 0) {
      try {
        if (!neighbour_)
          neighbour_ = start_neighbour_process(invocation_.executable, devices_.front(), is_interrupted);
        beside_ = std::make_unique<explain::NeighbourAtWork>(
            *neighbour_, neighbours_[static_cast<std::size_t>(arm) - 1].second);
      } catch (const explain::NeighbourLostError& lost) {
        problem_ = lost.what();
        without_neighbour_.insert(group);
      }
    }
    return explain::plan_of_block(study_, seed, arm == 0);
  }

  const explain::StudyBetweenRanks& study_;
  const std::vector<std::string>& devices_;
  const Invocation& invocation_;
  std::vector<std::pair<std::string, explain::Companion>> neighbours_;  // by the factor that each is
  std::unique_ptr<explain::Neighbour> neighbour_;
  std::unique_ptr<explain::NeighbourAtWork> beside_;
  std::set<std::int64_t> without_neighbour_;  ///< groups whose neighbour did not come
  std::string problem_;
};

}  // namespace

void study_between_ranks(const explain::StudyBetweenRanks& study, const std::vector<std::string>& devices,
                         Nanoseconds time_limit, std::uint64_t seed, const Invocation& invocation,
                         ExplainRecord& record) {
  const Nanoseconds begin = host_time_now();
  const std::vector<BlockOfRanks> blocks =
      BlocksOfRanks(study, devices, invocation).measure(time_limit, seed, record.notes);
  record.interrupted = is_interrupted();
  if (blocks.empty() && !record.interrupted)
    throw FailedError(record.notes.empty() ? "no rank gave a time" : record.notes.front());
  record.study = explain::explain_between_ranks(study, blocks);
  record.study->duration = host_time_now() - begin;
  record.study->interrupted = record.interrupted;
  if (!blocks.empty()) record.conclusions = explain::conclusions_between_ranks(study, *record.study, blocks);
  record.notes.push_back(
      fmt::format("Between {}: a block is a fresh process for each, with a communicator of its own.",
                  counted(std::ssize(devices), "rank")));
}

}  // namespace jitterscope::cli
