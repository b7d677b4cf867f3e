#include "selftest/fresh_process.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "jitterscope/error.hpp"

namespace jitterscope::selftest {
namespace {

// A script in place of the tool.
class FreshProcess : public testing::Test {
 protected:
  ~FreshProcess() override { ::unlink(path_.c_str()); }

  TimeEstimate measure(const std::string& script) {
    std::ofstream(path_) << "#!/bin/sh\n" + script + "\n";
    ::chmod(path_.c_str(), 0700);
    return fresh_process(path_, "cuda:1", {})(Operation(Spin{.amount = 1000}), 5);
  }
  std::string failure(const std::string& script) {
    try {
      measure(script);
    } catch (const FailedError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

 private:
  std::string path_ = testing::TempDir() + "fresh_process_" + std::to_string(::getpid());
};

constexpr const char* kDocument =
    R"(echo '{"results":[{"measurements":[{"time":{"median_seconds":2e-6,"low_seconds":1e-6,"high_seconds":3e-6,"rounds":12}}]}]}')";

TEST_F(FreshProcess, ReadsTheEstimate) {
  const TimeEstimate time = measure(kDocument);
  EXPECT_DOUBLE_EQ(time.median.value(), 2000);
  EXPECT_DOUBLE_EQ(time.low.value(), 1000);
  EXPECT_DOUBLE_EQ(time.high.value(), 3000);
  EXPECT_EQ(time.rounds, 12);
}

TEST_F(FreshProcess, SaysWhatIsMeasured) {
  EXPECT_EQ(failure("echo jitterscope: $* >&2; exit 2"),
            "a second process failed: run spin:ns=1000 --device cuda:1 --load burst --cache warm "
            "--time-limit 3 --no-ceilings --seed 5 --json -");
}

TEST_F(FreshProcess, AnImpreciseTimeIsATime) {
  EXPECT_DOUBLE_EQ(measure(std::string(kDocument) + "; exit 4").median.value(), 2000);
}

TEST_F(FreshProcess, ItsOwnWordsArePassedOn) {
  EXPECT_EQ(failure("printf '[1/1] spin\\njitterscope: no GPU\\n' >&2; exit 3"),
            "a second process failed: no GPU");
  EXPECT_EQ(failure("exit 9"), "a second process failed: it ended with exit code 9");
  EXPECT_EQ(failure("kill -9 $$"), "a second process failed: it was ended by a signal");
  EXPECT_EQ(failure(R"(echo '{"results":[{"failure":"out of memory"}]}'; exit 5)"),
            "a second process failed: out of memory");
  EXPECT_THAT(failure("echo '{'"), testing::HasSubstr("cannot be read"));
}

}  // namespace
}  // namespace jitterscope::selftest
