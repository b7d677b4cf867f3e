#include "worker/neighbour_process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using explain::CompanionWork;

// Orders that are all there from the beginning; answers as they are given.
class Talk {
 public:
  explicit Talk(const std::vector<LoadOrder>& orders) {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    for (const LoadOrder& order : orders) say(write_load_order(order));
  }
  ~Talk() {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  void say(const std::string& line) const {
    EXPECT_EQ(::write(ends_[1], (line + '\n').data(), line.size() + 1),
              static_cast<ssize_t>(line.size() + 1));
  }
  void end() {
    ::close(ends_[1]);
    ends_[1] = -1;
  }
  std::vector<std::int64_t> carry_out(
      const std::string& device, const std::function<bool()>& interrupted = [] { return false; }) {
    std::vector<std::int64_t> launches;
    LineReader orders(ends_[0]);
    carry_out_load(
        {.device = device}, orders,
        [&](const std::string& line) { launches.push_back(read_load_answer(line).launches); }, interrupted);
    return launches;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST(CarryOutLoad, WorksFromOneOrderToTheNext) {
  Talk talk({{.work = CompanionWork::kernels}, {}, {.work = CompanionWork::memory, .duty = 0.5}, {}});
  talk.end();
  const std::vector<std::int64_t> launches = talk.carry_out("virtual:quiet");
  ASSERT_EQ(launches.size(), 5u);  // the first says that the device is open
  EXPECT_EQ(launches[0], 0);
  EXPECT_GT(launches[1], 0);
  EXPECT_EQ(launches[2], launches[1]);
  EXPECT_GT(launches[3], launches[2]);
  EXPECT_EQ(launches[4], launches[3]);
}

TEST(CarryOutLoad, GoesOnBetweenOrders) {
  Talk talk({{.work = CompanionWork::kernels, .duty = 0.5}});
  int asked = 0;
  // Asked once for each stretch.
  const auto interrupted = [&] {
    if (++asked == 50) talk.say(write_load_order({}));
    return asked > 100;
  };
  const std::vector<std::int64_t> launches = talk.carry_out("virtual:quiet", interrupted);
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_GT(launches[2], 20 * launches[1]);
}

TEST(CarryOutLoad, RunsOnTheHostToo) {
  Talk talk({{.work = CompanionWork::kernels}, {.work = CompanionWork::memory}, {}});
  talk.end();
  EXPECT_GT(talk.carry_out("cpu").back(), 1);
}

TEST(CarryOutLoad, ThrowsWhatItIsToldWrongly) {
  Talk talk({});
  talk.say("faster!");
  EXPECT_THROW(talk.carry_out("virtual:quiet"), UsageError);
  EXPECT_THROW(Talk({}).carry_out("virtual:none"), UsageError);
}

}  // namespace
}  // namespace jitterscope
