// A command in a job of several ranks: rank 0 carries it out, the others become its agents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/invocation.hpp"
#include "worker/partner.hpp"

namespace jitterscope::cli {

/// Does this process's part before the command line is read. If a launcher started several ranks and the
/// command uses ranks, rank 0 gets invocation.ranks and goes on; every other rank is an agent until rank 0
/// has finished. Any other command is carried out by rank 0 alone. Returns the exit code of a rank that has
/// nothing more to do. Throws what forming the group throws.
std::optional<int> take_part(const std::vector<std::string>& arguments, Invocation& invocation);

/// Starts workers beside the job's ranks; empty, which means on this host, if it has none.
StartPartner start_on_ranks(const Invocation& invocation);

/// Returns the device of each rank, in the order of ranks, where all were asked to use `asked`. Throws
/// UsageError for a device that several ranks cannot use beside each other: this host's CPU, or more than one
/// name.
std::vector<std::string> devices_of_ranks(const std::string& asked, const group::Group& ranks);

/// Starts the other ranks of `--local COUNT` on this host. Throws UsageError if a launcher has started ranks.
void start_local_ranks(std::int64_t count, Invocation& invocation);

}  // namespace jitterscope::cli
