#include "output/progress.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <limits>

#include "output/text.hpp"

namespace jitterscope {
namespace {

Progress sample_progress() {
  Progress progress;
  progress.operation = "conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop";
  progress.rounds = 12;
  progress.median = microseconds(127.9);
  progress.precision = 0.008;
  progress.clock = megahertz(1716);
  progress.time_left = seconds(2.13);
  return progress;
}

TEST(ProgressLine, TheOperationGivesWayFirst) {
  EXPECT_EQ(progress_line(sample_progress(), {3, 35}, 200),
            "[3/35] conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop warm burst "
            "128 µs ± 0.8 %, 1716 MHz, 2.1 s left");
  EXPECT_EQ(progress_line(sample_progress(), {3, 35}, 79),
            "[3/35] conv2d:n=32,c=64,hw=56,… warm burst 128 µs ± 0.8 %, 1716 MHz, 2.1 s left");
}

TEST(ProgressLine, ATimeOfOneOfSeveralCallsSaysHowManyThereAre) {
  EXPECT_EQ(progress_line(sample_progress(), {1, 1, 12}, 200),
            "[1/1] conv2d:n=32,c=64,hw=56,k=64,rs=3,pad=1,dtype=f16,layout=nhwc,direction=fprop warm burst "
            "12× 128 µs ± 0.8 %, 1716 MHz, 2.1 s left");
}

TEST(ProgressLine, NeverWiderThanTheTerminal) {
  for (std::size_t width = 0; width < 160; ++width) {
    EXPECT_LE(display_width(progress_line(sample_progress(), {3, 35}, width)), width);
  }
}

TEST(ProgressLine, BeforeTheFirstRound) {
  Progress progress;
  progress.operation = "a\nb";
  progress.precision = std::numeric_limits<double>::infinity();
  EXPECT_EQ(progress_line(progress, {1, 1}, 80), "[1/1] a b");
}

// A terminal of 60 columns whose other end is read by the test.
class ProgressOnTerminal : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("CI");
    reader_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    ASSERT_GE(reader_, 0);
    ASSERT_EQ(::grantpt(reader_) | ::unlockpt(reader_), 0);
    const int terminal = ::open(::ptsname(reader_), O_RDWR | O_NOCTTY);
    ASSERT_GE(terminal, 0);
    winsize size{};
    size.ws_col = 60;
    ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &size), 0);
    stream_ = ::fdopen(terminal, "w");
    ::fcntl(reader_, F_SETFL, O_NONBLOCK);
  }
  void TearDown() override {
    std::fclose(stream_);
    ::close(reader_);
  }
  std::string seen() const {
    char buffer[4096];
    const ssize_t size = ::read(reader_, buffer, sizeof buffer);
    return size > 0 ? std::string(buffer, static_cast<std::size_t>(size)) : std::string();
  }

  int reader_ = -1;
  std::FILE* stream_ = nullptr;
  Nanoseconds time_;
};

TEST_F(ProgressOnTerminal, RewritesOneLineTenTimesASecondAndTakesItAway) {
  ProgressLine line(stream_, [this] { return time_; });
  line.show(sample_progress(), {3, 35});
  EXPECT_EQ(seen(), "\r" + progress_line(sample_progress(), {3, 35}, 59) + "\x1b[K");
  time_ = milliseconds(99);
  line.show(sample_progress(), {3, 35});
  EXPECT_EQ(seen(), "");
  time_ = milliseconds(100);
  line.show(sample_progress(), {4, 35});
  EXPECT_TRUE(seen().starts_with("\r[4/35] "));
  line.clear();
  EXPECT_EQ(seen(), "\r\x1b[K");
  line.clear();
  EXPECT_EQ(seen(), "");
}

TEST_F(ProgressOnTerminal, DumbTerminalsAndBuildLogsGetPlainLines) {
  for (const char* variable : {"TERM", "CI"}) {
    ::setenv(variable, "dumb", 1);
    ProgressLine line(stream_, [this] { return time_; });
    line.show(sample_progress(), {1, 35});
    EXPECT_EQ(seen(), "[1/35] " + sample_progress().operation + "\r\n");
    ::setenv("TERM", "xterm", 1);
  }
  ::unsetenv("CI");
}

TEST(ProgressInAFile, ALineWhenAnOperationBeginsAtMostEachTenSeconds) {
  std::FILE* file = std::tmpfile();
  Nanoseconds time;
  {
    ProgressLine line(file, [&] { return time; });
    Progress progress;
    progress.operation = "fill:count=1";
    line.show(progress, {1, 9});
    line.show(progress, {1, 9});
    time = seconds(9);
    line.show(progress, {2, 9});
    time = seconds(10);
    line.show(progress, {3, 9});
    time = seconds(30);
    line.show(progress, {3, 9});
  }
  std::rewind(file);
  char buffer[256];
  const std::size_t size = std::fread(buffer, 1, sizeof buffer, file);
  std::fclose(file);
  EXPECT_EQ(std::string(buffer, size), "[1/9] fill:count=1\n[3/9] fill:count=1\n");
}

TEST(ProgressInAFile, OtherTextEachTenSecondsAlsoAtOnePosition) {
  std::FILE* file = std::tmpfile();
  Nanoseconds time;
  {
    ProgressLine line(file, [&] { return time; });
    line.show(std::string("spin, 0 %"), {1, 2});
    time = seconds(9);
    line.show(std::string("spin, 50 %"), {1, 2});
    time = seconds(10);
    line.show(std::string("spin,\n60 %"), {1, 2});
  }
  std::rewind(file);
  char buffer[256];
  const std::size_t size = std::fread(buffer, 1, sizeof buffer, file);
  std::fclose(file);
  EXPECT_EQ(std::string(buffer, size), "[1/2] spin, 0 %\n[1/2] spin, 60 %\n");
}

}  // namespace
}  // namespace jitterscope
