// Collectives: their buffers by ranks, and what they refuse.
#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"
#include "operation/operation.hpp"

namespace jitterscope {
namespace {

using ::testing::ThrowsMessage;

std::vector<std::int64_t> counts_of(const std::string& text) {
  std::vector<std::int64_t> counts;
  for (const Operand& operand : Operation::parse(text).operands()) counts.push_back(operand.count);
  return counts;
}

TEST(Collective, CountIsThatOfTheLargerBuffer) {
  EXPECT_EQ(counts_of("all_reduce:count=12,ranks=4"), (std::vector<std::int64_t>{12, 12}));
  EXPECT_EQ(counts_of("reduce_scatter:count=12,ranks=4"), (std::vector<std::int64_t>{12, 3}));
  EXPECT_EQ(counts_of("all_gather:count=12,ranks=4"), (std::vector<std::int64_t>{3, 12}));
  EXPECT_EQ(counts_of("all_gather:count=12,ranks=4,in_place=1"), (std::vector<std::int64_t>{12}));
}

TEST(Collective, BytesAreThoseOfARanksMemory) {
  EXPECT_EQ(Operation::parse("all_reduce:count=12,dtype=bf16,ranks=4").bytes(), Bytes(48));
  EXPECT_EQ(Operation::parse("all_reduce:count=12,dtype=bf16,ranks=4,in_place=1").bytes(), Bytes(48));
  EXPECT_EQ(Operation::parse("all_gather:count=12,dtype=bf16,ranks=4").bytes(), Bytes(30));
  EXPECT_EQ(Operation::parse("all_gather:count=12,dtype=bf16,ranks=4,in_place=1").bytes(), Bytes(24));
  EXPECT_EQ(Operation::parse("reduce_scatter:count=12,dtype=bf16,ranks=4,in_place=1").bytes(), Bytes(30));
}

TEST(Collective, RanksShareTheOperations) {
  EXPECT_DOUBLE_EQ(Operation::parse("all_reduce:count=12,ranks=4").flops(), 9);
  EXPECT_DOUBLE_EQ(Operation::parse("all_reduce:count=12,ranks=4,op=avg").flops(), 12);
  EXPECT_DOUBLE_EQ(Operation::parse("all_gather:count=12,ranks=4").flops(), 0);
}

// As nccl-tests' AllReduceGetBw and its siblings.
TEST(Collective, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_reduce, 2), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::reduce_scatter, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::all_to_all, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::broadcast, 8), 1.0);
  EXPECT_DOUBLE_EQ(bus_factor(CollectiveKind::send_recv, 8), 1.0);
}

TEST(Collective, AmongRanksFillsInTheirNumber) {
  EXPECT_EQ(among_ranks(Operation::parse("all_reduce:count=12"), 4).text(),
            "all_reduce:count=12,dtype=f32,ranks=4");
  EXPECT_EQ(among_ranks(Operation::parse("chain:[relu:count=12][all_reduce:count=12]"), 2).text(),
            Operation::parse("chain:[relu:count=12][all_reduce:count=12,ranks=2]").text());
  EXPECT_EQ(among_ranks(Operation::parse("relu:count=12"), 2).text(), "relu:count=12,dtype=f32");
  const auto expect_refused = [](const char* text, const std::string& why) {
    EXPECT_THAT([text] { among_ranks(Operation::parse(text), 2); }, ThrowsMessage<UsageError>(why));
  };
  expect_refused("all_reduce:count=12,ranks=3",
                 "all_reduce: ranks=3, and 2 take part; leave ranks out, or start as many");
  expect_refused("all_gather:count=7",
                 "all_gather: count=7 is impossible: it has no equal part for each of 2 ranks; 8 has");
  expect_refused("broadcast:count=7,root=2",
                 "broadcast: root=2 is impossible: 2 ranks have the numbers 0 to 1");
}

TEST(Collective, RefusesWhatItsKindLacks) {
  EXPECT_THROW(Operation::parse("all_gather:count=8,op=max"), UsageError);
  EXPECT_THROW(Operation::parse("all_reduce:count=8,root=0"), UsageError);
  EXPECT_THROW(Operation::parse("all_to_all:count=8,in_place=1"), UsageError);
  EXPECT_THROW(Operation(Collective{.kind = CollectiveKind::send_recv, .in_place = true}), UsageError);
}

}  // namespace
}  // namespace jitterscope
