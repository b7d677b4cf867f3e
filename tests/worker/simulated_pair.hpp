// A plan that compares two operations on a simulated H200, for tests that carry it out.
#pragma once

#include <string>

#include "worker/fresh_processes.hpp"

namespace jitterscope::test {

inline const WorkerListeners kNoListeners{[](const std::string&, std::size_t, std::size_t) {},
                                          [] { return false; }};

/// The device is another instance for each seed.
inline WorkerPlan pair_of(const std::string& first, const std::string& second, std::uint64_t seed) {
  MeasureOptions options;
  options.caches = {CacheState::warm};
  options.loads = {Load::burst};
  options.precision = 0.0025;
  options.time_limit = seconds(0.3);
  options.seed = seed;
  WorkerPlan plan{.device = "virtual:h200", .device_seed = seed, .parent = 0, .plan = {}};
  plan.plan.groups = {{{Operation::parse(first), options}, {Operation::parse(second), options}}};
  plan.plan.ceilings = false;
  return plan;
}

}  // namespace jitterscope::test
