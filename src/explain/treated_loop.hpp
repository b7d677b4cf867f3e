// Runs loops of launches under treatments, and reads their times and clocks.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "explain/explanation.hpp"
#include "explain/treatment.hpp"
#include "measure/round_runner.hpp"
#include "measure/session.hpp"
#include "measure/subject.hpp"

namespace jitterscope::explain {

/// The reading of one loop.
struct LoopReading {
  Nanoseconds time;            ///< time of one launch: the median over the loop
  std::optional<Hertz> clock;  ///< mean over the loop
};

class TreatedLoop {
 public:
  /// Prepares the operation and launches it a few times. Throws what these throw.
  TreatedLoop(Session& session, TrialSubject subject, std::uint64_t seed,
              StartNeighbour start_neighbour = nullptr);

  /// Runs one loop. Throws what preparing or launching throws: UsageError if the device cannot do what the
  /// treatment asks for, NeighbourLostError if the other process that it needs is gone.
  LoopReading run(const Treatment& treatment);

  /// Counts one launch in the state that the loop gives it, in each pass of the reader.
  CounterReading count(CounterReader& reader, const Treatment& treatment);

  /// Prepares and launches what the treatment needs, so that its first round is like the others.
  void rehearse(const Treatment& treatment);

  /// Sets a check that follows each long launch, as a loop of these would not end soon.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  /// Called after a launch: true if the loop must end.
  bool stops_within();

  Session& session() { return session_; }
  /// The operation as a plain loop launches it.
  PreparedSubject& prepared_plain() { return prepared(Treatment()); }
  Workload& plain() { return *prepared_plain().workload; }
  /// Moves the operands of all prepared variants; false if they cannot be moved.
  bool place_anew();
  /// Prepares the operation once more and allocates memory for it, if the first preparation was quick enough
  /// and there is room.
  FirstWork find_first_work();
  const TrialSubject& subject() const { return subject_; }
  const DeviceDescription& device() const { return description_; }
  /// Approximate time of one launch, and the host's time for its call.
  Nanoseconds launch_time() const { return launch_time_; }
  Nanoseconds launch_cost() const { return launch_cost_; }
  /// True if the treatment needs the operation prepared in another way.
  static bool needs_preparation(const Treatment& treatment) {
    return variant_of(treatment) != variant_of(Treatment());
  }
  /// True if the loop, or a load before it, heats the device for the rounds that follow.
  bool heats(const Treatment& treatment) const;
  /// True if a heavy load ran since the last call.
  bool take_heated() { return std::exchange(is_heated_, false); }
  std::int64_t usual_launches() const { return explain::usual_launches(launch_time_); }
  /// A queue holds 511 launches with a mark each (H200); a pass of a network may have more.
  bool fits_queue() const { return subject_.calls() * usual_launches() <= 400; }
  bool may_be_held() const { return !waits_ && fits_queue() && !is_long(); }
  bool launches_wait() const { return waits_; }
  /// True if a treatment has started the second process.
  bool has_neighbour() const { return neighbour_ != nullptr; }
  /// Times an eviction on a host, which precedes each launch of a loop: with 480 MiB of cache it takes 0.3 s.
  /// From then on duration() includes it.
  void time_evictions();
  /// Returns the approximate host time of the loop, with its idle and load.
  Nanoseconds duration(const Treatment& treatment) const;

 private:
  // Parameters of preparing: data, engine, offset, rows and pieces of the heap.
  using Variant = std::tuple<DataKind, std::string, Bytes, RowStride, std::int64_t>;

  static Variant variant_of(const Treatment& treatment);
  bool is_long() const { return launch_time_ > milliseconds(50); }

  PreparedSubject& prepared(const Treatment& treatment);
  Workload& large_product();
  Workload& copy_of(Bytes traffic);
  void load(Nanoseconds duration, double duty);
  void delay_host(Nanoseconds duration);
  void wait_for_work_elsewhere();
  void set_caches(Workload& workload, const Treatment& treatment);
  void wait_behind(Mark end, WaitBehindEach way);
  Neighbour& neighbour();
  LoopReading run_patiently(const Treatment& treatment);
  LoopReading run_once(const Treatment& treatment);
  LoopReading run_beside_companion(Workload& workload, const Treatment& treatment, std::int64_t launches);
  LoopReading run_loop(Workload& workload, const Treatment& treatment, std::int64_t launches);
  LoopReading run_recording(Workload& workload, const Treatment& treatment, std::int64_t launches);
  LoopReading run_own_reading(Workload& workload, const Treatment& treatment);

  Session& session_;
  TrialSubject subject_;
  std::uint64_t seed_;
  Random lengths_;
  DeviceDescription description_;
  std::map<Variant, PreparedSubject> prepared_;
  std::unique_ptr<PreparedOperation> product_;
  std::unique_ptr<CompanionLoad> companion_;
  StartNeighbour start_neighbour_;
  std::unique_ptr<Neighbour> neighbour_;
  std::map<Bytes, std::unique_ptr<PreparedOperation>> copies_;
  std::map<std::pair<Variant, std::int64_t>, std::unique_ptr<Recording>> recordings_;
  std::map<std::pair<Variant, CacheState>, std::unique_ptr<RoundRunner>> runners_;
  Nanoseconds launch_time_, first_preparation_, first_call_, eviction_time_, launch_cost_;
  bool waits_ = false, is_heated_ = false;
  std::function<bool()> stop_;
};

}  // namespace jitterscope::explain
