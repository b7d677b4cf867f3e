#include "group/rank_identity.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string_view>

#include "jitterscope/error.hpp"

namespace jitterscope::group {
namespace {

struct Launcher {
  const char* name;
  const char *rank, *size, *local_rank;
};
constexpr Launcher kOwn = {"--local", kRankVariable, kRanksVariable, kLocalRankVariable};
constexpr std::array kLaunchers = {
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    Launcher{"MPICH (PMI)", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    Launcher{kTorchrun, "RANK", "WORLD_SIZE", "LOCAL_RANK"},
};
// A batch script has SLURM_NTASKS, too, though it is one process: only a step's variables say that srun
// started this one.
constexpr Launcher kOfSlurm = {kSlurm, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"};

std::optional<std::int64_t> number(const Variables& variables, const char* name) {
  const char* text = variables(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view word = text;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (problem != std::errc() || end != word.data() + word.size() || value < 0) {
    throw UsageError(
        fmt::format("{}={}: a whole number was expected; unset it if no launcher has set it", name, word));
  }
  return value;
}

std::optional<RankIdentity> identity_by(const Launcher& launcher, const Variables& variables) {
  const auto rank = number(variables, launcher.rank), size = number(variables, launcher.size);
  if (!rank || !size) return std::nullopt;
  if (*rank >= *size) {
    throw UsageError(fmt::format("{}={} of {}={}: ranks count from 0; unset both if no launcher has set them",
                                 launcher.rank, *rank, launcher.size, *size));
  }
  return RankIdentity{*rank, *size, number(variables, launcher.local_rank), launcher.name};
}

}  // namespace

RankIdentity rank_identity(const Variables& variables) {
  if (auto own = identity_by(kOwn, variables)) return *own;
  std::optional<RankIdentity> found;
  for (const Launcher& launcher : kLaunchers) {
    const auto other = identity_by(launcher, variables);
    if (!other) continue;
    if (!found) {
      found = other;
    } else if (found->rank != other->rank || found->size != other->size) {
      throw UsageError(fmt::format(
          "{} says that this is rank {} of {}, {} says rank {} of {}; start it by one of them, or "
          "unset the other's variables ({}, {})",
          found->launcher, found->rank, found->size, other->launcher, other->rank, other->size, launcher.rank,
          launcher.size));
    } else if (!found->local_rank) {
      found->local_rank = other->local_rank;
    }
  }
  if (!found) found = identity_by(kOfSlurm, variables);
  return found.value_or(RankIdentity{});
}

}  // namespace jitterscope::group
