#include "explain/between_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "experiment/processes.hpp"
#include "explain/conclusions.hpp"
#include "explain/verdicts.hpp"
#include "jitterscope/error.hpp"
#include "measure/arrivals.hpp"
#include "operation/kinds_collective.hpp"

namespace jitterscope::explain {
namespace {

constexpr const char* kLoad = "load";
constexpr Nanoseconds kSustained = seconds(3);

bool waits_for_all_ranks(const Operation& operation) {
  const auto* collective = std::get_if<Collective>(&operation.parameters());
  return collective != nullptr && waits_for_all(collective->kind);
}

// Load. Intervention: the collective again and again for seconds, against bursts after an idle. Signature:
// clocks and power caps of GPUs that also compute move it; transfers over links hardly.
Factor load_between_ranks() {
  return {.id = kLoad,
          .cause = "a sustained load of the same collective",
          .usual = "bursts after an idle",
          .doses = {{fmt::format("{} of it", duration_text(kSustained)), {}}},
          .remedy = "Time under the load that it will run in (--load sustained).",
          .not_told_from = {"power", "temperature"}};
}

// Lateness. Intervention: the work before the collective takes longer on one rank, on each in turn.
// Signature: the others wait as much longer, less what that rank would have waited itself.
Factor lateness(const StudyBetweenRanks& study) {
  Factor factor{
      .id = kLateness,
      .cause = "a rank that comes late",
      .usual = "all ranks as they come",
      .doses_grow = true,
      .remedy =
          "Give each rank the same work before the collective, and record launches in a graph where its "
          "host is late; `jitterscope collectives` says which of both it is."};
  for (const Nanoseconds delay : ArrivalOptions().delays)
    factor.doses.push_back({fmt::format("one rank {} late", duration_text(delay)), {}});
  if (!waits_for_all_ranks(study.operation))
    factor.not_available = "no rank of this collective waits for all others";
  return factor;
}

bool is_asked(const StudyBetweenRanks& study, const std::string& id) {
  return study.factors.empty() || std::ranges::find(study.factors, id) != study.factors.end();
}

// Logarithms of times with a dose over those without, by block.
class Effects {
 public:
  Effects(const StudyBetweenRanks& study, std::span<const BlockOfRanks> blocks)
      : operation_(study.operation.text()), blocks_(blocks) {}

  PairedEffect of_load() const {
    PairedEffect effect;
    for (const BlockOfRanks& block : blocks_) {
      add(time_of_group(block.plain, operation_, Load::burst),
          time_of_group(block.plain, operation_, Load::sustained), effect);
    }
    return effect;
  }

  PairedEffect of_neighbour(const std::string& id) const {
    PairedEffect effect;
    for (const BlockOfRanks& block : blocks_) {
      const auto beside = block.beside.find(id);
      if (beside == block.beside.end()) continue;
      add(time_of_group(block.plain, operation_, Load::burst),
          time_of_group(beside->second, operation_, Load::burst), effect);
    }
    return effect;
  }

  // Each rank is late in turn: the mean over them, since a cause is what any late rank does.
  PairedEffect of_lateness(std::size_t dose, std::size_t doses) const {
    PairedEffect effect;
    for (const BlockOfRanks& block : blocks_) {
      const std::vector<DelayOfGroup> delays = delays_of_group(block.plain, operation_);
      double sum = 0.0;
      std::size_t ranks = 0;
      for (std::size_t i = dose; i < delays.size(); i += doses, ++ranks)
        sum += std::log1p(delays[i].seen / delays[i].usual);
      if (ranks > 0 && std::isfinite(sum)) effect.log_times.push_back(sum / static_cast<double>(ranks));
    }
    return effect;
  }

 private:
  static void add(std::optional<Nanoseconds> without, std::optional<Nanoseconds> with, PairedEffect& effect) {
    if (without && with) effect.log_times.push_back(std::log(*with / *without));
  }

