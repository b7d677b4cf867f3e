#include <gmock/gmock.h>

#include "jitterscope/error.hpp"
#include "plan/rank_grid.hpp"

namespace jitterscope::plan {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> sizes(const GridClasses& grid) {
  std::vector<std::int64_t> result;
  for (const RankClass& each : grid.classes) result.push_back(each.ranks);
  return result;
}

TEST(RankGrid, EqualRanksAreOneClassForEachStage) {
  const GridClasses grid = classes_of({.data = 128, .tensor = 8, .pipeline = 8});
  EXPECT_THAT(sizes(grid), ElementsAre(1024, 1024, 1024, 1024, 1024, 1024, 1024, 1024));
  EXPECT_EQ(grid.next[0], 1u);
  EXPECT_EQ(grid.previous[0], 7u);
}

TEST(RankGrid, AStragglerPartsItsNeighboursAndItsPipelines) {
  const SlowRank slow{5, 1.02};  // stage 1, replica 0, part 1
  const GridClasses grid = classes_of({.data = 2, .tensor = 2, .pipeline = 2}, {&slow, 1});
  // All eight differ in what they wait for: replica, part and stage.
  EXPECT_EQ(grid.classes.size(), 8u);
  const GridClasses large = classes_of({.data = 64, .tensor = 4, .pipeline = 2}, {&slow, 1});
  // Of each stage: the straggler's part and the three others, in its replica and in the 63 others.
  EXPECT_THAT(sizes(large), testing::UnorderedElementsAre(1, 3, 63, 189, 1, 3, 63, 189));
}

TEST(RankGrid, AllReplicasOfAStageAreOneGroup) {
  const SlowRank slow{0, 1.5};
  const GridClasses grid = classes_of({.data = 16}, {&slow, 1});
  EXPECT_THAT(sizes(grid), ElementsAre(1, 15));
  EXPECT_THAT(grid.data_groups[0], ElementsAre(0, 1));
  EXPECT_EQ(grid.data_groups[0], grid.data_groups[1]);
  EXPECT_THAT(grid.tensor_groups[1], ElementsAre(1));
}

TEST(RankGrid, FactorizationsAreAllOfThem) {
  EXPECT_EQ(factorizations(1).size(), 1u);
  EXPECT_EQ(factorizations(6).size(), 9u);
  EXPECT_EQ(factorizations(8192).size(), 105u);
  for (const RankGrid& grid : factorizations(24)) EXPECT_EQ(grid.ranks(), 24);
}

TEST(RankGrid, ARankOfNoGridIsRefused) {
  const SlowRank slow{8, 1.5};
  EXPECT_THROW(classes_of({.data = 8}, {&slow, 1}), UsageError);
}

}  // namespace
}  // namespace jitterscope::plan
