// Workers beside several ranks of this host, as the built tool starts them.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include <unistd.h>

#include "base/files.hpp"
#include "group/group.hpp"
#include "jitterscope/error.hpp"
#include "support/watched_partner.hpp"
#include "worker/in_step.hpp"

namespace jitterscope::group {
namespace {

using testing::HasSubstr;

constexpr int kTimeLimit = 5;  // seconds: a busy machine starts three processes in less
constexpr int kTold = 4;       // lines: a worker that was told so many is in the middle of its plan
constexpr const char* kArguments[] = {"run", "relu:count=1Mi"};

Membership local_ranks(std::int64_t size) {
  return {.identity = {.rank = 0, .size = size, .local_rank = 0, .launcher = "--local"},
          .executable = JITTERSCOPE_EXECUTABLE,
          .command = "run relu:count=1Mi"};
}

std::vector<WorkerPlan> plans(std::size_t count, Nanoseconds time_limit = seconds(1)) {
  std::vector<WorkerPlan> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    MeasureOptions options;
    options.caches = {CacheState::warm};
    options.loads = {Load::burst};
    options.time_limit = time_limit;
    if (time_limit > seconds(100)) {  // it goes on until something happens to it
      options.precision = 1e-9;
      options.minimum_rounds = 1'000'000;
    }
    all[i].device = "virtual:h200";
    all[i].device_seed = i + 1;
    all[i].plan.groups = {{{Operation::parse("relu:count=1Mi"), options}}};
    all[i].plan.ceilings = false;
  }
  return all;
}

// The processes below this one's that are a worker of this parent.
std::vector<pid_t> children_of(std::int64_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')');
    if (end == std::string::npos) continue;
    char state = ' ';
    long long parent_of_it = 0;
    if (std::sscanf(text.c_str() + end + 1, " %c %lld", &state, &parent_of_it) == 2 && state != 'Z' &&
        parent_of_it == parent) {
      found.push_back(std::stoi(entry.path().filename().string()));
    }
  }
  return found;
}

class Ranks : public testing::Test {
 protected:
  // The message of what happens once rank 1's worker, in the middle of its plan, is sent a signal.
  std::string problem_after(int signal, bool of_agent) {
    Group group(local_ranks(3), {std::begin(kArguments), std::end(kArguments)}, {});
    WorkersInStep workers{
        .executable = JITTERSCOPE_EXECUTABLE, .start = [&](std::size_t rank) {
          std::unique_ptr<Partner> partner = group.start_worker(rank);
          if (rank != 1) return partner;
          const std::int64_t agent = partner->parent();
          return std::unique_ptr<Partner>(new test::WatchedPartner(std::move(partner), [=](int told) {
            if (told != kTold) return;
            ::kill(of_agent ? static_cast<pid_t>(agent) : children_of(agent).at(0), signal);
          }));
        }};
    workers.time_limit = seconds(kTimeLimit);
    std::string problem;
    try {
      run_in_step(plans(3, seconds(1e6)), workers);
    } catch (const FailedError& error) {
      problem = error.what();
    }
    if (of_agent) {
      EXPECT_THROW(group.start_worker(1), FailedError);
    } else {
      EXPECT_EQ(run_in_step(plans(3), {.executable = JITTERSCOPE_EXECUTABLE,
                                       .start = [&](std::size_t rank) { return group.start_worker(rank); }})
                    .size(),
                3u)
          << "the group works on";
    }
    return problem;
  }
};

TEST_F(Ranks, MeasureAsProcessesOfThisHostDo) {
  Group group(local_ranks(3), {std::begin(kArguments), std::end(kArguments)}, {});
  const auto start = [&](std::size_t rank) { return group.start_worker(rank); };
  const std::vector<RunRecord> far =
      run_in_step(plans(3), {.executable = JITTERSCOPE_EXECUTABLE, .start = start});
  const std::vector<RunRecord> near = run_in_step(plans(3), {.executable = JITTERSCOPE_EXECUTABLE});
  ASSERT_EQ(far.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Measurement& one = far[i].entries.at(0).result.measurements.at(0);
    const Measurement& other = near[i].entries.at(0).result.measurements.at(0);
    EXPECT_EQ(one.time.median, other.time.median) << "the same decisions, so the same simulated times";
    EXPECT_EQ(one.rounds.size(), other.rounds.size());
  }
}

