// What the timing methods work with, and the table of them.
#pragma once

#include <map>
#include <span>

#include "measure/first_call.hpp"
#include "measure/method_comparison.hpp"
#include "measure/round_runner.hpp"

namespace jitterscope {

/// One operation, ready to be launched by any method.
class MethodBench {
 public:
  MethodBench(Session& session, const Operation& operation, const MeasureOptions& options);

  Device& device() { return session_.device(); }
  Queue& queue() { return session_.queue(); }
  PreparedOperation& operation() { return *prepared_; }
  const Calibration& calibration() const { return session_.calibration(); }
  const FirstCall& first_call() const { return first_; }
  std::int64_t launches() const { return launches_; }
  /// Median of the clocks seen so far.
  std::optional<Hertz> clock() const;

  /// The same operation with operands and plan of its own, never launched.
  std::unique_ptr<PreparedOperation> prepare_again();
  /// A few launches, waited for.
  void warm_up();
  /// The shape that the measuring loop gives a burst of this operation.
  RoundShape shape(CacheState cache, Instrument instrument) const;
  /// One gated round; what it needs is made at its first use and kept.
  Nanoseconds time_round(const std::string& method, CacheState cache, const RoundShape& shape,
                         const Calibration& calibration);
  /// A recording of launches() launches.
  Recording& graph();

 private:
  Nanoseconds shortest_launch();

  Session& session_;
  Operation text_;
  MeasureOptions options_;
  std::unique_ptr<PreparedOperation> prepared_;
  FirstCall first_;
  std::int64_t launches_ = 0;
  std::map<std::string, RoundRunner> runners_;
  std::unique_ptr<Recording> graph_;
  std::vector<double> clocks_;
};

/// A way to time an operation, and what there is to say about its result.
struct Method {
  const char* id;
  const char* name;
  CacheState cache;
  Nanoseconds (*time)(MethodBench&);  ///< null: read in another process
  std::string (*sentence)(const MethodComparison&, const MethodReading&);
};
std::span<const Method> timing_methods();

}  // namespace jitterscope
