// A second process beside a study: real ones, and that none is left whatever ends the first.
#include "worker/neighbour_process.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <thread>

#include "base/files.hpp"
#include "cli/command.hpp"

namespace jitterscope {
namespace {

using explain::CompanionWork;
using explain::NeighbourLostError;
using testing::HasSubstr;
using testing::IsEmpty;

// What /proc tells of a process, behind its name in brackets: state, parent, …
std::vector<std::string> status_of(const std::string& pid) {
  const std::string text = file_text("/proc/" + pid + "/stat").text;  // none where it ends meanwhile
  std::istringstream words(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  return {std::istream_iterator<std::string>(words), {}};
}

bool runs(const std::string& pid) {
  const std::vector<std::string> status = status_of(pid);
  return !status.empty() && status[0] != "Z";
}

std::vector<std::string> children_of(pid_t parent) {
  std::vector<std::string> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::vector<std::string> status = status_of(name);
    if (status.size() > 1 && status[0] != "Z" && status[1] == std::to_string(parent))
      children.push_back(name);
  }
  return children;
}

bool soon(const std::function<bool()>& holds) {
  for (int i = 0; i < 600; ++i) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

// Of all its threads, in the kernel's ticks of 10 ms.
long processor_time(const std::string& pid) {
  constexpr std::size_t kUser = 11, kSystem = 12;
  const std::vector<std::string> status = status_of(pid);
  return status.size() > kSystem ? std::stol(status[kUser]) + std::stol(status[kSystem]) : 0;
}

std::unique_ptr<explain::Neighbour> start(const std::string& device) {
  return start_neighbour_process(JITTERSCOPE_EXECUTABLE, device, nullptr);
}

TEST(NeighbourProcess, WorksWhenItIsToldToAndIsGoneBehindIt) {
  std::string pid;
  {
    const auto neighbour = start("cpu");
    const std::vector<std::string> children = children_of(::getpid());
    ASSERT_EQ(children.size(), 1u);
    pid = children.front();
    neighbour->begin({CompanionWork::kernels, 1.0});
    const long before = processor_time(pid);
    EXPECT_TRUE(soon([&] { return processor_time(pid) > before + 5; }));
    neighbour->rest();
    neighbour->begin({CompanionWork::memory, 0.25});
    neighbour->rest();
    EXPECT_TRUE(runs(pid));
  }
  EXPECT_FALSE(runs(pid));
  EXPECT_THAT(children_of(::getpid()), IsEmpty());
}

TEST(NeighbourProcess, RestsWhenItIsToldTo) {
  const auto neighbour = start("cpu");
  const std::string pid = children_of(::getpid()).at(0);
  neighbour->begin({CompanionWork::kernels, 1.0});
  neighbour->rest();
  // OpenMP's threads wait for a moment before they sleep.
  EXPECT_TRUE(soon([&] {
    const long before = processor_time(pid);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return processor_time(pid) - before <= 1;
  }));
}

TEST(NeighbourProcess, OneThatWasKilledIsSaidToBeLost) {
  const auto neighbour = start("cpu");
  ::kill(std::stoi(children_of(::getpid()).at(0)), SIGKILL);
  EXPECT_THROW(neighbour->begin({CompanionWork::kernels, 1.0}), NeighbourLostError);
  EXPECT_THROW(neighbour->rest(), NeighbourLostError);
  EXPECT_THAT(children_of(::getpid()), IsEmpty());
}

TEST(NeighbourProcess, WhatCannotBeOpenedThereIsSaid) {
  try {
    start("virtual:none");
    FAIL();
  } catch (const NeighbourLostError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no preset 'none'"));
  }
  EXPECT_THROW(start_neighbour_process("/nowhere", "cpu", nullptr), NeighbourLostError);
  EXPECT_THROW(start_neighbour_process("/bin/true", "cpu", nullptr), NeighbourLostError);
  EXPECT_THAT(children_of(::getpid()), IsEmpty());
}

// A study that this test started, with the process beside it.
class RunningStudy {
 public:
  explicit RunningStudy(const std::string& output) {
    pid_ = ::fork();
    if (pid_ == 0) {
      const int sink = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      ::dup2(sink, STDOUT_FILENO);
      ::dup2(sink, STDERR_FILENO);
      ::setpgid(0, 0);
      ::execl(JITTERSCOPE_EXECUTABLE, JITTERSCOPE_EXECUTABLE, "explain", "add:count=1Ki", "--device", "cpu",
              "--factors", "neighbour_kernels", "--max-time", "20", static_cast<char*>(nullptr));
      ::_exit(99);
    }
    // It rests until a loop begins, and the first one is begun at once.
    soon([&] {
      for (const std::string& child : children_of(pid_)) {
        if (processor_time(child) > 20) neighbour_ = child;
      }
      return !neighbour_.empty();
    });
  }
  ~RunningStudy() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  RunningStudy(const RunningStudy&) = delete;
  RunningStudy& operator=(const RunningStudy&) = delete;

  pid_t pid() const { return pid_; }
  const std::string& neighbour() const { return neighbour_; }
  int exit_code() const {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
  std::string neighbour_;
};

class StudyWithNeighbour : public test::WithFolder {};

TEST_F(StudyWithNeighbour, LeavesNoneWhenItIsKilled) {
  const RunningStudy study(path());
  ASSERT_FALSE(study.neighbour().empty());
  ::kill(study.pid(), SIGKILL);
  EXPECT_TRUE(soon([&] { return !runs(study.neighbour()); }));
}

TEST_F(StudyWithNeighbour, SaysWhatIsKnownWhenATerminalInterruptsBoth) {
  const RunningStudy study(path());
  ASSERT_FALSE(study.neighbour().empty());
  ::kill(-study.pid(), SIGINT);
  EXPECT_EQ(study.exit_code(), 130);
  EXPECT_FALSE(runs(study.neighbour()));
  EXPECT_THAT(text(), HasSubstr("plain loops"));
}

TEST_F(StudyWithNeighbour, GoesOnWhenTheOtherIsKilled) {
  const RunningStudy study(path());
  ASSERT_FALSE(study.neighbour().empty());
  ::kill(std::stoi(study.neighbour()), SIGKILL);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_TRUE(runs(std::to_string(study.pid())));
  ::kill(study.pid(), SIGINT);
  EXPECT_EQ(study.exit_code(), 130);
  EXPECT_THAT(test::without_breaks(text()), HasSubstr("another process has ended"));
}

TEST(ExplainNeighbour, IsNotOfferedOnASimulatedGpu) {
  const test::Outcome outcome = test::run_tool(
      "explain add:count=1Mi --device virtual:quiet --max-time 5 --factors neighbour_kernels,neighbour_memory");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.errors;
  EXPECT_THAT(test::on_one_line(outcome.output),
              HasSubstr("- neighbour_kernels, neighbour_memory: a simulated GPU lives in one process"));
}

}  // namespace
}  // namespace jitterscope
