// Times one operation by every method that people use, from naive to right, on one device.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/session.hpp"

namespace jitterscope {

/// The reading of one method.
struct MethodReading {
  std::string id, name;
  CacheState cache = CacheState::warm;
  std::vector<Nanoseconds> times;  ///< one for each repetition
  std::string absent;              ///< why there are none, or no more
  std::string sentence;            ///< what it gets wrong here

  Nanoseconds time() const;  ///< median of times
  double range() const;      ///< largest minus smallest, over the median
};

struct MethodComparison {
  std::string operation, provider, algorithm;
  InputData input;
  std::int64_t repetitions = 0;
  Nanoseconds shortest_idle, longest_idle;
  Calibration calibration;
  bool launches_return_early = true;  ///< before the work is done; not on a CPU
  Nanoseconds first_call, launch_cost;
  std::int64_t launches = 0;   ///< launches that a method times in a repetition
  std::optional<Hertz> clock;  ///< median over the rounds in a held queue
  std::string reference;       ///< id of the method that the others are compared with; empty if none
  std::vector<MethodReading> readings;
  bool interrupted = false;
};

/// Returns the method with that id if it has times, else null.
const MethodReading* find_reading(const MethodComparison& comparison, std::string_view id);

/// Distance of a warm method from the reference, which is warm, too.
struct MethodDistance {
  Nanoseconds time;
  double ratio = 0.0;  ///< over the reference
};
std::optional<MethodDistance> distance_from_reference(const MethodComparison& comparison,
                                                      const MethodReading& reading);

/// Times by the device's tracer, read in another process: one for each repetition, or why there are none.
struct TracedTimes {
  std::vector<Nanoseconds> times;
  std::string problem;
};

struct MethodsRequest {
  std::int64_t repetitions = 7;
  MeasureOptions options;  ///< idles, data, seed, interrupted
  TracedTimes traced;
  /// Called before each method.
  std::function<void(std::int64_t repetition, const std::string& method)> progress;
};

/// Runs every method once in each repetition, in a new random order, each after a random idle. Methods that
/// cannot be used on this device or operation say so. Throws if the operation itself cannot be launched.
MethodComparison compare_methods(Session& session, const Operation& operation, const MethodsRequest& request);

/// Returns the mean time of one repetition's idles.
Nanoseconds idle_in_repetition(const MeasureOptions& options);

/// Returns a time per repetition by the device's tracer, which slows all else: call it in its own process.
std::vector<Nanoseconds> trace_operation(Device& device, const Operation& operation,
                                         const MeasureOptions& options, std::int64_t repetitions);

}  // namespace jitterscope

// These functions say from the numbers what each timing method gets wrong.

namespace jitterscope::method_sentences {

std::string wall_without_wait(const MethodComparison&, const MethodReading&);
std::string wall_with_wait(const MethodComparison&, const MethodReading&);
std::string events_empty_queue(const MethodComparison&, const MethodReading&);
std::string events_without_warm_up(const MethodComparison&, const MethodReading&);
std::string events_behind_gate(const MethodComparison&, const MethodReading&);
std::string events_less_constant(const MethodComparison&, const MethodReading&);
std::string cold(const MethodComparison&, const MethodReading&);
std::string dirty(const MethodComparison&, const MethodReading&);
std::string graph_total(const MethodComparison&, const MethodReading&);
std::string graph_slope(const MethodComparison&, const MethodReading&);
std::string cupti(const MethodComparison&, const MethodReading&);

}  // namespace jitterscope::method_sentences
