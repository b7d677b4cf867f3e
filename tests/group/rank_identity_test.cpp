#include "group/rank_identity.hpp"

#include <gmock/gmock.h>

#include <map>

#include "jitterscope/error.hpp"

namespace jitterscope::group {
namespace {

using testing::AllOf;
using testing::HasSubstr;

RankIdentity identity_in(const std::map<std::string, std::string>& environment) {
  return rank_identity([&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

void expect_identity(const RankIdentity& identity, std::int64_t rank, std::int64_t size,
                     std::optional<std::int64_t> local_rank, const std::string& launcher) {
  EXPECT_EQ(identity.rank, rank);
  EXPECT_EQ(identity.size, size);
  EXPECT_EQ(identity.local_rank, local_rank);
  EXPECT_EQ(identity.launcher, launcher);
}

TEST(RankIdentity, ComesFromEachLauncher) {
  expect_identity(identity_in({}), 0, 1, std::nullopt, "");
  expect_identity(identity_in({{"OMPI_COMM_WORLD_RANK", "5"},
                               {"OMPI_COMM_WORLD_SIZE", "8"},
                               {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}}),
                  5, 8, 1, "Open MPI");
  expect_identity(identity_in({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}), 3, 4, std::nullopt, "MPICH (PMI)");
  expect_identity(identity_in({{"RANK", "2"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "2"}}), 2, 4, 2,
                  "torchrun");
  expect_identity(
      identity_in({{"SLURM_PROCID", "7"}, {"SLURM_STEP_NUM_TASKS", "16"}, {"SLURM_LOCALID", "3"}}), 7, 16, 3,
      "Slurm");
}

TEST(RankIdentity, ABatchScriptOfSlurmIsOneProcess) {
  expect_identity(identity_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}}), 0, 1, std::nullopt, "");
}

TEST(RankIdentity, SlurmStartsOtherLaunchersOncePerHost) {
  expect_identity(identity_in({{"SLURM_PROCID", "1"},
                               {"SLURM_STEP_NUM_TASKS", "2"},
                               {"OMPI_COMM_WORLD_RANK", "5"},
                               {"OMPI_COMM_WORLD_SIZE", "8"}}),
                  5, 8, std::nullopt, "Open MPI");
}

TEST(RankIdentity, LaunchersThatDisagreeAreNamed) {
  try {
    identity_in(
        {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"RANK", "0"}, {"WORLD_SIZE", "4"}});
    FAIL() << "one of them is wrong";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("Open MPI says that this is rank 1 of 2"),
                                    HasSubstr("torchrun says rank 0 of 4")));
  }
}

TEST(RankIdentity, WhatIsNoRankIsRefused) {
  EXPECT_THROW(identity_in({{"RANK", "zero"}, {"WORLD_SIZE", "4"}}), UsageError);
  EXPECT_THROW(identity_in({{"RANK", "4"}, {"WORLD_SIZE", "4"}}), UsageError);
  EXPECT_THROW(identity_in({{"PMI_RANK", "-1"}, {"PMI_SIZE", "4"}}), UsageError);
}

}  // namespace
}  // namespace jitterscope::group
