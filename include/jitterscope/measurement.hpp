// The outcome of measuring: rounds, estimates, conditions, findings. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

enum class Load {
  burst,      ///< short rounds with idle between
  sustained,  ///< without pause until time and clock have settled
};
enum class QueueMode {
  saturated,  ///< behind a gate: the queue is never empty
  eager,      ///< as a program would launch, host cost included where the host is slower
  graph,      ///< recorded and replayed
};
/// How a duration is read.
enum class Instrument {
  events,  ///< mark pairs behind a gate, less the calibrated constant
  graph,   ///< slope between recordings of k1 and k2 launches
  cupti,   ///< kernel start and end as CUPTI reports them
  host,    ///< wall time around launch and wait
};
std::string_view to_string(Load);
std::string_view to_string(QueueMode);
std::string_view to_string(Instrument);

struct Conditions {
  CacheState cache = CacheState::warm;
  Load load = Load::burst;
  DataKind data = DataKind::normal;
  QueueMode queue = QueueMode::saturated;
  /// Each launch on operands that no launch has touched since several times the cache's size went by.
  bool fresh_data = false;
  bool operator==(const Conditions&) const = default;
};

/// Launches queued together: the statistical unit.
struct Round {
  Nanoseconds started;      ///< host time since the measurement began
  Nanoseconds idle_before;  ///< random, so that rounds are exchangeable; zero when sustained
  /// GPU time per launch, the instrument's constant taken off. One value for each launch, or for each
  /// group of `launches_per_value` (timed in groups, or by slope).
  std::vector<Nanoseconds> launches;
  std::int64_t launches_per_value = 1;
  std::optional<Hertz> clock;            ///< mean over the round, read on the device
  std::optional<SensorReading> sensors;  ///< just after the round

  Nanoseconds time() const;  ///< median of launches
};

/// Median over round medians with a 95 % interval from order statistics (docs/method.md).
struct TimeEstimate {
  Nanoseconds median, low, high;
  std::int64_t rounds = 0;
  /// Half the interval over the median: 0.005 is ±0.5 %. Infinite below 6 rounds.
  double precision() const;
};

/// From the fit t = a + b/f over rounds, read at f = reference; jackknife 95 % interval.
struct TimeAtReferenceClock {
  Hertz reference;
  Nanoseconds time, low, high;
  Nanoseconds fixed_part;    ///< a: does not follow the SM clock
  double clock_share = 0.0;  ///< (b/f)/t at the reference: 1 is core-clock bound, 0 insensitive
};

struct ClockEstimate {
  Hertz median, low, high;  ///< low and high: 5th and 95th percentile over rounds
};

struct Distribution {
  Nanoseconds minimum, p5, p25, median, p75, p95, maximum;
  std::int64_t values = 0;
};

struct Mode {
  Nanoseconds location;
  double weight = 0.0;
};

/// Whether a sustained load settled.
struct Steadiness {
  enum class Verdict { steady, warming_up, slowing_down, never_steady };
  Verdict verdict = Verdict::steady;
  Nanoseconds watched;            ///< time of the operation itself that was watched
  Nanoseconds settled_after;      ///< when the settled part begins
  std::size_t settled_round = 0;  ///< first round of the settled part
};
std::string_view to_string(Steadiness::Verdict);

enum class StopReason { precision, time_limit, interrupted };
std::string_view to_string(StopReason);

/// What the instrument adds to a time, measured at the start of the run.
struct InstrumentConstant {
  Nanoseconds value;         ///< taken off each reading
  Nanoseconds uncertainty;   ///< 95 %, half-width: the scatter, and how well the reference itself is known
  Nanoseconds grain;         ///< smallest step of the timer
  Nanoseconds scatter = {};  ///< of the uncertainty, what comes from the kernels that it was measured on
};

struct Measurement {
  Conditions conditions;
  Instrument instrument = Instrument::events;
  InstrumentConstant constant;
  std::vector<Round> rounds;  ///< sustained: the whole record, the settled part from settled_round on
  TimeEstimate time;
  std::optional<ClockEstimate> clock;
  std::optional<TimeAtReferenceClock> at_reference_clock;
  std::optional<Cycles> cycles;  ///< median over rounds of time × clock
  Distribution launches;
  std::vector<Mode> modes;  ///< two or more where the distribution has several, else empty
  std::optional<Steadiness> steadiness;
  StopReason stop_reason = StopReason::precision;
  double precision_asked = 0.005;
  Nanoseconds duration;  ///< host time that the measurement took
};

