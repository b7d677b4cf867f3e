#include "base/attached_process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/files.hpp"

namespace jitterscope {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

using Changes = std::vector<std::pair<std::string, std::string>>;

AttachedProcess::Outcome run(const std::vector<std::string>& command, const Changes& changes = {},
                             std::vector<int> ignored = {}) {
  AttachedProcess process(std::move(ignored));
  EXPECT_EQ(process.start(command, changes), 0);
  return process.wait(nullptr);
}

AttachedProcess::Outcome shell(const std::string& script, const Changes& changes = {},
                               std::vector<int> ignored = {}) {
  return run({"/bin/sh", "-c", script}, changes, std::move(ignored));
}

// What this process was started with, as by nohup, is what a program inherits.
class AttachedProcessTest : public testing::Test {
 protected:
  AttachedProcessTest() {
    for (const int number : {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2})
      before_.emplace_back(number, ::signal(number, SIG_DFL));
  }
  ~AttachedProcessTest() override {
    EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) << "a process was left behind";
    for (const auto& [number, handler] : before_) ::signal(number, handler);
  }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string text(const std::string& name) const { return file_text(path(name)).text; }

  TemporaryFolder folder_;

 private:
  std::vector<std::pair<int, sighandler_t>> before_;
};

TEST_F(AttachedProcessTest, TheExitCodeIsTheProgramsOwn) {
  EXPECT_EQ(shell("exit 0").exit_code, 0);
  EXPECT_EQ(shell("exit 42").exit_code, 42);
}

TEST_F(AttachedProcessTest, OneEndedByASignalHasTheExitCodeOfAShell) {
  const AttachedProcess::Outcome outcome = shell("kill -KILL $$");
  EXPECT_EQ(outcome.exit_code, 128 + SIGKILL);
  ASSERT_THAT(outcome.ended, SizeIs(1));
  EXPECT_EQ(outcome.ended[0].signal, SIGKILL);
  EXPECT_EQ(outcome.ended[0].exit_code, -1);
}

TEST_F(AttachedProcessTest, WhatCannotBeStartedIsToldAsByEnv) {
  AttachedProcess process;
  EXPECT_EQ(exit_code_of_start(process.start({"jitterscope-has-no-such-program"}, {})), 127);
  EXPECT_EQ(exit_code_of_start(process.start({"/nowhere/at-all"}, {})), 127);
  EXPECT_EQ(exit_code_of_start(process.start({folder_.path().string()}, {})), 126);
  std::ofstream(path("plain")) << "no program\n";
  EXPECT_EQ(exit_code_of_start(process.start({path("plain")}, {})), 126);
}

TEST_F(AttachedProcessTest, AScriptWithoutItsFirstLineIsTheShells) {
  std::ofstream(path("script")) << "exit $1\n";
  std::filesystem::permissions(path("script"), std::filesystem::perms::owner_all);
  EXPECT_EQ(run({path("script"), "7"}).exit_code, 7);
}

