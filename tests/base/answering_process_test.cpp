#include "base/subprocess.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using testing::HasSubstr;

std::vector<std::string> by_shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

const std::string kEcho = "while read line; do echo \"heard $line\"; done";

// This process then has no child, neither running nor dead.
bool has_child() { return ::waitpid(-1, nullptr, WNOHANG) >= 0 || errno != ECHILD; }

std::string problem_of(AnsweringProcess& process, const std::string& line, Nanoseconds limit = seconds(10)) {
  try {
    return "answered: " + process.ask(line, limit, nullptr);
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(AnsweringProcess, AnswersEachLineInItsTurn) {
  AnsweringProcess process(by_shell(kEcho));
  for (const char* line : {"one", "two", "three"}) {
    EXPECT_EQ(process.ask(line, seconds(10), nullptr), std::string("heard ") + line);
  }
}

TEST(AnsweringProcess, TwoLinesAtOnceAreTwoAnswers) {
  AnsweringProcess process(by_shell("read line; echo a; echo b; read line; sleep 5"));
  EXPECT_EQ(process.ask("x", seconds(10), nullptr), "a");
  EXPECT_EQ(process.ask("y", seconds(10), nullptr), "b");
}

TEST(AnsweringProcess, IsGoneBehindIt) {
  { AnsweringProcess process(by_shell(kEcho)); }
  EXPECT_FALSE(has_child());
  { AnsweringProcess deaf(by_shell("trap '' TERM HUP INT; exec sleep 100")); }
  EXPECT_FALSE(has_child());
}

TEST(AnsweringProcess, OneThatHasEndedLeavesItsLastWords) {
  std::signal(SIGPIPE, SIG_DFL);  // whoever started this one may ignore it
  AnsweringProcess process(by_shell("read line; echo 'no such device' >&2; exit 3"));
  EXPECT_THAT(problem_of(process, "go"), HasSubstr("has ended: no such device"));
  EXPECT_THAT(problem_of(process, "and again"), HasSubstr("has ended"));  // and no signal ends this one
}

TEST(AnsweringProcess, OneThatIsSilentIsNotWaitedForForEver) {
  AnsweringProcess process(by_shell("exec sleep 100"));
  EXPECT_THAT(problem_of(process, "go", milliseconds(100)), HasSubstr("has not answered for 100 ms"));
}

TEST(AnsweringProcess, AnInterruptionEndsTheWaiting) {
  AnsweringProcess process(by_shell("exec sleep 100"));
  EXPECT_THROW(process.ask("go", seconds(100), [] { return true; }), InterruptedError);
}

}  // namespace
}  // namespace jitterscope
