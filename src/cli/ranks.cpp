#include "cli/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "base/host.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "device/open_device.hpp"
#include "group/group.hpp"
#include "group/rendezvous.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"
#include "output/progress.hpp"
#include "worker/fresh_processes.hpp"
#include "worker/in_step.hpp"

namespace jitterscope::cli {
namespace {

// Commands that measure on all ranks.
constexpr std::array<std::string_view, 6> kOnRanks = {"run",     "compare",     "gate",
                                                      "explain", "collectives", "study"};
// Those that are a part of a rank's own work: a worker of an agent, and a program of the launcher's that is
// captured.
constexpr std::array<std::string_view, 2> kOnEachRank = {"worker", "capture"};

std::string command_of(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--settings") {
      ++i;
    } else if (!arguments[i].starts_with('-')) {
      return arguments[i];
    }
  }
  return {};
}

constexpr std::string_view kRendezvousFlag = "--rendezvous";

// Its last value, in either way to write one; empty if there is none.
std::string rendezvous_in(const std::vector<std::string>& arguments) {
  std::string found;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view word = arguments[i];
    if (word == kRendezvousFlag && i + 1 < arguments.size()) {
      found = arguments[i + 1];
    } else if (word.starts_with(kRendezvousFlag) && word.substr(kRendezvousFlag.size()).starts_with('=')) {
      found = word.substr(kRendezvousFlag.size() + 1);
    }
  }
  return found;
}

bool asks_for_help(const std::vector<std::string>& arguments) {
  return std::ranges::any_of(arguments,
                             [](const std::string& word) { return word == "--help" || word == "-h"; });
}

group::Membership membership_of(const group::RankIdentity& identity, const Invocation& invocation) {
  return {.identity = identity,
          .executable = invocation.executable,
          .command = joined(invocation.arguments, " ")};
}

}  // namespace

std::optional<int> take_part(const std::vector<std::string>& arguments, Invocation& invocation) {
  const std::string command = command_of(arguments);
  if (std::ranges::find(kOnEachRank, command) != kOnEachRank.end()) return std::nullopt;
  const group::RankIdentity identity = group::rank_identity(std::getenv);
  const bool is_on_ranks =
      std::ranges::find(kOnRanks, command) != kOnRanks.end() && !asks_for_help(arguments);
  if (is_on_ranks) invocation.rendezvous = rendezvous_in(arguments);
  if (!invocation.rendezvous.empty() && identity.launcher.empty()) {
    throw UsageError(fmt::format(
        "{} {}: no launcher has said which rank this is; start it by one (mpirun, srun, torchrun), or leave {} out: "
        "ranks that --local starts need none",
        kRendezvousFlag, invocation.rendezvous, kRendezvousFlag));
  }
  if (identity.size == 1) return std::nullopt;
  if (!is_on_ranks) {
    if (identity.rank > 0) return 0;
    if (!asks_for_help(arguments) && !command.empty()) {
      std::fputs(fmt::format("jitterscope: `{}` uses no other ranks: rank 0 alone carries it out\n", command)
                     .c_str(),
                 stderr);
    }
    return std::nullopt;
  }
  const group::Membership membership = membership_of(identity, invocation);
  const auto rendezvous = [&] {
    return group::open_rendezvous(invocation.rendezvous, identity, std::getenv);
  };
  if (identity.rank == 0) {
    invocation.ranks = std::make_shared<group::Group>(membership, *rendezvous(), is_interrupted);
    return std::nullopt;
  }
  // Launchers end all ranks when one ends with an error, so an agent never does; rank 0 has the exit code.
  std::optional<std::string> problem;
  try {
    problem = group::be_agent(membership, *rendezvous());
  } catch (const std::exception& error) {  // its memory may be at an end, too
    problem = fmt::format("rank {}: {}", identity.rank, error.what());
  }
  if (problem) std::fputs(fmt::format("jitterscope: {}\n", *problem).c_str(), stderr);
  return 0;
}