  std::string operation_;
  std::span<const BlockOfRanks> blocks_;
};

PairedEffects effects_of(const FactorList& factors, const Effects& effects) {
  PairedEffects paired;
  for (std::size_t number = 0; number < factors.size(); ++number) {
    const Factor& factor = *factors[number];
    for (std::size_t dose = 0; dose < factor.doses.size(); ++dose) {
      PairedEffect effect = factor.id == kLoad       ? effects.of_load()
                            : factor.id == kLateness ? effects.of_lateness(dose, factor.doses.size())
                                                     : effects.of_neighbour(factor.id);
      effect.factor = number;
      effect.dose = dose;
      paired.blocks = std::max(paired.blocks, std::ssize(effect.log_times));
      paired.doses.push_back(std::move(effect));
    }
  }
  return paired;
}

FactorResult result_between_ranks(const Factor& factor) {
  FactorResult result{.id = factor.id, .cause = factor.cause, .usual = factor.usual, .remedy = factor.remedy};
  result.not_told_from = factor.not_told_from;
  if (factor.not_available.empty()) return result;
  result.verdict = FactorVerdict::not_identifiable;
  result.reason = factor.not_available;
  return result;
}

CollectiveResult result_of_blocks(const StudyBetweenRanks& study, std::span<const BlockOfRanks> blocks) {
  std::vector<std::vector<RunRecord>> groups;
  for (const BlockOfRanks& block : blocks) groups.push_back(block.plain);
  const std::vector<std::string> operations = {study.operation.text()};
  return analyse_collective(groups, operations);
}

std::string delays_sentence(const CollectiveWaiting& waiting) {
  constexpr std::int64_t kShown = 8;
  std::vector<std::string> ranks;
  for (std::int64_t rank = 0; rank < kShown; ++rank) {
    std::vector<std::string> waits;
    for (const LatenessProof& proof : waiting.proofs) {
      if (proof.rank == rank)
        waits.push_back(fmt::format("{} for {}", time_text(proof.seen.median), duration_text(proof.delay)));
    }
    if (!waits.empty()) ranks.push_back(fmt::format("{} (rank {})", joined(waits), rank));
  }
  if (ranks.empty()) return {};
  return fmt::format("While a rank is delayed the others wait longer: {}.", joined(ranks, "; "));
}

std::string last_rank_sentence(const CollectiveWaiting& waiting) {
  if (!lateness_is_proven(waiting)) {
    return "A delay on purpose did not show as it must in what the others wait, so nothing is said of who is late.";
  }
  const std::string waits = fmt::format("the others wait {} for the last (median; 95 %: {})",
                                        time_text(waiting.median), time_text(waiting.p95));
  if (!waiting.late_rank) return fmt::format("No rank comes last more often than by chance; {}.", waits);
  return fmt::format(
      "Rank {} comes last in {} of the rounds, {} behind the others: {} by its host's launches, {} by the work "
      "before; {}.",
      *waiting.late_rank, percent_text(waiting.last_shares[static_cast<std::size_t>(*waiting.late_rank)]),
      time_text(waiting.late_by), time_text(waiting.late_by_launches), time_text(waiting.late_by_work),
      waits);
}

}  // namespace

std::vector<std::string> factor_ids_between_ranks() {
  return {kLoad, kLateness, "neighbour_kernels", "neighbour_memory", "neighbour_link"};
}

std::vector<Factor> factors_between_ranks(const StudyBetweenRanks& study) {
  const std::vector<std::string> known = factor_ids_between_ranks();
  for (const std::string& id : study.factors) {
    if (std::ranges::find(known, id) != known.end()) continue;
    throw UsageError(
        fmt::format("--factors: {} is not tried between ranks, but {}; leave it out, or start one process",
                    id, joined(known)));
  }
  std::vector<Factor> factors;
  if (is_asked(study, kLoad)) factors.push_back(load_between_ranks());
  if (is_asked(study, kLateness)) factors.push_back(lateness(study));
  for (Factor& factor : all_factors(study.context)) {
    const bool is_tried = std::ranges::find(known, factor.id) != known.end() && factor.id != kLoad;
    if (!is_tried || !is_asked(study, factor.id)) continue;
    factor.doses.erase(factor.doses.begin(), factor.doses.end() - 1);  // each needs a communicator of its own
    factors.push_back(std::move(factor));
  }
  return factors;
}

Plan plan_of_block(const StudyBetweenRanks& study, std::uint64_t seed, bool is_plain) {
  MeasureOptions options = transfer_options(seed);
  options.time_limit = seconds(1);
  options.sustained_time_limit = kSustained;
  if (is_plain && is_asked(study, kLoad)) options.loads.push_back(Load::sustained);
  Plan plan;
  plan.ceilings = false;
  plan.groups = {{Trial{study.operation, options}}};
  if (!is_plain || !is_asked(study, kLateness) || !waits_for_all_ranks(study.operation)) return plan;
  plan.arrivals = ArrivalOptions();
  plan.arrivals->seed = seed;
  plan.arrivals->operations = {study.operation};
  return plan;
}

Explanation explain_between_ranks(const StudyBetweenRanks& study, std::span<const BlockOfRanks> blocks) {
  Explanation found;
  found.operation = study.operation.text();
  const CollectiveResult result = result_of_blocks(study, blocks);
  if (!result.times.empty()) found.plain = result.times.front().time;
  const std::vector<Factor> factors = factors_between_ranks(study);
  FactorList judged;
  std::vector<FactorResult> not_here;
  for (const Factor& factor : factors) {
    if (factor.not_available.empty()) {
      judged.push_back(&factor);
      found.factors.push_back(result_between_ranks(factor));
    } else {
      not_here.push_back(result_between_ranks(factor));
    }
  }
  const PairedEffects paired = effects_of(judged, Effects(study, blocks));
  judge_factors(judged, paired, found.factors);
  found.blocks = paired.blocks;
  std::ranges::stable_sort(found.factors, {}, &FactorResult::verdict);
  found.factors.insert(found.factors.end(), not_here.begin(), not_here.end());
  return found;
}

std::vector<std::string> conclusions_between_ranks(const StudyBetweenRanks& study, const Explanation& found,
                                                   std::span<const BlockOfRanks> blocks) {
  std::vector<std::string> sentences = conclusions_of(found);
  const CollectiveResult result = result_of_blocks(study, blocks);
  if (!result.waiting) return sentences;
  for (std::string sentence : {last_rank_sentence(*result.waiting), delays_sentence(*result.waiting)})
    if (!sentence.empty()) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace jitterscope::explain