/// A cause, its evidence with numbers, and one remedy.
struct Finding {
  std::string id;        ///< power_cap, thermal, idle_ramp, bimodal, timer_grain, launch_bound, …
  std::string sentence;  ///< cause and evidence
  std::string remedy;
  std::vector<Property> evidence;  ///< numbers in SI units
  std::string headline = {};       ///< the sentence in a few words, for a list
  /// By how much it moves the time, relative: 0.11 is 11 %. Nothing where no number says so.
  std::optional<double> effect = {};
};

/// Comparison with a float64 reference.
struct Verification {
  double relative_error = 0.0;  ///< L2 norm of the difference over L2 norm of the reference
  double tolerance = 0.0;
  std::int64_t checked = 0, total = 0;  ///< elements compared, elements of the output
  std::int64_t unwritten = 0;           ///< elements that still hold the poison
  bool passed = false;
  /// The reference runs the same loops (own loops of the CPU), or is the result (a simulated GPU): what was
  /// checked is the rounding and that all was written, not the formula.
  bool same_formula = false;
};

/// Best rates seen on this very device, burst and warm.
struct Ceilings {
  std::optional<double> bytes_per_second;  ///< of a large copy, bytes read and written
  struct Compute {
    DataType dtype;
    double flops_per_second;
    std::string operation;
  };
  std::vector<Compute> compute;
};

/// One kernel (or memset) of a launch, as the device's tracer saw it in launches back to back.
struct LaunchKernel {
  std::string name;
  Nanoseconds median, minimum, maximum;
};

/// One loop of launches as a program would run it: operands and plan made anew, the device idle before, no
/// gate, no wait, a mark on either side of each launch.
struct IterationRun {
  std::int64_t count = 0;  ///< launches made: fewer than were asked for where it was interrupted
  /// Between the marks of one launch; first: of launch 1. Where the queue is empty they hold what the host
  /// needs to launch.
  Nanoseconds first, minimum, mean, median, maximum;
  Nanoseconds first_launch_call;  ///< host time of the call that launches launch 1
  Nanoseconds host_time;          ///< of the whole loop, per launch
  struct ClockPoint {
    std::int64_t launch = 0;  ///< read behind so many launches
    Hertz clock;              ///< mean since the point before
  };
  std::vector<ClockPoint> clocks;
  std::optional<Nanoseconds> throttled_power, throttled_thermal;  ///< in the course of the loop
};

/// What an operation did in its first moments without pause, after its bursts: whether a sustained load,
/// which was not measured, would take another time.
struct LoadProbe {
  CacheState cache = CacheState::warm;
  Nanoseconds watched;                 ///< host time
  Nanoseconds time;                    ///< of one launch, median over the last quarter
  std::optional<Hertz> clock;          ///< likewise
  std::optional<Watts> power;          ///< mean over the second half
  std::optional<double> power_capped;  ///< share of the time in which the power cap held the clock down
};

/// Why a part of what was asked for is not there, though the times are.
struct Shortfall {
  ExitCode exit_code = ExitCode::missing;
  std::string reason;
};

/// All that is known of one operation on one device.
struct Result {
  std::string operation;            ///< normal form, or a callable's name
  std::int64_t count = 1;           ///< how often a model runs it
  std::vector<std::string> layers;  ///< a model's names for it
  std::string provider, algorithm;
  bool stand_in = false;  ///< jitterscope's own way in place of PyTorch's: never its time
  double flops = 0.0;
  Bytes bytes, workspace;
  std::optional<Nanoseconds> recorded_time;  ///< GPU time of one call in the record that it was read from
  Nanoseconds prepare_time;                  ///< plan building, allocation, filling
  Nanoseconds first_call;                    ///< first launch, to its end: what is loaded lazily
  Nanoseconds launch_cost;                   ///< host time of one launch call, median
  std::vector<LaunchKernel> kernels;         ///< of one launch, in their order; empty where not asked for
  std::optional<Shortfall> without_kernels;  ///< why they are not there, where they were asked for
  std::vector<IterationRun> iterations;      ///< where counts were asked for
  std::vector<Measurement> measurements;
  std::optional<LoadProbe> load_probe;  ///< where it was asked for
  std::vector<Finding> findings;
  std::optional<Verification> verification;
  std::string failure;  ///< empty, or why it could not be measured
};

}  // namespace jitterscope
