// The outcome of measuring as plain data: rounds, estimates, conditions, findings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jitterscope/device.hpp"
#include "jitterscope/error.hpp"
#include "jitterscope/operation.hpp"
#include "jitterscope/units.hpp"

namespace jitterscope {

/// A caller's own work, known only by what the caller says about it.
struct Callable {
  std::string name;
  std::vector<Property> parameters = {};  ///< a benchmark case's: n, 256; else empty
  bool operator==(const Callable&) const = default;
};
/// The work that is timed.
using Subject = std::variant<Callable, Operation>;
/// Returns the operation's normal form or the callable's name.
std::string to_string(const Subject&);
/// Returns null for a callable.
const Operation* operation_of(const Subject&);

enum class Load {
  burst,      ///< short rounds with idle time between them
  sustained,  ///< no pause until time and clock have settled
};
enum class QueueMode {
  saturated,  ///< behind a hold: the queue is never empty
  eager,      ///< launched as by a program, including host cost where the host is slower
  graph,      ///< recorded and replayed
};
/// How a duration is read.
enum class Instrument {
  events,  ///< pairs of marks behind a hold, minus the calibrated constant
  graph,   ///< slope between recordings of k1 and k2 launches
  cupti,   ///< kernel start and end as CUPTI reports them
  host,    ///< wall time around launch and wait
};
std::string_view to_string(Load);
std::string_view to_string(QueueMode);
std::string_view to_string(Instrument);

/// The conditions under which a time holds, as they were set. Provider and algorithm are in Result.
struct Conditions {
  CacheState cache = CacheState::warm;
  Load load = Load::burst;
  std::optional<DataKind> data = DataKind::normal;  ///< nullopt: unknown, as for a callable
  QueueMode queue = QueueMode::saturated;
  /// Each launch uses operands untouched by launches until several times the cache's size went by.
  bool fresh_data = false;
  std::optional<Hertz> locked_clock = {};      ///< SM clock that the user locked, if any
  std::optional<std::int64_t> placement = {};  ///< as fixed by the user; empty: changes from block to block
  std::uint64_t seed = 1;                      ///< seed of operand values, idle times and orders
  bool operator==(const Conditions&) const = default;
};

/// Launches queued together, behind one hold unless the load is sustained.
struct Round {
  Nanoseconds started;      ///< host time since the measurement began
  Nanoseconds idle_before;  ///< random, so that rounds are exchangeable; zero in sustained loads
  /// GPU time per launch, minus the instrument's constant. One value for each launch, or for each group of
  /// `launches_per_value` (timed in groups, or by slope).
  std::vector<Nanoseconds> launches;
  std::int64_t launches_per_value = 1;
  Nanoseconds grain;  ///< smallest step of the values
  /// Time between the timed launches' marks in which other programs had the core (CPU); not in `launches`.
  /// nullopt if it cannot be told.
  std::optional<Nanoseconds> taken_by_others = {};
  /// Every call of the round in order, including the untimed ones, if calls may differ and are timed one by
  /// one; else empty.
  std::vector<Nanoseconds> calls = {};
  std::int64_t first_call = 0;  ///< number of the first of `calls`, counted over the process
  std::int64_t block = -1;      ///< shared by rounds after the same idle time; -1: alone
  std::int64_t placement = 0;   ///< which of the placements drawn for the operands; 0: as prepared
  std::int64_t process = 0;     ///< index of the process that measured it; blocks are counted in each process
  std::optional<Hertz> clock;   ///< mean over the round, read on the device
  std::optional<SensorReading> sensors;  ///< just after the round

