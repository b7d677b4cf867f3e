// What most tests of the measuring loop begin with: a scripted device, a queue, something to launch.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "measure/round_timer.hpp"
#include "measure/session.hpp"
#include "support/scripted_device.hpp"

namespace jitterscope::scripted {

inline Operation some_operation() {
  return Operation(Elementwise{.kind = ElementwiseKind::relu, .count = 1024});
}

/// A device, a queue and an operation, without calibration.
struct Bench {
  explicit Bench(Script script = {}) : device(std::move(script)) {}

  TimedWork work(CacheState cache = CacheState::warm) { return {device, *queue, *operation, cache}; }

  ScriptedDevice device;
  std::unique_ptr<Queue> queue = device.make_queue();
  std::unique_ptr<PreparedOperation> operation = device.prepare(some_operation(), InputData());
};

/// A script whose recordings cost nothing per launch: slopes are what the calibration takes for the truth.
inline Script with_true_slopes(Script script) {
  script.node_constant = Nanoseconds(0);
  return script;
}

/// A device whose session was calibrated; a script set afterwards does not disturb the calibration.
struct Laboratory {
  explicit Laboratory(Script script = {}) : device(with_true_slopes(std::move(script))) {}

  Result measure(const MeasureOptions& options) { return session.measure(*operation, "operation", options); }

  ScriptedDevice device;
  Session session{device};
  std::unique_ptr<PreparedOperation> operation = device.prepare(some_operation(), InputData());
};

/// Only one cache state, under one load.
inline MeasureOptions one_condition(CacheState cache, Load load) {
  MeasureOptions options;
  options.caches = {cache};
  options.loads = {load};
  return options;
}

inline std::int64_t count_of(const std::vector<LoggedCall>& log, Call call) {
  return std::count_if(log.begin(), log.end(), [&](const LoggedCall& logged) { return logged.call == call; });
}

}  // namespace jitterscope::scripted
