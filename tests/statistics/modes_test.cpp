#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

std::vector<double> two_normals(std::size_t count, double share, double distance, double deviation) {
  Random random(11);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    const double centre = random.uniform() < share ? 100.0 : 100.0 * (1.0 + distance);
    values.push_back(centre + 100.0 * deviation * random.normal());
  }
  return values;
}

TEST(Modes, DegenerateValues) {
  EXPECT_TRUE(find_modes({}).empty());
  for (const std::vector<double>& values : {std::vector<double>{3.0}, std::vector<double>(100, 3.0),
                                            std::vector<double>(100, 0.0), std::vector<double>{3.0, 4.0}}) {
    const std::vector<ModeEstimate> modes = find_modes(values);
    ASSERT_EQ(modes.size(), 1u);
    EXPECT_EQ(modes[0].weight, 1.0);
    EXPECT_NEAR(modes[0].location, (values.front() + values.back()) / 2.0, 1e-12);
  }
}

TEST(Modes, LocationsAndWeightsOfTwo) {
  const std::vector<ModeEstimate> modes = find_modes(two_normals(5000, 0.3, 0.023, 0.002));
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_NEAR(modes[0].location, 100.0, 0.03);
  EXPECT_NEAR(modes[1].location, 102.3, 0.03);
  EXPECT_NEAR(modes[0].weight, 0.3, 0.02);
  EXPECT_NEAR(modes[0].weight + modes[1].weight, 1.0, 1e-12);
}

TEST(Modes, SubsampledSeriesKeepsItsModes) {
  const std::vector<ModeEstimate> modes = find_modes(two_normals(300000, 0.3, 0.023, 0.002));
  ASSERT_EQ(modes.size(), 2u);
  EXPECT_NEAR(modes[0].weight, 0.3, 0.015);
}

TEST(Modes, OneWhereTheRuleIsNotMet) {
  EXPECT_EQ(find_modes(two_normals(5000, 0.02, 0.023, 0.002)).size(), 1u);  // 2 % are no mode
  EXPECT_EQ(find_modes(two_normals(5000, 0.5, 0.003, 0.0002)).size(), 1u);  // 0.3 % apart
  EXPECT_EQ(find_modes(two_normals(5000, 0.5, 0.004, 0.002)).size(), 1u);   // no valley
  EXPECT_EQ(find_modes(two_normals(5000, 0.5, 0.023, 0.002), 0.05).size(), 1u);
}

}  // namespace
}  // namespace jitterscope::statistics