  /// Median of launches. If the timer's grain is as coarse as they vary: the mean of those near it, since a
  /// median would be a multiple of the grain.
  Nanoseconds time() const;
};

/// Median over blocks with a 95 % interval (docs/method.md).
struct TimeEstimate {
  Nanoseconds median, low, high;
  std::int64_t rounds = 0;
  /// Half of the interval over the median: 0.005 is ±0.5 %. Infinite below 6 rounds.
  double precision() const;
};

/// Differences between processes beyond those of their rounds: relative standard deviations of process
/// medians.
struct ProcessVariation {
  double placed = 0.0;  ///< if operands were placed anew between rounds
  double fixed = 0.0;   ///< if they stayed, so that the effect of another placement is not seen
  std::int64_t degrees_of_freedom = 0;  ///< 0 if the deviations were assumed, not measured
};

/// Parts of an interval, each as the half-width of a 95 % interval.
struct Uncertainty {
  Nanoseconds rounds;      ///< variation of rounds in this process, in the placements that it drew
  Nanoseconds processes;   ///< expected difference of the next process, from ProcessVariation
  Nanoseconds instrument;  ///< possible error of the constant, which each process reads anew
};

/// The fit t = a + b/f over rounds, evaluated at f = reference; jackknife 95 % interval.
struct TimeAtReferenceClock {
  Hertz reference;
  Nanoseconds time, low, high;
  Nanoseconds fixed_part;    ///< a: does not follow the SM clock; at least 0
  double clock_share = 0.0;  ///< (b/f)/t at the reference: 1 if bound by the core clock, 0 if insensitive
  double clock_share_error = 0.0;  ///< standard error; at least the fit's distance outside of 0 to 1
  bool extrapolated = false;       ///< no round ran within 1 % of the reference
};

struct ClockEstimate {
  Hertz median, low, high;  ///< low and high: 5th and 95th percentile over rounds
};

struct Distribution {
  Nanoseconds minimum, p5, p25, median, p75, p95, maximum;
  std::int64_t values = 0;
  Nanoseconds mean = {};
};

struct Mode {
  Nanoseconds location;
  double weight = 0.0;
};

/// Slow calls that return after a fixed number of calls: `slow` of every `period`.
struct Recurrence {
  std::int64_t period = 0, slow = 0;
  Nanoseconds fast_time, slow_time;  ///< medians of the other calls and of the slow ones
};

/// Says whether a sustained load settled.
struct Steadiness {
  enum class Verdict {
    steady,
    warming_up,    ///< still getting faster
    slowing_down,  ///< still getting slower
    never_steady,  ///< kept changing level
    not_shown,     ///< no change seen, but the record is too short or noisy to call it steady
  };
  Verdict verdict = Verdict::steady;
  Nanoseconds watched;            ///< time of the operation itself that was watched
  Nanoseconds settled_after;      ///< time at which the settled part begins
  std::size_t settled_round = 0;  ///< first round of the settled part
};
std::string_view to_string(Steadiness::Verdict);

enum class StopReason { precision, time_limit, interrupted };
std::string_view to_string(StopReason);

/// Constant that the instrument adds to each time, measured at the start of the run.
struct InstrumentConstant {
  Nanoseconds value;         ///< subtracted from each reading
  Nanoseconds uncertainty;   ///< 95 % half-width: the scatter, and the uncertainty of the reference
  Nanoseconds grain;         ///< smallest step of the timer
  Nanoseconds scatter = {};  ///< part of the uncertainty that comes from the calibration kernels
};

/// Result of one of several processes.
struct ProcessTime {
  Nanoseconds median;
  std::optional<Hertz> clock;
  std::optional<Cycles> cycles;
};

/// A clock that drops while the device idles, and is woken before each block.
struct SleepingClock {
  Nanoseconds woken_for;  ///< launches without pause, after the idle time and before the block's first round
  /// Median time of one launch without waking, if blocks showed it.
  std::optional<Nanoseconds> time_asleep;
};

struct Measurement {
  Conditions conditions;
  Instrument instrument = Instrument::events;
  InstrumentConstant constant;
  std::vector<Round> rounds;  ///< sustained: the whole record; the settled part begins at settled_round
  /// The interval is to hold the median over processes: the reading of another process on another day. With
  /// several processes: the mean of their medians with Student's interval.
  TimeEstimate time;
  std::vector<ProcessTime> processes;  ///< one for each of several processes; empty for a single one
  /// The same median; the interval holds what this process would read again, for comparisons within it.
  TimeEstimate repeatability;
  Uncertainty uncertainty;
  ProcessVariation process_variation;  ///< as used for the interval
  bool is_placed_anew = false;         ///< operands lay in another place in each block
  std::optional<SleepingClock> sleeping_clock = {};
  std::optional<ClockEstimate> clock;
  std::optional<TimeAtReferenceClock> at_reference_clock;
  std::optional<Cycles> cycles;  ///< median over rounds of time × clock
  Distribution launches;
  std::vector<Mode> modes;  ///< empty unless the distribution has at least two
  std::optional<Recurrence> recurrence = {};
  /// Rounds missing from `rounds` because a launch blocked the host until the hold ended by itself.
  std::int64_t lost_rounds = 0;
  std::optional<Steadiness> steadiness;
  StopReason stop_reason = StopReason::precision;
  double precision_asked = 0.005;
  std::optional<Hertz> reference_clock_asked = {};
  Nanoseconds duration;  ///< host time that the measurement took
};

/// A number, a count, a boolean, or a word.
using Value = std::variant<double, std::int64_t, bool, std::string>;
/// Text for people: "0.25", "3", "yes"; a text stays as it is.
std::string to_string(const Value&);

struct Evidence {
  std::string key;  ///< snake_case; a number's ends with its unit: _s, _hz, _w, _celsius, _ratio
  Value value;
  bool operator==(const Evidence&) const = default;
};

/// A range of rounds, both ends included, counted from 0.
struct RoundRange {
  std::size_t first = 0, last = 0;
  bool operator==(const RoundRange&) const = default;
};
/// The place of a finding in a measurement.
struct FindingPlace {
  std::size_t measurement = 0;  ///< index into the result's measurements
  std::vector<RoundRange> rounds;
  bool operator==(const FindingPlace&) const = default;
};

/// A cause with numbers as evidence and one remedy.
struct Finding {
  std::string id;        ///< power_cap, thermal, idle_ramp, bimodal, timer_grain, launch_bound, …
  std::string sentence;  ///< cause and evidence
  std::string remedy;
  std::vector<Evidence> evidence;
  std::string headline = {};  ///< the sentence in a few words, for a list
  /// Relative change of the time: 0.11 is 11 %. nullopt if no number says so.
  std::optional<double> effect = {};
  std::vector<FindingPlace> places = {};  ///< empty for what holds at all times
};

/// Comparison with a float64 reference.
struct Verification {
  double relative_error = 0.0;  ///< L2 norm of the difference over L2 norm of the reference
  double tolerance = 0.0;
  std::int64_t checked = 0, total = 0;  ///< elements compared, elements of the output
  std::int64_t unwritten = 0;           ///< elements that still hold the poison
  bool passed = false;
  /// The operation runs the reference's own loops (on the CPU), or the reference is the result (simulated
  /// GPU): the check covers rounding and unwritten elements, not the formula.
  bool same_formula = false;
  /// Elements that are not what they must be, of a collective: each counts, whatever the others are.
  std::optional<std::int64_t> wrong = {};
};

/// Best rates reached on this device, burst and warm.
struct Ceilings {
  std::optional<double> bytes_per_second;  ///< a large copy: bytes read plus bytes written
  struct Compute {
    DataType dtype;
    double flops_per_second;
    std::string operation;
  };
  std::vector<Compute> compute;
};

/// One kernel (or memset) of a launch, as the device's tracer saw it in back-to-back launches.
struct LaunchKernel {
  std::string name;
  Nanoseconds median, minimum, maximum;
};

/// Number of one launch's kernels that ran at once: medians over traced launches.
struct KernelConcurrency {
  std::int64_t streams = 1;       ///< number of streams that kernels ran on
  std::int64_t most_at_once = 1;  ///< maximum at any moment
  double mean_at_once = 1.0;      ///< sum of the kernels' times over the time in which any of them ran
};

/// Counters of one launch, read in passes after the times.
struct LaunchCounters {
  CacheState cache = CacheState::warm;
  CounterReading reading;
};

/// A loop of launches as a program would run it: operands and plan made anew, an idle device before it, no
/// hold, no wait, a mark on either side of each launch.
struct IterationRun {
  std::int64_t count = 0;  ///< launches made: fewer than requested if it was interrupted
  /// Time between the marks of one launch; first: of launch 1. If the queue is empty they include the host's
  /// launch time.
  Nanoseconds first, minimum, mean, median, maximum;
  Nanoseconds first_launch_call;  ///< host time of the first launch call
  Nanoseconds host_time;          ///< host time of the whole loop, per launch
  struct ClockPoint {
    std::int64_t launch = 0;  ///< number of launches before this reading
    Hertz clock;              ///< mean since the previous point
  };
  std::vector<ClockPoint> clocks;
  std::optional<Nanoseconds> throttled_power, throttled_thermal;  ///< during the loop
};

/// Behaviour in the first moments without pause, after the bursts. It shows whether a sustained load, which
/// was not measured, would take another time.
struct LoadProbe {
  CacheState cache = CacheState::warm;
  Nanoseconds watched;                 ///< host time
  Nanoseconds time;                    ///< one launch: median over the last quarter
  std::optional<Hertz> clock;          ///< median over the last quarter
  std::optional<Watts> power;          ///< mean of the sensor's readings after the first fifth
  std::optional<double> power_capped;  ///< share of the time in which the power cap held the clock down
};

/// Why a part of the request is missing, though the times are there.
struct Shortfall {
  ExitCode exit_code = ExitCode::missing;
  std::string reason;
};

/// Everything known about one operation on one device.
struct Result {
  Subject subject;
  std::string provider, algorithm;
  bool stand_in = false;  ///< jitterscope's own implementation instead of PyTorch's: not PyTorch's time
  double flops = 0.0;
  Bytes bytes, workspace;
  std::optional<HeldMemory> held_memory;  ///< for operations that allocate
  Nanoseconds prepare_time;               ///< plan building, allocation, filling
  Nanoseconds first_call;                 ///< first launch until its end, including lazy loading
  Nanoseconds launch_cost;                ///< host time of one launch call, median
  /// A launch waits for the device before it returns, so it ran without a hold: times include the host's work
  /// within a launch.
  bool waits_for_device = false;
  std::vector<LaunchKernel> kernels;             ///< one launch's, in order; empty if not requested
  std::optional<KernelConcurrency> concurrency;  ///< concurrency of these; nullopt if there are none
  std::optional<Shortfall> without_kernels;      ///< why requested kernels are missing
  std::vector<LaunchCounters> counters;          ///< one for each timed cache state; empty if not requested
  std::optional<Shortfall> without_counters;     ///< why requested counters are missing
  std::vector<IterationRun> iterations;          ///< if requested
  std::vector<Measurement> measurements;
  std::optional<LoadProbe> load_probe;  ///< if requested
  std::vector<Finding> findings;
  std::optional<Verification> verification;
  std::string failure;  ///< why it could not be measured; empty if it was
};

/// A condition that differs between two measurements, and its values; nullopt if it was not set.
struct ConditionDifference {
  /// cache, load, data, queue, fresh_data, locked_clock_hz, placement, seed, provider or algorithm.
  std::string name;
  std::optional<Value> first, second;
  bool operator==(const ConditionDifference&) const = default;
};
/// Returns the differences in that order; empty if both were timed alike.
std::vector<ConditionDifference> differing_conditions(const Result& first_result, const Measurement& first,
                                                      const Result& second_result, const Measurement& second);

}  // namespace jitterscope
