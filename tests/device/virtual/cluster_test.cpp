// Collectives of a simulated cluster, its ranks as threads.
#include <gmock/gmock.h>

#include "device/collective.hpp"
#include "device/virtual/gpus.hpp"
#include "device/virtual/rank_threads.hpp"
#include "jitterscope/error.hpp"
#include "measure/machine.hpp"
#include "measure/session.hpp"
#include "measure/verify.hpp"
#include "operation/kinds_collective.hpp"

namespace jitterscope::virtual_gpu {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double kBandwidth = 100e9;
constexpr Nanoseconds kLatency = microseconds(10);

physics::Parameters plain_cluster(std::int64_t ranks) {
  physics::Parameters gpu = plain_gpu();
  gpu.cluster = physics::Cluster{.ranks = ranks, .links = {{64, kLatency, kBandwidth}}};
  return gpu;
}

/// A rank's device with a queue, and what its GPU ran.
struct RankBench {
  RankBench(const physics::Parameters& gpu, ThreadRanks& ranks)
      : device(make_virtual_device(gpu, 1)), count(ranks.count()) {
    device->join(ranks);
    device->on_collective = [this](const CollectiveTimes& times) { ran.push_back(times); };
    queue = device->make_queue();
  }
  std::unique_ptr<PreparedOperation> prepare(std::string_view text, std::uint64_t seed = 1) const {
    return device->prepare(among_ranks(Operation::parse(text), count), {.seed = seed});
  }

  std::unique_ptr<VirtualDevice> device;
  int count;
  std::unique_ptr<Queue> queue;
  std::vector<CollectiveTimes> ran;
};

// 1e6 bytes at 100 GB/s.
constexpr std::string_view kMegabyte = "all_reduce:count=250k";
constexpr Nanoseconds kTransfer = kLatency + microseconds(10);

TEST(Cluster, AllEndTogetherOnceTheLastIsThere) {
  std::vector<std::vector<CollectiveTimes>> ran(2);
  run_ranks(2, [&](ThreadRanks& ranks) {
    RankBench bench(plain_cluster(2), ranks);
    const auto reduce = bench.prepare(kMegabyte);
    for (int i = 0; i < 3; ++i) {
      if (ranks.rank() == i % 2) bench.device->idle(microseconds(300));
      bench.queue->launch(*reduce);
      bench.queue->wait();
    }
    ran[static_cast<std::size_t>(ranks.rank())] = bench.ran;
  });
  ASSERT_EQ(ran[0].size(), 3u);
  ASSERT_EQ(ran[1].size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const CollectiveTimes &first = ran[0][i], &second = ran[1][i];
    EXPECT_EQ(first.end, second.end);
    EXPECT_EQ(first.last_arrival, std::max(first.arrival, second.arrival));
    EXPECT_NEAR((first.end - first.last_arrival).value(), kTransfer.value(), 1e-3);
    const Nanoseconds late = i % 2 == 0 ? first.arrival - second.arrival : second.arrival - first.arrival;
    EXPECT_NEAR(late.value(), 300e3, 1.0) << i;
  }
}

// Factors of nccl-tests: an all-gather of two ranks moves half of the larger buffer, an all-reduce of four
// three halves; latencies are those of one and two doublings.
TEST(Cluster, TransfersFollowBytesFactorAndLatency) {
  for (const auto& [text, ranks, expected] :
       {std::tuple("all_gather:count=250k", 2, 10e3 + 5e3), std::tuple(kMegabyte.data(), 4, 20e3 + 15e3)}) {
    run_ranks(ranks, [&](ThreadRanks& threads) {
      RankBench bench(plain_cluster(threads.count()), threads);
      const auto work = bench.prepare(text);
      bench.queue->launch(*work);
      bench.queue->wait();
      ASSERT_EQ(bench.ran.size(), 1u);
      EXPECT_NEAR((bench.ran[0].end - bench.ran[0].last_arrival).value(), expected, 1e-3) << text;
    });
  }
}

// Ranks 0 and 1 are done before rank 2 comes, which then sends to rank 0; a send takes one link's time.
TEST(Cluster, ASendWaitsForItsTwoRanksAlone) {
  std::vector<std::vector<CollectiveTimes>> ran(3);
  run_ranks(3, [&](ThreadRanks& ranks) {
    RankBench bench(plain_cluster(3), ranks);
    const auto first = bench.prepare("send:count=250k,root=0,to=1"),
               second = bench.prepare("send:count=250k,root=2,to=0");
    if (ranks.rank() == 2) bench.device->idle(microseconds(300));
    bench.queue->launch(*first);
    bench.queue->launch(*second);
    bench.queue->wait();
    ran[static_cast<std::size_t>(ranks.rank())] = bench.ran;
  });
  ASSERT_EQ(ran[0].size(), 2u);
  ASSERT_EQ(ran[1].size(), 1u) << "it has no part in the second";
  ASSERT_EQ(ran[2].size(), 1u);
  EXPECT_EQ(ran[0][0].end, ran[1][0].end);
  EXPECT_NEAR((ran[0][0].end - ran[0][0].last_arrival).value(), kTransfer.value(), 1e-3);
  EXPECT_LT((ran[0][0].last_arrival - ran[0][0].arrival).value(), 300e3 / 2) << "rank 2 is not waited for";
  EXPECT_EQ(ran[0][1].end, ran[2][0].end);
  EXPECT_GT((ran[0][1].last_arrival - ran[0][1].arrival).value(), 300e3 / 2) << "here it is";
}

TEST(Cluster, NoiseIsTheSameOnAllRanksAndNotTheSameEachTime) {
  std::vector<std::vector<CollectiveTimes>> ran(3);
  run_ranks(3, [&](ThreadRanks& ranks) {
    physics::Parameters gpu = plain_cluster(3);
    gpu.cluster->link_noise = 0.05;
    RankBench bench(gpu, ranks);
    const auto reduce = bench.prepare(kMegabyte);
    for (int i = 0; i < 4; ++i) bench.queue->launch(*reduce);
    bench.queue->wait();
    ran[static_cast<std::size_t>(ranks.rank())] = bench.ran;
  });
  ASSERT_EQ(ran[0].size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ran[0][i].end, ran[1][i].end);
    EXPECT_EQ(ran[0][i].end, ran[2][i].end);
  }
  EXPECT_NE((ran[0][1].end - ran[0][1].last_arrival), (ran[0][2].end - ran[0][2].last_arrival));
}

