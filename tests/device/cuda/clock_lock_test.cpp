// The clock lock against a stand-in NVML; never against a GPU.
#include "device/cuda/clock_lock.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "jitterscope/error.hpp"
#include "support/stand_in_nvml.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

class ClockLockTest : public testing::Test {
 protected:
  void SetUp() override {
    state_file_ = fs::temp_directory_path() / ("stand_in_nvml." + std::to_string(getpid()));
    fs::remove(state_file_);
    setenv("JITTERSCOPE_NVML", STAND_IN_NVML_LIBRARY, 1);
    setenv(stand_in::kStateFile, state_file_.c_str(), 1);
  }
  void TearDown() override {
    close(output_);
    fs::remove(state_file_);
    for (const char* name : {stand_in::kNoPermission, stand_in::kMissing, "HELPER_GUARDIAN"}) unsetenv(name);
  }

  /// Starts the helper in a process group of its own and gives the first line that it prints.
  std::string start(const char* request, const char* end) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    helper_ = fork();
    if (helper_ == 0) {
      setpgid(0, 0);
      dup2(ends[1], STDOUT_FILENO);
      execl(CLOCK_LOCK_HELPER, CLOCK_LOCK_HELPER, "lock", request, end, nullptr);
      _exit(127);
    }
    close(ends[1]);
    close(output_);
    output_ = ends[0];  // stays open, so that the helper's later lines do not end it by SIGPIPE
    std::string line;
    for (char c = 0; read(output_, &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }
  int wait_for_helper() const {
    int status = 0;
    waitpid(helper_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  std::string state() const {
    std::ifstream file(state_file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The guardian acts after the helper's end, so the state is waited for.
  std::string state_once_restored() const {
    for (int i = 0; i < 1000 && !state().ends_with("reset\n"); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return state();
  }
  pid_t helper() const { return helper_; }

 private:
  fs::path state_file_;
  pid_t helper_ = 0;
  int output_ = -1;
};

constexpr const char* kLockedAndRestored = "lock 1500 1500\nreset\n";

TEST_F(ClockLockTest, NormalExitRestoresOnce) {
  EXPECT_EQ(start("1500", "return"), "locked 1500");
  EXPECT_EQ(wait_for_helper(), 0);
  EXPECT_EQ(state(), kLockedAndRestored);
}

TEST_F(ClockLockTest, AnExceptionRestoresOnce) {
  EXPECT_EQ(start("1500", "throw"), "locked 1500");
  EXPECT_EQ(wait_for_helper(), 70);
  EXPECT_EQ(state(), kLockedAndRestored);
}

TEST_F(ClockLockTest, ASignalRestores) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    SetUp();
    EXPECT_EQ(start("1500", "wait"), "locked 1500");
    EXPECT_EQ(state(), "lock 1500 1500\n");
    // To the whole group, as a terminal sends it: the guardian is not in it.
    ASSERT_EQ(kill(-helper(), number), 0);
    EXPECT_EQ(wait_for_helper(), -number);
    EXPECT_EQ(state_once_restored(), kLockedAndRestored);
  }
}

TEST_F(ClockLockTest, ACrashRestores) {
  for (const int number : {SIGKILL, SIGSEGV}) {
    SetUp();
    EXPECT_EQ(start("1500", "wait"), "locked 1500");
    ASSERT_EQ(kill(helper(), number), 0);
    // A sanitizer turns SIGSEGV into an exit status.
    EXPECT_NE(wait_for_helper(), 0);
    EXPECT_EQ(state_once_restored(), kLockedAndRestored);
  }
}

TEST_F(ClockLockTest, BaseAndMaxAreTheGpusOwn) {
  EXPECT_EQ(start("max", "return"), "locked 1980");
  wait_for_helper();
  EXPECT_EQ(start("base", "return"), "locked 1500");
  wait_for_helper();
  EXPECT_EQ(state(), "lock 1980 1980\nreset\nlock 1500 1500\nreset\n");
}

TEST_F(ClockLockTest, WithoutTheRightNothingChanges) {
  setenv(stand_in::kNoPermission, "1", 1);
  const std::string message = start("1500", "return");
  EXPECT_EQ(wait_for_helper(), static_cast<int>(ExitCode::usage));
  EXPECT_NE(message.find("needs root"), std::string::npos) << message;
  EXPECT_NE(message.find("nothing was changed"), std::string::npos) << message;
  EXPECT_EQ(state(), "");
}

TEST_F(ClockLockTest, AGpuThatCannotLockSaysSo) {
  setenv(stand_in::kMissing, "nvmlDeviceSetGpuLockedClocks", 1);
  const std::string message = start("1500", "return");
  EXPECT_EQ(wait_for_helper(), static_cast<int>(ExitCode::usage));
  EXPECT_NE(message.find("Function Not Found"), std::string::npos) << message;
  EXPECT_EQ(state(), "");
}

TEST_F(ClockLockTest, WithoutAGuardianNothingIsLocked) {
  for (const char* guardian : {"/nonexistent/guardian", "/bin/false"}) {
    setenv("HELPER_GUARDIAN", guardian, 1);
    const std::string message = start("1500", "return");
    EXPECT_EQ(wait_for_helper(), static_cast<int>(ExitCode::failed));
    EXPECT_NE(message.find("nothing was locked"), std::string::npos) << message;
    EXPECT_EQ(state(), "");
  }
}

TEST_F(ClockLockTest, ClocksThatDoNotExistAreRefusedWithTheNearest) {
  EXPECT_NE(start("1337", "return").find("the nearest is 1335 MHz"), std::string::npos);
  EXPECT_EQ(wait_for_helper(), static_cast<int>(ExitCode::usage));
  EXPECT_NE(start("9000", "return").find("the nearest is 1980 MHz (it has 345 to 1980)"), std::string::npos);
  EXPECT_EQ(wait_for_helper(), static_cast<int>(ExitCode::usage));
  for (const char* request : {"", "fast", "-5", "1500W", "99999999999999"}) {
    EXPECT_NE(start(request, "return").find("base, max or a number of MHz"), std::string::npos) << request;
    EXPECT_EQ(wait_for_helper(), static_cast<int>(ExitCode::usage));
  }
  EXPECT_EQ(state(), "");
}

TEST_F(ClockLockTest, AProgramThatIsNotTheToolCannotLock) {
  EXPECT_THROW(cuda::lock_gpu_clock(stand_in::kUuid, "1500"), UsageError);
  EXPECT_EQ(state(), "");
}

}  // namespace
}  // namespace jitterscope
