// Where the outputs of a sequence lie: in blocks whose last reader has run.
#include "measure/output_memory.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

using testing::ElementsAre;

constexpr std::size_t kX = 0, kY = 1;  // operands of a rectifier

Operation relu(std::int64_t mebibytes) {
  return Operation::parse(fmt::format("relu:count={}", mebibytes * (1 << 20) / 4));
}

/// A rectifier of so many MiB, and the calls whose results it reads.
struct Step {
  std::int64_t mebibytes;
  std::vector<std::size_t> reads = {};
};

Model chain(const std::vector<Step>& steps) {
  Model model;
  for (const Step& step : steps) {
    const std::string name = std::to_string(model.calls.size());
    model.layers.push_back({{name}, relu(step.mebibytes)});
    jitterscope::Call call{model.calls.size(), name, {}};
    for (const std::size_t earlier : step.reads) call.inputs.push_back({kX, earlier, kY});
    model.calls.push_back(call);
  }
  return model;
}

/// For each call where its output lies: "2+4" is 4 MiB behind the beginning of call 2's, "own" its own
/// memory. The call `failing` cannot be prepared.
std::vector<std::string> places(const std::vector<Step>& steps, std::optional<std::size_t> failing = {}) {
  Laboratory laboratory;
  const Model model = chain(steps);
  OutputMemory memory(model);
  std::vector<std::unique_ptr<PreparedOperation>> prepared;
  std::vector<std::string> found;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::vector<SharedOperand> shared;
    memory.place(i, model.layers[i].operation, shared);
    std::string place = "own";
    for (const SharedOperand& each : shared) {
      EXPECT_EQ(each.operand, kY);
      EXPECT_EQ(each.owner_operand, kY);
      const auto owner = std::ranges::find(prepared, each.owner, &std::unique_ptr<PreparedOperation>::get);
      place = fmt::format("{}+{}", owner - prepared.begin(), each.offset.value() >> 20);
    }
    found.push_back(place);
    prepared.push_back(i == failing ? nullptr : laboratory.device.prepare(model.layers[i].operation, {}));
    memory.finish(i, prepared.back().get());
  }
  return found;
}

TEST(OutputMemory, WhatIsReadByTheNextCallAloneTakesTwoBlocksInTurn) {
  EXPECT_THAT(places({{4}, {4, {0}}, {4, {1}}, {4, {2}}, {4, {3}}}),
              ElementsAre("own", "own", "0+0", "1+0", "0+0"));
}

TEST(OutputMemory, ABlockIsFreeWhenItsLastReaderHasRun) {
  EXPECT_THAT(places({{4}, {4, {0}}, {4, {1}}, {4, {0}}, {4, {3}}}),
              ElementsAre("own", "own", "own", "1+0", "0+0"));
}

TEST(OutputMemory, WhatNobodyReadsStays) {
  EXPECT_THAT(places({{4}, {4}, {4}}), ElementsAre("own", "own", "own"));
}

TEST(OutputMemory, SmallOutputsHaveTheirOwn) {
  EXPECT_THAT(places({{1}, {1, {0}}, {1, {1}}, {1, {2}}}), ElementsAre("own", "own", "own", "own"));
}

TEST(OutputMemory, TheSmallestBlockThatIsLargeEnoughIsTaken) {
  // Free behind call 3: 8 MiB of call 0, 4 of call 1, 2 of call 2.
  const std::vector<Step> freed = {{8}, {4}, {2}, {16, {0, 1, 2}}};
  const auto then = [&](std::int64_t mebibytes) {
    std::vector<Step> steps = freed;
    steps.push_back({mebibytes});
    return places(steps).back();
  };
  EXPECT_EQ(then(2), "2+0");
  EXPECT_EQ(then(3), "1+0");
  EXPECT_EQ(then(5), "0+0");
  EXPECT_EQ(then(9), "own");
}

TEST(OutputMemory, WhatIsLeftOfABlockIsTakenTooAndJoinedAgain) {
  EXPECT_THAT(places({{16}, {32, {0}}, {4}, {4, {2}}, {6, {3}}, {16, {4}}, {16, {5}}}),
              ElementsAre("own", "own", "0+0", "0+4", "0+8", "own", "0+0"));
}

// Less than 1 MiB would be left.
TEST(OutputMemory, ALittleMoreThanWantedIsNotSplit) {
  EXPECT_THAT(places({{5}, {8, {0}}, {4}, {5, {2}}, {5, {3}}}),
              ElementsAre("own", "own", "0+0", "own", "0+0"));
}

TEST(OutputMemory, ACallThatCannotBePreparedTakesNothing) {
  EXPECT_THAT(places({{4}, {8, {0}}, {4}, {4}}, 2), ElementsAre("own", "own", "0+0", "0+0"));
  EXPECT_THAT(places({{4}, {4, {0}}, {4}}, 0), ElementsAre("own", "own", "own"));
}

TEST(OutputMemory, WhatIsWrittenInPlaceIsPlacedAlready) {
  const Model model = chain({{4}, {4, {0}}, {4}});
  OutputMemory memory(model);
  Laboratory laboratory;
  const auto first = laboratory.device.prepare(model.layers[0].operation, {});
  std::vector<SharedOperand> shared;
  memory.place(0, model.layers[0].operation, shared);
  memory.finish(0, first.get());
  shared = {{kX, first.get(), kY}, {kY, first.get(), kY}};
  memory.place(1, model.layers[1].operation, shared);
  EXPECT_EQ(shared.size(), 2u);
}

}  // namespace
}  // namespace jitterscope::scripted