void add_rendezvous_flag(CLI::App& command, const Invocation& invocation) {
  const auto check = [&invocation](const std::string& value) {
    if (value == invocation.rendezvous) return;
    throw UsageError(fmt::format("{} {}: ranks have met before this is read; type it once, or set {}",
                                 kRendezvousFlag, in_quotes(value), group::kRendezvousVariable));
  };
  command
      .add_option_function<std::string>(
          std::string(kRendezvousFlag), check,
          "where the ranks of a launcher meet: file:FOLDER or tcp://HOST:PORT (default: "
          "$JITTERSCOPE_RENDEZVOUS, else what the launcher offers)")
      ->type_name("WHERE");
}

StartPartner start_on_ranks(const Invocation& invocation) {
  if (!invocation.ranks) return {};
  return [ranks = invocation.ranks](std::size_t rank) { return ranks->start_worker(rank); };
}

void start_local_ranks(std::int64_t count, Invocation& invocation) {
  if (invocation.ranks) {
    throw UsageError(fmt::format("--local {}: a launcher has started {} ranks already; leave --local out",
                                 count, invocation.ranks->size()));
  }
  const group::RankIdentity identity{.rank = 0, .size = count, .local_rank = 0, .launcher = "--local"};
  invocation.ranks = std::make_shared<group::Group>(membership_of(identity, invocation), invocation.arguments,
                                                    is_interrupted);
}

std::vector<std::string> devices_of_ranks(const std::string& asked, const group::Group& ranks) {
  if (asked.ends_with(":all") || devices_named(asked).size() > 1) {
    throw UsageError(fmt::format(
        "--device {}: each of {} ranks has one device; name one, as --device cuda, which is each rank's own",
        asked, ranks.size()));
  }
  if (names_host(asked)) {
    throw UsageError(
        fmt::format("--device {}: ranks would share this host's CPU, and disturb each other; name a "
                    "GPU or a simulated cluster (--device virtual:cluster-2xh200), or start one process",
                    asked));
  }
  std::vector<std::string> devices;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) devices.push_back(ranks.device_of(rank, asked));
  return devices;
}

std::vector<std::string> notes_of(const std::vector<GroupsOnRanks::Lost>& lost) {
  std::vector<std::string> notes;
  for (const GroupsOnRanks::Lost& each : lost)
    notes.push_back(fmt::format("group {} is lost: {}", each.group, each.why));
  return notes;
}

namespace {

// Returns ", 36 s left" if the groups to come take as long as the last one did; empty before the first.
std::string time_left(const std::vector<Nanoseconds>& durations, std::int64_t groups) {
  if (durations.empty()) return {};
  return fmt::format(", {} left",
                     duration_text(durations.back() * static_cast<double>(groups - std::ssize(durations))));
}

}  // namespace

GroupsOnRanks run_groups_on_ranks(const std::vector<std::string>& devices, std::int64_t groups,
                                  const std::string& what, std::uint64_t seed,
                                  const PlansOfGroup& plans_of_group, const Invocation& invocation) {
  ProgressLine line(stderr, host_time_now);
  GroupsOnRanks found;
  const auto start = start_on_ranks(invocation);
  for (std::int64_t group = 0; group < groups && !is_interrupted(); ++group) {
    line.show(fmt::format("{} group {} of {}{}", what, group + 1, groups, time_left(found.durations, groups)),
              {static_cast<std::size_t>(group) + 1, static_cast<std::size_t>(groups)});
    const std::uint64_t own_seed = seed_of_process(seed, group);
    const std::vector<Plan> own = plans_of_group({group, own_seed, found.groups.empty()});
    std::vector<WorkerPlan> plans;
    for (const std::string& device : devices)
      plans.push_back({.device = device,
                       .device_seed = own_seed,
                       .plan = own.size() == 1 ? own.front() : own.at(plans.size())});
    const Nanoseconds begin = host_time_now();
    try {
      std::vector<RunRecord> ranks =
          run_in_step(std::move(plans),
                      {.executable = invocation.executable, .start = start, .interrupted = is_interrupted});
      if (!is_interrupted()) found.groups.push_back(std::move(ranks));
    } catch (const InterruptedError&) {
    } catch (const FailedError& problem) {
      found.lost.push_back({group + 1, problem.what()});
      if (found.groups.empty() && found.lost.size() > 1) throw;
    }
    found.durations.push_back(host_time_now() - begin);
  }
  line.clear();
  return found;
}

}  // namespace jitterscope::cli