TEST(Cluster, ARecordingIsExchangedOnce) {
  run_ranks(2, [&](ThreadRanks& ranks) {
    RankBench bench(plain_cluster(2), ranks);
    const auto reduce = bench.prepare(kMegabyte);
    const auto recording =
        bench.queue->record([&](Queue& recorder) { recorder.launch_in_a_row(*reduce, 500); });
    const int before = ranks.exchanges;
    bench.queue->replay(*recording);
    bench.queue->wait();
    EXPECT_EQ(ranks.exchanges, before + 1);
    ASSERT_EQ(bench.ran.size(), 500u);
    // plain_gpu's gap in recordings.
    EXPECT_NEAR((bench.ran[499].end - bench.ran[0].end).value(), 499 * (kTransfer.value() + 500), 0.1);
  });
}

TEST(Cluster, AHeldQueueMeetsOnceItIsReleased) {
  run_ranks(2, [&](ThreadRanks& ranks) {
    RankBench bench(plain_cluster(2), ranks);
    const auto reduce = bench.prepare(kMegabyte);
    const int before = ranks.exchanges;
    bench.queue->hold();
    const Mark first = bench.queue->mark();
    for (int i = 0; i < 20; ++i) bench.queue->launch(*reduce);
    const Mark last = bench.queue->mark();
    // One looks at its sensors meanwhile, the other does not: that must not make them meet.
    if (ranks.rank() == 1) bench.device->read_sensors();
    EXPECT_EQ(ranks.exchanges, before);
    bench.device->idle(microseconds(100.0 * (1 + ranks.rank())));
    bench.queue->release();
    bench.queue->wait();
    EXPECT_EQ(ranks.exchanges, before + 1);
    EXPECT_GE(bench.queue->elapsed(first, last).value(), 20 * kTransfer.value());
  });
}

// On the GPU once for each launch, a replay as a whole; so slopes do not see it.
TEST(Cluster, AStragglerIsLateOnceForEachLaunch) {
  std::vector<std::vector<CollectiveTimes>> ran(2);
  run_ranks(2, [&](ThreadRanks& ranks) {
    physics::Parameters gpu = plain_cluster(2);
    gpu.cluster->stragglers = {{.rank = 1, .size = microseconds(50)}};
    RankBench bench(gpu, ranks);
    const auto reduce = bench.prepare(kMegabyte);
    const auto recording =
        bench.queue->record([&](Queue& recorder) { recorder.launch_in_a_row(*reduce, 10); });
    bench.queue->hold();
    bench.queue->replay(*recording);
    bench.queue->replay(*recording);
    bench.queue->release();
    bench.queue->wait();
    ran[static_cast<std::size_t>(ranks.rank())] = bench.ran;
  });
  ASSERT_EQ(ran[0].size(), 20u);
  for (std::size_t i = 1; i < 20; ++i) {
    EXPECT_NEAR((ran[1][i].arrival - ran[0][i].arrival).value(), i == 10 ? 50e3 : 0.0, 1.0) << i;
  }
}

