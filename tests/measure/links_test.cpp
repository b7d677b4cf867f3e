// Links between ranks: whose copies are timed, and what rates their times mean.
#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

using testing::ElementsAre;

class SomeCopy final : public Workload {
 public:
  explicit SomeCopy(int kernels) : kernels_(kernels) {}
  void run(NativeQueue queue) override {
    for (int i = 0; i < kernels_; ++i) launch_kernel(queue);
  }

 private:
  int kernels_;
};

// Each copy takes as many kernels of 100 µs as it has here.
class SomePeers final : public PeerMemory {
 public:
  explicit SomePeers(std::vector<int>& asked) : asked_(asked) {}
  std::unique_ptr<Workload> copy_from(int peer, PeerCopyBy by, bool both_ways) override {
    asked_.push_back(peer);
    const bool is_engine = by == PeerCopyBy::copy_engine;
    return std::make_unique<SomeCopy>(both_ways ? (is_engine ? 1 : 3) : (is_engine ? 2 : 4));
  }
  std::string way_to(int peer) const override { return "over " + std::to_string(peer); }

 private:
  std::vector<int>& asked_;
};

class LinkedDevice final : public ScriptedDevice {
 public:
  using ScriptedDevice::ScriptedDevice;
  std::unique_ptr<PeerMemory> open_to_peers(Ranks&, Bytes size) override {
    opened = size;
    return std::make_unique<SomePeers>(asked);
  }
  Bytes opened;
  std::vector<int> asked;  ///< peers, a copy each
};

// Notes how many copies were asked for at each meeting.
class SecondOfThree final : public Ranks {
 public:
  explicit SecondOfThree(const LinkedDevice& device) : device_(device) {}
  int rank() const override { return 1; }
  int count() const override { return 3; }
  std::vector<std::string> exchange(const std::string& own) override {
    copies.push_back(device_.asked.size());
    return {others.empty() ? own : others, own, rank_two.empty() ? own : rank_two};
  }
  std::vector<std::size_t> copies;
  std::string others, rank_two;  ///< what ranks 0 and 2 say in place of the same as this one

 private:
  const LinkedDevice& device_;
};

TEST(Links, AreMeasuredToEachOtherRankInTurn) {
  LinkedDevice device(with_true_slopes({}));
  Session session(device);
  SecondOfThree ranks(device);
  const std::vector<LinkRates> rates = measure_links(session, ranks);
  EXPECT_THAT(device.asked, ElementsAre(0, 0, 2, 2, 0, 0, 2, 2));
  EXPECT_THAT(ranks.copies, ElementsAre(0, 0, 4, 4, 5, 6, 6, 6, 7, 8))
      << "a rank copies only in its turn, then in those of its pairs: 0 and 1, 0 and 2, 1 and 2";
  ASSERT_EQ(rates.size(), 2u);
  EXPECT_EQ(rates[1].peer, 2);
  EXPECT_EQ(rates[1].way, "over 2");
  const double one = static_cast<double>(device.opened.value()) / 100e-6;
  EXPECT_EQ(device.opened.value() % 32, 0);
  EXPECT_NEAR(rates[0].by_copy_engine / one, 1 / 2.0, 1e-3);
  EXPECT_NEAR(rates[0].by_copy_engine_both_ways / one, 3 * 0.5 / 1.0, 5e-3)
      << "half a buffer by each, as these three ranks say the same";
  EXPECT_NEAR(rates[0].by_kernel / one, 1 / 4.0, 1e-3);
  EXPECT_NEAR(rates[0].by_kernel_both_ways / one, 3 * 0.5 / 3.0, 5e-3);
}

// A copy takes the whole buffer of both sides.
TEST(Links, AreMeasuredWithWhatFitsOnEachRank) {
  LinkedDevice device(with_true_slopes({}));
  Session session(device);
  SecondOfThree ranks(device);
  ranks.others = "4096";
  measure_links(session, ranks);
  EXPECT_EQ(device.opened, Bytes(4096));
  ranks.others = "much";
  EXPECT_THROW(measure_links(session, ranks), FailedError);
  ranks.others = "4096";
  ranks.rank_two = "-1e9";
  EXPECT_THROW(measure_links(session, ranks), FailedError);
}

TEST(Links, ADeviceWithoutLinksSaysSo) {
  Laboratory laboratory;
  LinkedDevice other;
  SecondOfThree ranks(other);
  EXPECT_THROW(measure_links(laboratory.session, ranks), UsageError);
}

}  // namespace
}  // namespace jitterscope::scripted
