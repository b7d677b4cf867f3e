// Which rank of a job this process is, as its launcher says in the environment.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace jitterscope::group {

/// Returns a variable of the environment; nullptr if it is not set. The process's own is std::getenv.
using Variables = std::function<const char*(const char* name)>;

struct RankIdentity {
  std::int64_t rank = 0;  ///< from 0
  std::int64_t size = 1;  ///< ranks of the job
  /// The number among the ranks of its host, from 0; nullopt if the launcher does not say.
  std::optional<std::int64_t> local_rank = {};
  std::string launcher = {};  ///< "Open MPI"; empty if no launcher started it
};

// Launchers, as RankIdentity names them, that are asked for more than the rank.
inline constexpr const char *kTorchrun = "torchrun", *kSlurm = "Slurm";

// Those that `--local` sets for the ranks that it starts.
inline constexpr const char* kRankVariable = "JITTERSCOPE_RANK";
inline constexpr const char* kRanksVariable = "JITTERSCOPE_RANKS";
inline constexpr const char* kLocalRankVariable = "JITTERSCOPE_LOCAL_RANK";

/// Reads what Open MPI, MPICH and its relatives (PMI), torchrun, Slurm or `--local` say. Slurm's words count
/// only if no other launcher's are there, since it starts mpirun and torchrun once for each host. Throws
/// UsageError if two others disagree, or if a number is none.
RankIdentity rank_identity(const Variables& variables);

}  // namespace jitterscope::group
