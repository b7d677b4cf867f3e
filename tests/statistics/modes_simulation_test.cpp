// How often modes are seen that are not there, and those that are.
#include <gtest/gtest.h>

#include <cmath>

#include "statistics/simulation.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope::statistics {
namespace {

constexpr int kModeRuns = 1000;

struct Shape {
  const char* name;
  Draw draw;
};

double ticks(double seconds) { return std::round(seconds / 32e-9) * 32e-9; }

std::vector<Shape> unimodal_shapes() {
  return {
      {"normal, 0.3 %", [](Random& r) { return 100.0 + 0.3 * r.normal(); }},
      {"normal, 5 %", [](Random& r) { return 100.0 + 5.0 * r.normal(); }},
      {"lognormal", [](Random& r) { return 100.0 * std::exp(0.1 * r.normal()); }},
      {"very skewed lognormal", [](Random& r) { return 100.0 * std::exp(0.8 * r.normal()); }},
      {"1 % spikes",
       [](Random& r) {
         return (100.0 + 0.5 * r.normal()) * (r.uniform() < 0.01 ? 1.0 + 9.0 * r.uniform() : 1.0);
       }},
      {"1 % spikes of one height",
       [](Random& r) { return (100.0 + 0.5 * r.normal()) * (r.uniform() < 0.01 ? 2.0 : 1.0); }},
      {"Student t(2)",
       [](Random& r) {
         const double a = r.normal(), b = r.normal();
         return 100.0 + 0.5 * r.normal() / std::sqrt((a * a + b * b) / 2.0);
       }},
      {"uniform", [](Random& r) { return r.uniform(95.0, 105.0); }},
      {"exponential", [](Random& r) { return 100.0 - 2.0 * std::log(1.0 - r.uniform()); }},
      {"ticks, 1 us, sd 8 ns", [](Random& r) { return ticks(1.0e-6 + 8e-9 * r.normal()); }},
      {"ticks, 1.2 us, sd 30 ns", [](Random& r) { return ticks(1.2e-6 + 30e-9 * r.normal()); }},
      {"ticks, 3 us, sd 60 ns", [](Random& r) { return ticks(3e-6 + 60e-9 * r.normal()); }},
      {"ticks, 5 us, skewed", [](Random& r) { return ticks(5e-6 - 100e-9 * std::log(1.0 - r.uniform())); }},
      {"ticks, uniform", [](Random& r) { return ticks(r.uniform(2e-6, 2.3e-6)); }},
      {"ticks, 1 us, 1 % spikes",
       [](Random& r) { return ticks((1e-6 + 20e-9 * r.normal()) * (r.uniform() < 0.01 ? 3.0 : 1.0)); }},
  };
}

void expect_one_mode(std::size_t count) {
  for (const Shape& shape : unimodal_shapes()) {
    EXPECT_GE(
        share_of(kModeRuns, [&](Random& r) { return find_modes(draws(count, r, shape.draw)).size() == 1; }),
        0.99)
        << shape.name << ", n = " << count;
  }
}

TEST(ModesSimulation, OneInUnimodalShapesFewValues) { expect_one_mode(200); }
TEST(ModesSimulation, OneInUnimodalShapesManyValues) { expect_one_mode(5000); }

bool are_near(const std::vector<ModeEstimate>& modes, const std::vector<double>& locations,
              double tolerance) {
  bool near = modes.size() == locations.size();
  for (std::size_t i = 0; near && i < modes.size(); ++i) {
    near = std::abs(modes[i].location - locations[i]) < tolerance;
  }
  return near;
}

TEST(ModesSimulation, TwoClockStates) {
  const Draw draw = [](Random& r) { return (r.uniform() < 0.3 ? 100.0 : 102.3) + 0.2 * r.normal(); };
  for (const std::size_t count : {100u, 200u, 5000u}) {
    EXPECT_GE(share_of(kModeRuns,
                       [&](Random& r) {
                         return are_near(find_modes(draws(count, r, draw)), {100.0, 102.3}, 0.3);
                       }),
              0.95)
        << count;
  }
}

TEST(ModesSimulation, TwoStatesOnACoarseTimer) {
  const Draw draw = [](Random& r) { return ticks((r.uniform() < 0.4 ? 5e-6 : 5.5e-6) + 30e-9 * r.normal()); };
  EXPECT_GE(share_of(kModeRuns,
                     [&](Random& r) {
                       return are_near(find_modes(draws(200, r, draw)), {5e-6, 5.5e-6}, 40e-9);
                     }),
            0.95);
}

TEST(ModesSimulation, ThreeStatesWithSpikes) {
  const Draw draw = [](Random& r) {
    const double which = r.uniform();
    const double level = which < 0.5 ? 100.0 : which < 0.8 ? 102.0 : 104.0;
    return (level + 0.2 * r.normal()) * (r.uniform() < 0.01 ? 3.0 : 1.0);
  };
  EXPECT_GE(share_of(kModeRuns,
                     [&](Random& r) {
                       return are_near(find_modes(draws(1000, r, draw)), {100.0, 102.0, 104.0}, 0.3);
                     }),
            0.95);
}

}  // namespace
}  // namespace jitterscope::statistics
