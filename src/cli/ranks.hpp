// A command in a job of several ranks: rank 0 carries it out, the others become its agents.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/invocation.hpp"
#include "experiment/run_plan.hpp"
#include "jitterscope/units.hpp"
#include "measure/run_record.hpp"
#include "worker/partner.hpp"

namespace jitterscope::cli {

/// Does this process's part before the command line is parsed: an agent needs none of it but --rendezvous,
/// and an error in it is rank 0's to tell. If a launcher started several ranks and the command uses ranks,
/// rank 0 gets invocation.ranks and goes on; every other rank is an agent until rank 0 has finished. Any
/// other command is carried out by rank 0 alone. Returns the exit code of a rank that has nothing more to do.
/// Throws what forming the group throws, and UsageError for --rendezvous without a launcher.
std::optional<int> take_part(const std::vector<std::string>& arguments, Invocation& invocation);

/// Declares --rendezvous, which take_part has read, for a command that uses ranks.
void add_rendezvous_flag(CLI::App& command, const Invocation& invocation);

/// Starts workers beside the job's ranks; empty, which means on this host, if it has none.
StartPartner start_on_ranks(const Invocation& invocation);

/// Returns the device of each rank, in the order of ranks, where all were asked to use `asked`. Throws
/// UsageError for a device that several ranks cannot use beside each other: this host's CPU, or more than one
/// name.
std::vector<std::string> devices_of_ranks(const std::string& asked, const group::Group& ranks);

/// Groups of fresh workers, one beside each rank, that carried out their plans in step.
struct GroupsOnRanks {
  std::vector<std::vector<RunRecord>> groups = {};  ///< of those that gave records: by rank
  struct Lost {
    std::int64_t group = 0;  ///< from 1
    std::string why;
  };
  std::vector<Lost> lost = {};
  std::vector<Nanoseconds> durations = {};  ///< one for each group that was started, in order
};
/// Returns a sentence for each group that was lost.
std::vector<std::string> notes_of(const std::vector<GroupsOnRanks::Lost>& lost);
/// A group of fresh workers that is about to start.
struct StartingGroup {
  std::int64_t number = 0;  ///< from 0
  std::uint64_t seed = 1;   ///< of its idles and orders
  bool is_first = true;     ///< none before it gave records
};
/// Returns one plan for all ranks, or one for each: with the same trials by name and the same collectives,
/// but what a rank's part of a step launches may differ.
using PlansOfGroup = std::function<std::vector<Plan>(const StartingGroup& group)>;
/// Starts one group after the other, with a live line "WHAT group 2 of 4". Each group has a seed
/// of its own from `seed`, as fresh processes have, and so have its simulated devices. An interruption ends
/// the group that is running, which then gives no records. Throws the error of the second group that is lost
/// if none gave records by then.
GroupsOnRanks run_groups_on_ranks(const std::vector<std::string>& devices, std::int64_t groups,
                                  const std::string& what, std::uint64_t seed,
                                  const PlansOfGroup& plans_of_group, const Invocation& invocation);

/// Starts the other ranks of `--local COUNT` on this host. Throws UsageError if a launcher has started ranks.
void start_local_ranks(std::int64_t count, Invocation& invocation);

}  // namespace jitterscope::cli
