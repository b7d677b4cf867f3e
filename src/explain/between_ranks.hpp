// Finds which causes move the time of a collective between ranks. A block is a group of fresh processes, one
// for each rank, with a communicator of its own.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "experiment/collectives.hpp"
#include "experiment/run_plan.hpp"
#include "explain/explanation.hpp"
#include "explain/factors.hpp"
#include "measure/run_record.hpp"

namespace jitterscope::explain {

/// The factor that no study of one process has.
inline constexpr const char* kLateness = "lateness";

struct StudyBetweenRanks {
  Operation operation;                    ///< a collective that names its ranks
  FactorContext context = {};             ///< of rank 0's device
  std::vector<std::string> factors = {};  ///< ids; empty: all
};

/// The records of all ranks in one block, by rank.
struct BlockOfRanks {
  std::vector<RunRecord> plain;
  /// The same while another process works on rank 0's GPU, by the factor that it is.
  std::map<std::string, std::vector<RunRecord>> beside = {};
};

/// load, lateness, and the neighbours of one process's study.
std::vector<std::string> factor_ids_between_ranks();
/// Returns the factors that are asked for, available or not. A neighbour has its strongest dose alone. Throws
/// UsageError for one that is not tried between ranks, with the others.
std::vector<Factor> factors_between_ranks(const StudyBetweenRanks& study);
/// Returns the plan of each rank in a block: `is_plain` without another process at work.
Plan plan_of_block(const StudyBetweenRanks& study, std::uint64_t seed, bool is_plain);

/// Judges each factor over blocks. Blocks without a time on each rank count for nothing.
Explanation explain_between_ranks(const StudyBetweenRanks& study, std::span<const BlockOfRanks> blocks);
/// Returns what to say of it: causes, what a delayed rank makes the others wait, who comes last.
std::vector<std::string> conclusions_between_ranks(const StudyBetweenRanks& study, const Explanation& found,
                                                   std::span<const BlockOfRanks> blocks);

}  // namespace jitterscope::explain