TEST(Cluster, UnlikeOrdersAreToldWithBoth) {
  const auto run = [](std::string_view first, std::string_view second, std::uint64_t second_seed) {
    run_ranks(2, [&](ThreadRanks& ranks) {
      RankBench bench(plain_cluster(2), ranks);
      const auto work = ranks.rank() == 0 ? bench.prepare(first) : bench.prepare(second, second_seed);
      bench.queue->launch(*work);
      bench.queue->wait();
    });
  };
  const auto expect_told = [&](std::string_view second, std::uint64_t seed, const std::string& words) {
    EXPECT_THAT([&] { run("all_reduce:count=8", second, seed); },
                ThrowsMessage<FailedError>(AllOf(
                    HasSubstr("rank 0 launches all_reduce:count=8,dtype=f32,ranks=2"), HasSubstr(words))));
  };
  expect_told("broadcast:count=8", 1, "rank 1 broadcast:count=8");
  expect_told("all_reduce:count=9", 1, "rank 1 all_reduce:count=9");
  expect_told("all_reduce:count=8", 2, "of seed 2");
}

TEST(Cluster, OneLaunchMoreOnOneRankIsTold) {
  EXPECT_THAT(
      [] {
        run_ranks(2, [&](ThreadRanks& ranks) {
          RankBench bench(plain_cluster(2), ranks);
          const auto work = bench.prepare("all_reduce:count=8");
          for (int i = 0; i < 2 + ranks.rank(); ++i) bench.queue->launch(*work);
          bench.queue->wait();
        });
      },
      ThrowsMessage<FailedError>(AllOf(HasSubstr("rank 0 launches none"), HasSubstr("number 3"))));
}

TEST(Cluster, ClocksApartChangeNothingButReadings) {
  std::vector<Nanoseconds> plain(2), apart(2);
  for (std::vector<Nanoseconds>* found : {&plain, &apart}) {
    run_ranks(2, [&](ThreadRanks& ranks) {
      physics::Parameters gpu = plain_cluster(2);
      if (found == &apart) {
        gpu.cluster->clock_offset = seconds(3);
        gpu.cluster->clock_drift = 1e-4;
      }
      RankBench bench(gpu, ranks);
      const bool is_ahead = bench.device->host_time() > seconds(3);
      EXPECT_EQ(is_ahead, found == &apart && ranks.rank() == 1);
      const auto reduce = bench.prepare(kMegabyte);
      bench.queue->launch(*reduce);
      const Mark first = bench.queue->mark();
      bench.queue->launch(*reduce);
      const Mark last = bench.queue->mark();
      bench.queue->wait();
      (*found)[static_cast<std::size_t>(ranks.rank())] = bench.queue->elapsed(first, last);
    });
  }
  EXPECT_DOUBLE_EQ(apart[0].value(), plain[0].value());
  EXPECT_NEAR(apart[1] / plain[1], 1.0001, 1e-6) << "by its own clock, which is faster";
}

TEST(Cluster, WithoutRanksItSaysHowToStartThem) {
  const auto device = make_virtual_device(plain_cluster(2), 1);
  EXPECT_THAT([&] { device->prepare(Operation::parse("all_reduce:count=8"), {}); },
              ThrowsMessage<UsageError>(AllOf(HasSubstr("--local N"), HasSubstr("mpirun -n N"))));
  const auto alone = make_virtual_device(plain_gpu(), 1, "virtual:plain");
  EXPECT_THAT([&] { alone->prepare(Operation::parse("all_reduce:count=8"), {}); },
              ThrowsMessage<UsageError>(HasSubstr("virtual:plain has no collectives")));
}

TEST(Cluster, AsManyRanksAsItsFileSays) {
  EXPECT_THAT([] { run_ranks(2, [](ThreadRanks& ranks) { RankBench bench(plain_cluster(4), ranks); }); },
              ThrowsMessage<UsageError>(HasSubstr("has 4 ranks, and 2 take part")));
}