TEST_F(Ranks, AWorkerThatIsKilledEndsAllAndItsRankIsNamed) {
  const std::string problem = problem_after(SIGKILL, false);
  EXPECT_THAT(problem, HasSubstr("rank 1 ("));
  EXPECT_THAT(problem, HasSubstr("has ended")) << "told at once, not after the time limit";
}

TEST_F(Ranks, AWorkerThatStallsEndsAllAndItsRankIsNamed) {
  const std::string problem = problem_after(SIGSTOP, false);
  EXPECT_THAT(problem, HasSubstr(fmt::format("no answer for {} s from rank 1 (", kTimeLimit)));
  EXPECT_THAT(problem, HasSubstr("relu:count=1048576")) << "its phase";
  EXPECT_THAT(problem, testing::Not(HasSubstr("rank 2")));
}

TEST_F(Ranks, AnAgentThatIsKilledTakesItsWorkerAlone) {
  EXPECT_THAT(problem_after(SIGKILL, true), HasSubstr("its agent has ended"));
}

// Under the address sanitizer no process starts in so little.
#ifndef JITTERSCOPE_TESTS_UNDER_ADDRESS_SANITIZER
// Its processes may have 200 MB: enough to start, and not for 2 x 128 MiB of operands.
TEST_F(Ranks, ARankWithoutMemoryIsNamedAndTheGroupWorksOn) {
  const TemporaryFolder folder;
  const std::filesystem::path script = folder.path() / "limited";
  std::ofstream(script) << "#!/bin/sh\n[ \"$JITTERSCOPE_RANK\" = 1 ] && ulimit -d 200000\nexec "
                        << JITTERSCOPE_EXECUTABLE << " \"$@\"\n";
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  Membership membership = local_ranks(3);
  membership.executable = script.string();
  Group group(membership, {std::begin(kArguments), std::end(kArguments)}, {});
  const WorkersInStep workers{.executable = script.string(),
                              .start = [&](std::size_t rank) { return group.start_worker(rank); }};
  std::vector<WorkerPlan> large = plans(3);
  for (WorkerPlan& plan : large) {
    plan.device = "cpu";
    plan.plan.groups[0][0].subject = Operation::parse("relu:count=32Mi");
  }
  std::string problem;
  try {
    run_in_step(large, workers);
  } catch (const Error& error) {
    problem = error.what();
  }
  EXPECT_THAT(problem, testing::StartsWith("rank 1 ("));
  EXPECT_THAT(problem, HasSubstr("memory"));
  EXPECT_EQ(run_in_step(plans(3), workers).size(), 3u) << "nobody else has lost anything";
}
#endif

TEST_F(Ranks, NoProcessIsLeft) {
  std::int64_t agent = 0;
  {
    Group group(local_ranks(2), {std::begin(kArguments), std::end(kArguments)}, {});
    const auto worker = group.start_worker(1);
    agent = worker->parent();
    EXPECT_EQ(::kill(static_cast<pid_t>(agent), 0), 0);
  }
  EXPECT_TRUE(children_of(::getpid()).empty());
  EXPECT_TRUE(children_of(agent).empty());
}

TEST_F(Ranks, UseTheGpuOfTheirLocalRank) {
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  Group group(local_ranks(2), {std::begin(kArguments), std::end(kArguments)}, {});
  EXPECT_EQ(group.device_of(1, "cuda"), "cuda:1");
  EXPECT_EQ(group.device_of(1, "virtual:h200"), "virtual:h200");
  ::setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  Group one_each(local_ranks(2), {std::begin(kArguments), std::end(kArguments)}, {});
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(one_each.device_of(1, "cuda"), "cuda:0");
}

}  // namespace
}  // namespace jitterscope::group