TEST_F(AttachedProcessTest, ProgramsAreFoundAsByAShell) {
  EXPECT_EQ(program_file("sh").substr(program_file("sh").rfind('/')), "/sh");
  EXPECT_EQ(program_file("/bin/sh"), "/bin/sh");
  EXPECT_EQ(program_file(""), "");
  EXPECT_EQ(program_file("jitterscope-has-no-such-program"), "");
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(AttachedProcessTest, ItsEnvironmentIsOursWithTheChanges) {
  ::setenv("JITTERSCOPE_TEST_KEPT", "kept", 1);
  ::setenv("JITTERSCOPE_TEST_CHANGED", "before", 1);
  shell("printf '%s %s %s' \"$JITTERSCOPE_TEST_KEPT\" \"$JITTERSCOPE_TEST_CHANGED\" \"$NEW\" >" + path("out"),
        {{"JITTERSCOPE_TEST_CHANGED", "after"}, {"NEW", "a=b c"}});
  EXPECT_EQ(text("out"), "kept after a=b c");
  EXPECT_STREQ(::getenv("JITTERSCOPE_TEST_CHANGED"), "before");
}

TEST_F(AttachedProcessTest, ItHasOurStreams) {
  const int saved_input = ::dup(0), saved_output = ::dup(1);
  std::ofstream(path("in")) << "from our input\n";
  const int input = ::open(path("in").c_str(), O_RDONLY);
  const int output = ::open(path("out").c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(input, 0);
  ::dup2(output, 1);
  run({"cat"});
  ::dup2(saved_input, 0);
  ::dup2(saved_output, 1);
  for (const int each : {saved_input, saved_output, input, output}) ::close(each);
  EXPECT_EQ(text("out"), "from our input\n");
}

// This process ignores SIGPIPE meanwhile; a program that inherited that would go on for ever.
TEST_F(AttachedProcessTest, APipeThatNobodyReadsEndsItAsEver) {
  const int saved = ::dup(1);
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  ::close(ends[0]);
  ::dup2(ends[1], 1);
  ::close(ends[1]);
  const int code = run({"yes"}).exit_code;
  ::dup2(saved, 1);
  ::close(saved);
  EXPECT_EQ(code, 128 + SIGPIPE);
}

TEST_F(AttachedProcessTest, ItIsInOurProcessGroup) {
  shell("cut -d' ' -f5 /proc/$$/stat >" + path("out"));
  EXPECT_EQ(std::stoi(text("out")), ::getpgrp());
}

TEST_F(AttachedProcessTest, SignalsOfOtherProcessesArePassedOn) {
  for (const std::string name : {"TERM", "HUP", "INT", "QUIT", "USR1", "USR2"}) {
    const std::string script = "trap 'exit 5' " + name + "; kill -" + name + " " +
                               std::to_string(::getpid()) + "; while :; do sleep 0.02; done";
    EXPECT_EQ(shell(script).exit_code, 5) << name;
  }
}

TEST_F(AttachedProcessTest, SignalsThatWereIgnoredBeforeStayIgnored) {
  EXPECT_EQ(shell("kill -HUP $$; exit 3", {}, {SIGHUP}).exit_code, 3);
  EXPECT_EQ(shell("kill -HUP $$; exit 3").exit_code, 128 + SIGHUP);
}

TEST_F(AttachedProcessTest, SignalsAreGivenBack) {
  struct sigaction before {
  }, after{};
  sigset_t mask_before, mask_after;
  sigaction(SIGPIPE, nullptr, &before);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_before);
  shell("exit 0");
  sigaction(SIGPIPE, nullptr, &after);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask_after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
  for (const int number : {SIGTERM, SIGCHLD, SIGINT})
    EXPECT_EQ(sigismember(&mask_before, number), sigismember(&mask_after, number)) << number;
}

TEST_F(AttachedProcessTest, ProcessesThatOutliveItAreWaitedFor) {
  const std::string left =
      "(while kill -0 $$ 2>/dev/null; do sleep 0.02; done; echo done >" + path("out") + "; exit 9) & exit 3";
  const AttachedProcess::Outcome outcome = shell(left);
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_TRUE(outcome.is_complete);
  EXPECT_EQ(text("out"), "done\n");
  ASSERT_THAT(outcome.ended, SizeIs(2));
  EXPECT_EQ(outcome.ended[0].exit_code, 3);
  EXPECT_EQ(outcome.ended[1].exit_code, 9);
}

TEST_F(AttachedProcessTest, OfWhatIsLeftItIsTold) {
  std::vector<std::size_t> told;
  AttachedProcess process;
  const std::string file = path("go-on");
  ASSERT_EQ(process.start({"/bin/sh", "-c", "while [ ! -e " + file + " ]; do sleep 0.02; done & exit 0"}, {}),
            0);
  process.wait([&](std::size_t count) {
    told.push_back(count);
    std::ofstream(file) << "";
  });
  EXPECT_THAT(told, ElementsAre(1));
}

void pass_over(int) {}

TEST_F(AttachedProcessTest, ASecondSignalEndsTheWaitingForWhatIsLeft) {
  std::signal(SIGTERM, pass_over);  // those that come after the waiting
  const std::string script = "trap '' TERM; (sh -c 'echo $PPID' >" + path("pid") +
                             "; while :; do kill -TERM " + std::to_string(::getpid()) +
                             "; sleep 0.02; done) & exit 4";
  {
    AttachedProcess process;
    ASSERT_EQ(process.start({"/bin/sh", "-c", script}, {}), 0);
    const AttachedProcess::Outcome outcome = process.wait(nullptr);
    EXPECT_EQ(outcome.exit_code, 4);
    EXPECT_FALSE(outcome.is_complete);
    EXPECT_THAT(outcome.ended, SizeIs(1));
    const pid_t left = std::stoi(text("pid"));
    EXPECT_EQ(::kill(left, SIGKILL), 0);
    EXPECT_EQ(::waitpid(left, nullptr, 0), left);
    while (::waitpid(-1, nullptr, 0) > 0) {  // its sleep
    }
  }
  std::signal(SIGTERM, SIG_DFL);
}

TEST_F(AttachedProcessTest, ASignalWithoutTheProgramReachesWhatIsLeft) {
  // TERM reaches the program's own process first if it still lives, which ignores it.
  const std::string script = "(trap 'echo asked >" + path("out") + "; exit 6' TERM; echo >" + path("ready") +
                             "; while :; do sleep 0.02; done) & while [ ! -e " + path("ready") +
                             " ]; do sleep 0.02; done; exit 0";
  AttachedProcess process;
  ASSERT_EQ(process.start({"/bin/sh", "-c", script}, {}), 0);
  const AttachedProcess::Outcome outcome = process.wait([](std::size_t) { ::kill(::getpid(), SIGTERM); });
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(text("out"), "asked\n");
  EXPECT_EQ(outcome.ended.at(1).exit_code, 6);
}

}  // namespace
}  // namespace jitterscope