// Every kind, out of place and in place: each rank knows what it must get.
TEST(Cluster, EveryRankVerifiesItsOwnResult) {
  for (const char* text :
       {"all_reduce:count=96,dtype=bf16", "all_reduce:count=96,dtype=f16,op=prod",
        "all_reduce:count=96,op=max", "all_reduce:count=96,op=min", "all_reduce:count=96,dtype=bf16,op=avg",
        "all_reduce:count=96,in_place=1", "reduce_scatter:count=96", "reduce_scatter:count=96,in_place=1",
        "all_gather:count=96", "all_gather:count=96,in_place=1", "broadcast:count=96,root=1",
        "broadcast:count=96,root=2,in_place=1", "reduce:count=96,root=2", "reduce:count=96,in_place=1",
        "all_to_all:count=96", "send_recv:count=96", "send:count=96,root=2,to=0",
        "send:count=96,root=0,to=1,in_place=1"}) {
    run_ranks(3, [&](ThreadRanks& ranks) {
      RankBench bench(plain_cluster(3), ranks);
      const auto work = bench.prepare(text);
      const Verification found = verify(*bench.queue, *work);
      EXPECT_TRUE(found.passed) << text << " on rank " << ranks.rank();
      EXPECT_EQ(found.wrong, 0) << text;
      const bool has_result = !std::string_view(text).starts_with("reduce:") || found.checked > 0 ||
                              ranks.rank() != (std::string_view(text).ends_with("root=2") ? 2 : 0);
      EXPECT_TRUE(has_result) << text;
    });
  }
}

TEST(Cluster, ARankWithAWrongElementIsCaught) {
  run_ranks(2, [&](ThreadRanks& ranks) {
    physics::Parameters gpu = plain_cluster(2);
    gpu.cluster->stragglers = {{.rank = 1, .cause = physics::Straggler::Cause::wrong_values}};
    RankBench bench(gpu, ranks);
    const Verification found = verify(*bench.queue, *bench.prepare("all_reduce:count=100k,dtype=bf16"));
    EXPECT_EQ(found.passed, ranks.rank() == 0);
    EXPECT_EQ(found.wrong, ranks.rank()) << "one of 100,000";
  });
}

// Pairs of neighbours at 100 GB/s, and all four by the second link, at 20.
TEST(Cluster, LinksGiveTheRatesOfTheSlowestBetweenTwoRanks) {
  std::vector<std::vector<LinkRates>> rates(4);
  run_ranks(4, [&](ThreadRanks& ranks) {
    physics::Parameters gpu = plain_cluster(4);
    gpu.cluster->links = {{.ranks = 2, .latency = {}, .bandwidth = 100e9},
                          {.ranks = 4, .latency = {}, .bandwidth = 20e9}};
    const auto device = make_virtual_device(gpu, 1);
    device->join(ranks);
    Session session(*device);
    rates[static_cast<std::size_t>(ranks.rank())] = measure_links(session, ranks);
  });
  ASSERT_EQ(rates[2].size(), 3u);
  EXPECT_EQ(rates[2][2].peer, 3);
  EXPECT_NEAR(rates[2][0].by_copy_engine, 20e9, 0.02 * 20e9);
  EXPECT_NEAR(rates[2][2].by_copy_engine, 100e9, 0.02 * 100e9);
  EXPECT_NEAR(rates[2][2].by_copy_engine_both_ways, 200e9, 0.02 * 200e9);
  EXPECT_NEAR(rates[2][2].by_kernel, 100e9, 0.02 * 100e9);
}

// A rank that is asked for elements behind a period gets those of the period again.
TEST(CollectiveValues, RepeatAfterAPeriodAndNotBefore) {
  const Collective collective{.count = 2 * kInputPeriod, .ranks = 2};
  std::int64_t differ = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    const double value = collective_input(collective, {}, 1, i);
    EXPECT_EQ(collective_input(collective, {}, 1, kInputPeriod + i), value);
    differ += collective_input(collective, {}, 1, kInputPeriod - 1 + i) == value ? 0 : 1;
  }
  EXPECT_GT(differ, 900);
}

// Sums in any order are exact, or a right result would count as wrong.
TEST(CollectiveValues, SumsAreExactInTheType) {
  for (const DataType dtype : {DataType::bf16, DataType::f16, DataType::f32}) {
    const double largest = dtype == DataType::bf16 ? 256 : dtype == DataType::f16 ? 2048 : 1 << 24;
    for (const std::int64_t ranks : {2, 7, 64, 300}) {
      const Collective collective{.count = 100, .dtype = dtype, .ranks = ranks};
      double most = 0;
      for (std::int64_t i = 0; i < 100; ++i) {
        double sum = 0;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
          sum += std::abs(collective_input(collective, {}, rank, i));
        }
        most = std::max(most, sum);
        EXPECT_EQ(collective_input(collective, {}, 0, i), std::round(collective_input(collective, {}, 0, i)));
      }
      EXPECT_LE(most, largest) << to_string(dtype) << " " << ranks;
      EXPECT_GT(most, 0);
    }
  }
}

}  // namespace
}  // namespace jitterscope::virtual_gpu
