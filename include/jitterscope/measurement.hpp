// The outcome of measuring: rounds, estimates, conditions, findings. Plain data.
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

/// Work of a caller's own: nothing is known of it but what the caller says.
struct Callable {
  std::string name;
  std::vector<Property> parameters = {};  ///< of a benchmark's case: n, 256; empty for a function alone
  bool operator==(const Callable&) const = default;
};
/// What is timed.
using Subject = std::variant<Callable, Operation>;
/// The operation's normal form, or the callable's name.
std::string to_string(const Subject&);
/// Null for a callable.
const Operation* operation_of(const Subject&);

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

/// The state that a time holds for: all that was set. Who ran it, and how, is in Result.
struct Conditions {
  CacheState cache = CacheState::warm;
  Load load = Load::burst;
  std::optional<DataKind> data = DataKind::normal;  ///< nothing: unknown, as of a callable's operands
  QueueMode queue = QueueMode::saturated;
  /// Each launch on operands that no launch has touched since several times the cache's size went by.
  bool fresh_data = false;
  std::optional<Hertz> locked_clock = {};      ///< where the user held the SM clock, what it was held at
  std::optional<std::int64_t> placement = {};  ///< of the operands, as the user fixed it; nothing: drawn anew
  std::uint64_t seed = 1;                      ///< of the operands' values, the idles and the orders
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
  Nanoseconds grain;  ///< smallest step of the values
  /// Each call of the round in its order, the untimed ones before the timed too, where calls may differ and
  /// are timed one by one; else empty.
  std::vector<Nanoseconds> calls = {};
  std::int64_t first_call = 0;  ///< the number of the first of `calls`, counted over the process
  std::int64_t block = -1;      ///< rounds behind the same idle share it; -1: alone
  std::int64_t placement = 0;   ///< which of the placements drawn for the operands; 0: as prepared
  std::int64_t process = 0;     ///< which of several processes measured it; blocks are each one's own
  std::optional<Hertz> clock;   ///< mean over the round, read on the device
  std::optional<SensorReading> sensors;  ///< just after the round

  /// Median of launches; where the timer's grain is as coarse as they vary, the mean of those near it, since
  /// a median of readings in steps is a step itself.
  Nanoseconds time() const;
};

/// Median over blocks with a 95 % interval (docs/method.md).
struct TimeEstimate {
  Nanoseconds median, low, high;
  std::int64_t rounds = 0;
  /// Half the interval over the median: 0.005 is ±0.5 %. Infinite below 6 rounds.
  double precision() const;
};

/// How far processes differ beyond what their rounds show: relative standard deviations of their medians.
struct ProcessVariation {
  double placed = 0.0;                  ///< where operands were placed anew between rounds
  double fixed = 0.0;                   ///< where they stayed: what another place would change is not seen
  std::int64_t degrees_of_freedom = 0;  ///< of the estimates; 0 where they were not measured but assumed
};

/// What an interval is made of, each part as the half-width of a 95 % interval.
struct Uncertainty {
  Nanoseconds rounds;      ///< how rounds vary in this process, in the placements that it drew
  Nanoseconds processes;   ///< how the next process would differ, as ProcessVariation says
  Nanoseconds instrument;  ///< how far the constant, which each process reads anew, may be off
};

