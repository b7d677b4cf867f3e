// Runs loops of launches under treatments, and reads them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "explain/treatment.hpp"
#include "measure/round_runner.hpp"
#include "measure/session.hpp"

namespace jitterscope::explain {

/// What one loop read.
struct LoopReading {
  Nanoseconds time;            ///< of one launch: the median of the loop's
  std::optional<Hertz> clock;  ///< mean over the loop
};

class TreatedLoop {
 public:
  /// Prepares the operation and launches it a few times. Throws what that throws.
  TreatedLoop(Session& session, const Operation& operation, std::uint64_t seed);

  /// One loop. Throws what launching or preparing throws: UsageError where the device cannot do what the
  /// treatment asks for.
  LoopReading run(const Treatment& treatment);

  /// Prepares and launches what the treatment needs, so that its first round is like the others.
  void rehearse(const Treatment& treatment);

  Session& session() { return session_; }
  /// The operation as a plain loop launches it.
  PreparedOperation& plain() { return prepared(Treatment()); }
  /// Moves the operands of all that was prepared of it; false where they stay.
  bool place_anew();
  Nanoseconds first_call() const { return first_call_; }
  const Operation& operation() const { return operation_; }
  /// Of one launch, roughly.
  Nanoseconds launch_time() const { return launch_time_; }
  /// Whether a heavy load was run since this was asked last.
  bool take_heated() { return std::exchange(is_heated_, false); }
  /// Of launches in a loop: 5 ms, but 10 to 50 launches.
  std::int64_t usual_launches() const;
  bool may_be_gated() const { return !waits_; }
  /// Host time that the loop takes, roughly, its idle and load included.
  Nanoseconds duration(const Treatment& treatment) const;

 private:
  using Variant = std::pair<DataKind, std::string>;  // data and engine

  PreparedOperation& prepared(const Treatment& treatment);
  Workload& large_product();
  Workload& copy_of(Bytes traffic);
  void load(Nanoseconds duration);
  void delay_host(Nanoseconds duration);
  void set_caches(PreparedOperation& workload, const Treatment& treatment);
  LoopReading run_loop(PreparedOperation& workload, const Treatment& treatment, std::int64_t launches);
  LoopReading run_recording(PreparedOperation& workload, const Treatment& treatment, std::int64_t launches);
  LoopReading run_own_reading(PreparedOperation& workload, const Treatment& treatment);

  Session& session_;
  Operation operation_;
  std::uint64_t seed_;
  DeviceDescription description_;
  std::map<Variant, std::unique_ptr<PreparedOperation>> prepared_;
  std::unique_ptr<PreparedOperation> product_;
  std::map<Bytes, std::unique_ptr<PreparedOperation>> copies_;
  std::map<std::pair<Variant, std::int64_t>, std::unique_ptr<Recording>> recordings_;
  std::map<std::pair<Variant, CacheState>, std::unique_ptr<RoundRunner>> runners_;
  Nanoseconds launch_time_, first_call_;
  bool waits_ = false, is_heated_ = false;
};

}  // namespace jitterscope::explain
