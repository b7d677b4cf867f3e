#include "base/files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

namespace jitterscope {
namespace {

class LineReaders : public testing::Test {
 protected:
  LineReaders() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~LineReaders() override {
    ::close(ends_[0]);
    end();
  }
  void write(const std::string& text) const {
    EXPECT_EQ(::write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void end() {
    if (ends_[1] >= 0) ::close(ends_[1]);
    ends_[1] = -1;
  }
  LineReader reader() const { return LineReader(ends_[0]); }

 private:
  std::array<int, 2> ends_{};
};

TEST_F(LineReaders, LinesComeOneByOneHoweverTheyWereWritten) {
  LineReader lines = reader();
  write("one\ntwo\nthr");
  EXPECT_EQ(lines.next(1000), "one");
  EXPECT_EQ(lines.next(0), "two");
  EXPECT_EQ(lines.next(0), std::nullopt);
  write("ee\n");
  EXPECT_EQ(lines.next(1000), "three");
  EXPECT_FALSE(lines.is_over());
}

TEST_F(LineReaders, TheLastOneMayLackItsEnd) {
  LineReader lines = reader();
  write("one\n\ntwo");
  end();
  EXPECT_EQ(lines.next(1000), "one");
  EXPECT_EQ(lines.next(1000), "");
  while (!lines.is_over()) {
    const auto line = lines.next(1000);
    EXPECT_EQ(line.value_or("two"), "two");
  }
  EXPECT_EQ(lines.next(0), std::nullopt);
}

TEST_F(LineReaders, TheRestIsAllThatIsLeft) {
  LineReader lines = reader();
  write("{\n \"a\": 1\n}\n");
  end();
  EXPECT_EQ(lines.next(1000), "{");
  EXPECT_EQ(lines.rest(), " \"a\": 1\n}\n");
  EXPECT_TRUE(lines.is_over());
}

}  // namespace
}  // namespace jitterscope