/// From the fit t = a + b/f over rounds, read at f = reference; jackknife 95 % interval.
struct TimeAtReferenceClock {
  Hertz reference;
  Nanoseconds time, low, high;
  Nanoseconds fixed_part;          ///< a: does not follow the SM clock; not below zero
  double clock_share = 0.0;        ///< (b/f)/t at the reference: 1 is core-clock bound, 0 insensitive
  double clock_share_error = 0.0;  ///< standard error; at least how far the fit left 0 to 1
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

/// Slow calls that come back after a fixed number of calls: `slow` of every `period`.
struct Recurrence {
  std::int64_t period = 0, slow = 0;
  Nanoseconds fast_time, slow_time;  ///< medians of the other calls and of the slow ones
};

/// Whether a sustained load settled.
struct Steadiness {
  enum class Verdict {
    steady,
    warming_up,    ///< still getting faster
    slowing_down,  ///< still getting slower
    never_steady,  ///< kept changing level
    not_shown,     ///< no change is seen; too short or too noisy a record to call it steady
  };
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

/// What one of several processes found.
struct ProcessTime {
  Nanoseconds median;
  std::optional<Hertz> clock;
  std::optional<Cycles> cycles;
};

/// A clock that falls asleep while the device idles, and is woken before each block.
struct SleepingClock {
  Nanoseconds woken_for;  ///< launches without pause, behind the idle and before the block's first round
  /// Of one launch without that, where blocks of it showed the sleep: their median.
  std::optional<Nanoseconds> time_asleep;
};

struct Measurement {
  Conditions conditions;
  Instrument instrument = Instrument::events;
  InstrumentConstant constant;
  std::vector<Round> rounds;  ///< sustained: the whole record, the settled part from settled_round on
  /// Its interval holds the median over processes: what another process will read, another day. Where several
  /// processes measured it is the mean of their medians with Student's interval.
  TimeEstimate time;
  std::vector<ProcessTime> processes;  ///< of each, where several measured; else empty
  /// The same median; its interval holds what this process would read again, for comparisons within it.
  TimeEstimate repeatability;
  Uncertainty uncertainty;
  ProcessVariation process_variation;  ///< what the interval was made with
  bool is_placed_anew = false;         ///< operands lay in another place in each block
  std::optional<SleepingClock> sleeping_clock = {};
  std::optional<ClockEstimate> clock;
  std::optional<TimeAtReferenceClock> at_reference_clock;
  std::optional<Cycles> cycles;  ///< median over rounds of time × clock
  Distribution launches;
  std::vector<Mode> modes;  ///< two or more where the distribution has several, else empty
  std::optional<Recurrence> recurrence = {};
  /// Rounds that are not among `rounds`, since a launch held the host until the closed queue opened by
  /// itself.
  std::int64_t lost_rounds = 0;
  std::optional<Steadiness> steadiness;
  StopReason stop_reason = StopReason::precision;
  double precision_asked = 0.005;
  std::optional<Hertz> reference_clock_asked = {};
  Nanoseconds duration;  ///< host time that the measurement took
};

/// A number, a count, a yes or no, or a word.
using Value = std::variant<double, std::int64_t, bool, std::string>;
/// For people: "0.25", "3", "yes", a text as it is.
std::string to_string(const Value&);

struct Evidence {
  std::string key;  ///< snake_case, the unit of a number at its end: _s, _hz, _w, _celsius, _ratio
  Value value;
  bool operator==(const Evidence&) const = default;
};

/// Rounds in a row, both ends within, counted from 0.
struct RoundRange {
  std::size_t first = 0, last = 0;
  bool operator==(const RoundRange&) const = default;
};
/// Where in a measurement a finding happened.
struct FindingPlace {
  std::size_t measurement = 0;  ///< which of the result's, counted from 0
  std::vector<RoundRange> rounds;
  bool operator==(const FindingPlace&) const = default;
};

/// A cause, its evidence with numbers, and one remedy.
struct Finding {
  std::string id;        ///< power_cap, thermal, idle_ramp, bimodal, timer_grain, launch_bound, …
  std::string sentence;  ///< cause and evidence
  std::string remedy;
  std::vector<Evidence> evidence;
  std::string headline = {};  ///< the sentence in a few words, for a list
  /// By how much it moves the time, relative: 0.11 is 11 %. Nothing where no number says so.
  std::optional<double> effect = {};
  std::vector<FindingPlace> places = {};  ///< empty for what is true at all times
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

/// How many kernels of one launch ran at once: medians over traced launches.
struct KernelConcurrency {
  std::int64_t streams = 1;       ///< different ones that kernels ran on
  std::int64_t most_at_once = 1;  ///< at any moment
  double mean_at_once = 1.0;      ///< the sum of the kernels' times over the time in which any of them ran
};

/// What the device counted of one launch, in passes after the times.
struct LaunchCounters {
  CacheState cache = CacheState::warm;
  CounterReading reading;
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
  std::optional<Watts> power;          ///< mean of what the sensor said, but for the first fifth
  std::optional<double> power_capped;  ///< share of the time in which the power cap held the clock down
};

/// Why a part of what was asked for is not there, though the times are.
struct Shortfall {
  ExitCode exit_code = ExitCode::missing;
  std::string reason;
};

/// All that is known of one operation on one device.
struct Result {
  Subject subject;
  std::string provider, algorithm;
  bool stand_in = false;  ///< jitterscope's own way in place of PyTorch's: never its time
  double flops = 0.0;
  Bytes bytes, workspace;
  std::optional<HeldMemory> held_memory;  ///< of operations that allocate
  Nanoseconds prepare_time;               ///< plan building, allocation, filling
  Nanoseconds first_call;                 ///< first launch, to its end: what is loaded lazily
  Nanoseconds launch_cost;                ///< host time of one launch call, median
  /// A launch waits for the device before it returns, so that no gate held it: the times hold the host's work
  /// within a launch.
  bool waits_for_device = false;
  std::vector<LaunchKernel> kernels;             ///< of one launch, in their order; empty where not asked for
  std::optional<KernelConcurrency> concurrency;  ///< of these kernels; nothing where there are none
  std::optional<Shortfall> without_kernels;      ///< why they are not there, where they were asked for
  std::vector<LaunchCounters> counters;  ///< in each cache state that was timed; empty where not asked for
  std::optional<Shortfall> without_counters;  ///< why they are not there, where they were asked for
  std::vector<IterationRun> iterations;       ///< where counts were asked for
  std::vector<Measurement> measurements;
  std::optional<LoadProbe> load_probe;  ///< where it was asked for
  std::vector<Finding> findings;
  std::optional<Verification> verification;
  std::string failure;  ///< empty, or why it could not be measured
};

/// A condition that two measurements do not share, and what it was in each; nothing where it was not set.
struct ConditionDifference {
  /// cache, load, data, queue, fresh_data, locked_clock_hz, placement, seed, provider or algorithm.
  std::string name;
  std::optional<Value> first, second;
  bool operator==(const ConditionDifference&) const = default;
};
/// In that order; empty where the two were timed alike.
std::vector<ConditionDifference> differing_conditions(const Result& first_result, const Measurement& first,
                                                      const Result& second_result, const Measurement& second);

}  // namespace jitterscope
