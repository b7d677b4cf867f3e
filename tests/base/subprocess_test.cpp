#include "base/subprocess.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

SubprocessOutcome shell(const std::string& script, const SubprocessLimits& limits = {}) {
  return run_subprocess({"/bin/sh", "-c", script}, limits);
}

// This process then has no child, neither running nor dead.
bool has_children() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

TEST(Subprocess, BothStreamsAndTheExitCodeComeBack) {
  const SubprocessOutcome outcome = shell("echo out; echo err >&2; exit 7");
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(outcome.output, "out\n");
  EXPECT_EQ(outcome.errors, "err\n");
  EXPECT_FALSE(has_children());
}

// What NCCL reads, among the rest: workers do as the program that starts them was told.
TEST(Subprocess, ItHasTheSameEnvironment) {
  ::setenv("NCCL_NVLS_ENABLE", "0", 1);
  EXPECT_EQ(shell("echo $NCCL_NVLS_ENABLE").output, "0\n");
  ::unsetenv("NCCL_NVLS_ENABLE");
  EXPECT_EQ(shell("echo $NCCL_NVLS_ENABLE").output, "\n");
}

TEST(Subprocess, MoreThanAPipeHolds) {
  const SubprocessOutcome outcome = shell("head -c 1000000 /dev/zero; head -c 500000 /dev/zero >&2");
  EXPECT_EQ(outcome.output.size(), 1000000u);
  EXPECT_EQ(outcome.errors.size(), 500000u);
}

TEST(Subprocess, ItHasNoStandardInput) { EXPECT_EQ(shell("cat").exit_code, 0); }

TEST(Subprocess, ItReadsWhatItIsGiven) {
  EXPECT_EQ(shell("cat", {.input = "a plan\n"}).output, "a plan\n");
  const std::string large(1'000'000, 'x');
  EXPECT_EQ(shell("cat", {.input = large}).output, large);
  EXPECT_EQ(shell("exit 3", {.input = large}).exit_code, 3);  // who does not read it is not waited for
}

TEST(Subprocess, OneThatHangsIsEnded) {
  const SubprocessOutcome outcome = shell("echo begun; exec sleep 100", {.time_limit = milliseconds(300)});
  EXPECT_TRUE(outcome.timed_out);
  EXPECT_EQ(outcome.output, "begun\n");
  EXPECT_FALSE(has_children());
  EXPECT_FALSE(shell("exit 0", {.time_limit = seconds(60)}).timed_out);
}

TEST(Subprocess, WholeLinesOfErrorsAreToldOnce) {
  std::vector<std::string> lines;
  const auto listen = [&](std::string_view line) { lines.emplace_back(line); };
  shell("printf 'one\\ntwo\\nthr' >&2", {.error_line = listen});
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two"}));
}

TEST(Subprocess, ASignalIsNoExitCode) {
  const SubprocessOutcome outcome = shell("kill -9 $$");
  EXPECT_EQ(outcome.exit_code, -1);
  EXPECT_EQ(outcome.signal, 9);
  EXPECT_EQ(shell("exit 9").signal, 0);
}

TEST(Subprocess, WhatCannotBeStartedIsNamed) {
  try {
    run_subprocess({"/nonexistent/tool"}, {});
    FAIL();
  } catch (const FailedError& error) {
    EXPECT_STREQ(error.what(), "'/nonexistent/tool' could not be started: No such file or directory");
  }
  EXPECT_FALSE(has_children());
}

TEST(Subprocess, AnInterruptionAsksItToEnd) {
  EXPECT_THROW(shell("exec sleep 100", {.interrupted = [] { return true; }}), InterruptedError);
  EXPECT_FALSE(has_children());
}

TEST(Subprocess, OneThatDoesNotListenIsKilled) {
  const SubprocessLimits limits{.interrupted = [] { return true; }, .grace = milliseconds(200)};
  // exec: no grandchild is left behind that holds the pipes.
  EXPECT_THROW(shell("trap '' TERM; exec sleep 100", limits), InterruptedError);
  EXPECT_FALSE(has_children());
}

}  // namespace
}  // namespace jitterscope
