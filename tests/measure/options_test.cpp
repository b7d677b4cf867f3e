#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "jitterscope/error.hpp"
#include "measuring.hpp"

namespace jitterscope::scripted {
namespace {

TEST(Options, WhatCannotBeMeasuredWithIsRefusedByName) {
  using Change = std::function<void(MeasureOptions&)>;
  const std::vector<std::pair<std::string, Change>> cases = {
      {"caches", [](MeasureOptions& o) { o.caches.clear(); }},
      {"loads", [](MeasureOptions& o) { o.loads.clear(); }},
      {"precision", [](MeasureOptions& o) { o.precision = 0.0; }},
      {"minimum_rounds", [](MeasureOptions& o) { o.minimum_rounds = 0; }},
      {"time limits", [](MeasureOptions& o) { o.time_limit = Nanoseconds(0); }},
      {"shortest_idle", [](MeasureOptions& o) { o.shortest_idle = o.longest_idle * 2.0; }},
      {"conditioning_launches", [](MeasureOptions& o) { o.conditioning_launches = -1; }},
      {"conditioning_launches", [](MeasureOptions& o) { o.conditioning_launches = 1'000'001; }},
      {"iterations",
       [](MeasureOptions& o) {
         o.iterations = {10, 0};
       }},
      {"iterations", [](MeasureOptions& o) { o.iterations = {-1}; }},
      {"iterations", [](MeasureOptions& o) { o.iterations = {1'000'001}; }},
      {"launches_per_round", [](MeasureOptions& o) { o.launches_per_round = 201; }},
      {"recorded",
       [](MeasureOptions& o) {
         o.fresh_data = true;
         o.queue = QueueMode::graph;
       }},
      {"recorded", [](MeasureOptions& o) {
         o.fresh_data = true;
         o.instrument = Instrument::graph;
       }}};
  Laboratory laboratory;
  for (const auto& [word, change] : cases) {
    MeasureOptions options;
    change(options);
    try {
      laboratory.measure(options);
      ADD_FAILURE() << word << " was taken";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace jitterscope::scripted
