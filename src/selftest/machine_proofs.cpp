#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "measure/round_timer.hpp"
#include "measure/timing_methods.hpp"
#include "selftest/proof.hpp"
#include "selftest/run_proofs.hpp"
#include "selftest/simulated_run.hpp"
#include "statistics/statistics.hpp"

// Proves times of kernels that spin for a known time: each takes as much longer as the empty kernel takes.

namespace jitterscope::selftest {
namespace {

constexpr std::array<std::int64_t, 5> kKnown = {1000, 2000, 5000, 10'000, 50'000};  // in nanoseconds
constexpr double kSlopeTolerance = 0.002;
// Accuracy of a calibrated pair of events, and three steps of the clock that the kernel reads.
constexpr Nanoseconds kResidualLimit = microseconds(0.1);

std::vector<std::int64_t> block_counts(const ProofContext& context) {
  if (!context.description().capabilities.launches_have_blocks) return {1};
  const std::int64_t processors = context.description().processors;
  return {1, processors, 8 * processors};
}

// Subtracts the time of an empty kernel: a kernel's own start and end are no error of the instrument.
class SpinSeries {
 public:
  explicit SpinSeries(Nanoseconds empty) : empty_(empty) {}

  void add(Nanoseconds known, Nanoseconds reported) {
    known_.push_back(known.value());
    reported_.push_back(reported.value());
    residuals_.push_back(reported - known - empty_);
  }

  std::vector<ProofLine> judge(std::int64_t blocks) const {
    const std::string where = fmt::format("{} block{}", blocks, blocks == 1 ? "" : "s");
    return {slope_line("slope, " + where, *statistics::fit_line(known_, reported_), kSlopeTolerance,
                       "reported over known time, 1 to 50 µs; 95 % interval of the fit"),
            residual_line("largest residual, " + where)};
  }

 private:
  ProofLine residual_line(std::string name) const {
    Nanoseconds worst;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < residuals_.size(); ++i) {
      if (std::abs(residuals_[i].value()) > std::abs(worst.value())) worst = residuals_[i];
      texts.push_back(fmt::format("{} at {:g} µs", microseconds_text(residuals_[i]), known_[i] * 1e-3));
    }
    return judged_line(
        std::move(name), "at most 0.1 µs", microseconds_text(worst),
        {ValueKind::seconds, worst.value() * 1e-9, {}, {}, around(0.0, to_seconds(kResidualLimit))},
        std::abs(worst.value()) <= kResidualLimit.value(),
        fmt::format("reported less known time, less the {:.3f} µs of an empty kernel: {}",
                    empty_.value() * 1e-3, joined(texts)));
  }

  Nanoseconds empty_;
  std::vector<double> known_, reported_;
  std::vector<Nanoseconds> residuals_;
};

}  // namespace

std::vector<ProofLine> prove_spin(ProofContext& context) {
  const std::vector<std::int64_t> counts = block_counts(context);
  const std::size_t total = counts.size() * (kKnown.size() + 1);
  std::size_t step = 0;
  const auto reported = [&](std::int64_t known, std::int64_t blocks) {
    const Operation operation(Spin{.amount = known, .blocks = blocks});
    context.begin_step(step++, total, operation.text());
    return measure_warm_burst(context, operation).time.median;
  };
  std::vector<ProofLine> lines;
  for (const std::int64_t blocks : counts) {
    SpinSeries series(reported(0, blocks));
    for (const std::int64_t known : kKnown) {
      series.add(Nanoseconds(static_cast<double>(known)), reported(known, blocks));
    }
    for (ProofLine& line : series.judge(blocks)) lines.push_back(std::move(line));
  }
  return lines;
}

// Proves cycles, the product of time and clock, with kernels that spin for known cycles.

std::vector<ProofLine> prove_cycles(ProofContext& context) {
  constexpr double kTolerance = 0.002;
  std::vector<std::int64_t> lengths = {20'000, 100'000, 400'000};  // 10 to 200 µs at 2 GHz
  if (!context.quick()) lengths = {20'000, 50'000, 100'000, 200'000, 400'000};
  std::vector<double> known, reported;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Operation operation(Spin{.unit = Spin::Unit::cycles, .amount = lengths[i]});
    context.begin_step(i, lengths.size(), operation.text());
    const Measurement measurement = measure_warm_burst(context, operation);
    if (!measurement.cycles) {
      return {skipped_line("reported cycles", "1.000 ± 0.002", "this device cannot tell its clock")};
    }
    known.push_back(static_cast<double>(lengths[i]));
    reported.push_back(measurement.cycles->value());
  }
  return {slope_line("reported cycles", *statistics::fit_line(known, reported), kTolerance,
                     "slope of reported over known cycles; 95 % interval of the fit")};
}

// Proves copies of known bytes: time grows in proportion, and no copy is faster than the memory bus.

namespace {

// Each copy is far larger than any last-level cache, so the cache shifts all three times equally.
constexpr std::int64_t kUnit = std::int64_t{256} << 20;
constexpr std::array<std::int64_t, 3> kMultiples = {1, 2, 4};

std::optional<double> number_of(const DeviceDescription& device, std::string_view key) {
  for (const Property& property : device.properties) {
    if (property.key != key) continue;
    double value = 0.0;
    const char* end = property.value.data() + property.value.size();
    if (std::from_chars(property.value.data(), end, value).ec == std::errc()) return value;
  }
  return std::nullopt;
}

// The bus moves data twice per cycle of the memory clock, on all its lines.
std::optional<double> bus_bytes_per_second(const DeviceDescription& device) {
  const auto bits = number_of(device, "memory_bus_bits");
  const auto clock = number_of(device, "maximum_memory_clock_mhz");
  if (!bits || !clock) return std::nullopt;
  return 2.0 * *clock * 1e6 * *bits / 8.0;
}

ProofLine proportion_line(const std::array<Nanoseconds, 3>& times) {
  constexpr double kTolerance = 0.02;
  // Differences cancel the cost of a launch and of what the cache still held.
  const Nanoseconds first = times[1] - times[0], second = (times[2] - times[1]) / 2.0;
  const double ratio = second / first;
  return judged_line(
      "time over bytes", fmt::format("1.00 ± {:.2f}", kTolerance), fmt::format("{:.4f}", ratio),
      {ValueKind::ratio, ratio, {}, {}, around(1.0, kTolerance)}, std::abs(ratio - 1.0) <= kTolerance,
      fmt::format("slope from 512 MiB to 1 GiB over that from 256 to 512 MiB; {}, {} and {}",
                  time_text(times[0], 1e-3), time_text(times[1], 1e-3), time_text(times[2], 1e-3)));
}

ProofLine bus_line(const DeviceDescription& device, const std::array<Nanoseconds, 3>& times) {
  double fastest = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double moved = 2.0 * static_cast<double>(kUnit * kMultiples[i]);  // read and written
    fastest = std::max(fastest, moved / to_seconds(times[i]));
  }
  const auto limit = bus_bytes_per_second(device);
  if (!limit) {
    return skipped_line("bandwidth", "at most the memory bus's",
                        fmt::format("the device does not say what its memory bus can do; {} were measured",
                                    rate_text(fastest, "B/s")));
  }
  return judged_line("bandwidth", "at most " + rate_text(*limit, "B/s"), rate_text(fastest, "B/s"),
                     {ValueKind::bytes_per_second, fastest, {}, {}, ProofTarget{0.0, *limit}},
                     fastest <= *limit,
                     fmt::format("{} of what the memory bus can do", percent_text(fastest / *limit)));
}

}  // namespace

std::vector<ProofLine> prove_copies(ProofContext& context) {
  std::array<Nanoseconds, 3> times;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Operation operation(Copy{.bytes = kUnit * kMultiples[i]});
    context.begin_step(i, times.size(), operation.text());
    times[i] = measure_warm_burst(context, operation).time.median;
  }
  return {proportion_line(times), bus_line(context.description(), times)};
}

// Proves clock stamps: one long kernel of known cycles runs between two marks and two stamps.

namespace {

// About 20 ms: the under 4 µs of a launch and the stamps are then a fifth of the tolerance.
constexpr std::int64_t kCycles = 40'000'000;
constexpr double kClockTolerance = 0.001;

struct ClockPair {
  Hertz stamped, counted;
};

std::optional<ClockPair> read_both(ProofContext& context, PreparedOperation& kernel) {
  Queue& queue = context.session().queue();
  QueueHold hold(queue);
  hold.begin();
  queue.launch(kernel);  // raises the clock for the timed launch
  const ClockStamp before = queue.stamp_clock();
  const Mark start = queue.mark();
  queue.launch(kernel);
  const Mark end = queue.mark();
  const ClockStamp after = queue.stamp_clock();
  hold.release();
  queue.wait();
  const auto reading = queue.clock_between(before, after);
  if (!reading) return std::nullopt;
  const Nanoseconds time = queue.elapsed(start, end) - context.session().calibration().events.value;
  return ClockPair{reading->frequency, Hertz(static_cast<double>(kCycles) / to_seconds(time))};
}

}  // namespace

std::vector<ProofLine> prove_clock(ProofContext& context) {
  const std::string name = "clock stamps", target = "1.000 ± 0.001";
  const std::size_t repetitions = context.quick() ? 5 : 15;
  const Operation operation(Spin{.unit = Spin::Unit::cycles, .amount = kCycles});
  const auto kernel = context.device().prepare(operation, InputData());
  std::vector<double> ratios, clocks;
  for (std::size_t i = 0; i < repetitions; ++i) {
    context.begin_step(i, repetitions, operation.text());
    const auto pair = read_both(context, *kernel);
    if (!pair) return {skipped_line(name, target, "this device cannot tell its clock")};
    ratios.push_back(pair->stamped / pair->counted);
    clocks.push_back(pair->stamped.value());
  }
  const double ratio = statistics::median(ratios);
  const auto [low, high] = std::minmax_element(ratios.begin(), ratios.end());
  return {judged_line(name, target, fmt::format("{:.4f} ({:.4f}–{:.4f})", ratio, *low, *high),
                      {ValueKind::ratio, ratio, *low, *high, around(1.0, kClockTolerance)},
                      std::abs(ratio - 1.0) <= kClockTolerance,
                      fmt::format("clock between stamps over known cycles per time between marks, at {}; "
                                  "median and range of {}",
                                  clock_text(Hertz(statistics::median(clocks))), repetitions))};
}

// Proves agreement with the tracing library, which reads starts and ends of kernels on its own.

namespace {

constexpr Nanoseconds kLimit = microseconds(0.15);
constexpr double kRelativeLimit = 0.005;
constexpr std::string_view kTraceTarget = "0.15 µs or 0.5 %";

std::vector<Operation> traced_operations(const ProofContext& context) {
  const DeviceDescription& device = context.description();
  const std::int64_t blocks = device.capabilities.launches_have_blocks ? device.processors : 1;
  std::vector<Operation> operations = {Operation(Spin{.amount = 10'000, .blocks = blocks}),
                                       short_product(device)};
  const std::vector<Operation> longer = sample_operations(device);
  operations.insert(operations.end(), longer.begin(), longer.begin() + (context.quick() ? 1 : 2));
  return operations;
}

Nanoseconds traced_time(ProofContext& context, const Operation& operation) {
  constexpr std::int64_t kQuickRounds = 7, kFullRounds = 21;
  MeasureOptions options;
  options.seed = context.seed();
  std::vector<double> times;
  for (const Nanoseconds time :
       trace_operation(context.device(), operation, options, context.quick() ? kQuickRounds : kFullRounds)) {
    times.push_back(time.value());
  }
  return Nanoseconds(statistics::median(times));
}

ProofLine agreement_line(const Operation& operation, Nanoseconds reported, Nanoseconds traced) {
  const Nanoseconds distance = reported - traced;
  const Nanoseconds limit = std::max(kLimit, traced * kRelativeLimit);
  return judged_line(operation.text(), std::string(kTraceTarget), microseconds_text(distance),
                     {ValueKind::seconds, distance.value() * 1e-9, {}, {}, around(0.0, to_seconds(limit))},
                     std::abs(distance.value()) <= limit.value(),
                     fmt::format("{} reported, {} traced: {}", time_text(reported, 1e-3),
                                 time_text(traced, 1e-3), change_text(distance / traced)));
}

}  // namespace

// Measures all untraced times first: tracing lengthens launches and slopes, even after it is off.
std::vector<ProofLine> prove_trace(ProofContext& context) {
  const std::vector<Operation> operations = traced_operations(context);
  const std::size_t total = 2 * operations.size();
  std::vector<std::optional<Nanoseconds>> reported;
  std::vector<ProofLine> lines;
  for (const Operation& operation : operations) {
    context.begin_step(reported.size(), total, operation.text());
    try {
      reported.emplace_back(measure_warm_burst(context, operation).time.median);
    } catch (const MissingError& error) {  // a library that one operation needs
      reported.emplace_back(std::nullopt);
      lines.push_back(skipped_line(operation.text(), std::string(kTraceTarget), error.what()));
    }
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!reported[i]) continue;
    context.begin_step(operations.size() + i, total, "traced: " + operations[i].text());
    lines.push_back(agreement_line(operations[i], *reported[i], traced_time(context, operations[i])));
  }
  return lines;
}

// Proves repeatability: how often a second fresh process finds its time in the interval of the first.

namespace {

constexpr int kPairs = 12;
// Two estimates with the same normal error differ by less than 1.96 of it with probability 2·Φ(1.96/√2) - 1 =
// 0.834, not 0.95, because the second one has an error, too.
constexpr double kExpectedShare = 0.834;
constexpr std::string_view kPairsTarget = "83 % or more";

struct Pairs {
  Frequency inside;
  double largest_distance = 0.0;  ///< relative

  void add(const TimeEstimate& first, const TimeEstimate& second) {
    inside.add(second.median >= first.low && second.median <= first.high);
    largest_distance = std::max(largest_distance, std::abs(second.median / first.median - 1.0));
  }
};

ProofLine pairs_line(const Operation& operation, const Pairs& pairs) {
  const Frequency& inside = pairs.inside;
  const statistics::Interval interval = statistics::clopper_pearson(inside.hits, inside.trials);
  const double probability = statistics::probability_of_at_most(inside.hits, inside.trials, kExpectedShare);
  return judged_line(
      operation.text(), std::string(kPairsTarget),
      fmt::format("{} of {}: {:.0f} % ({:.0f}–{:.0f} %)", inside.hits, inside.trials, inside.value() * 100,
                  interval.low * 100, interval.high * 100),
      {ValueKind::share, inside.value(), interval.low, interval.high, ProofTarget{kExpectedShare, 1.0}},
      verdict_on(inside, kExpectedShare),
      fmt::format(
          "second estimates within the first one's 95 % interval, with the exact 95 % interval of "
          "their share; so few have a probability of {:.2g} where intervals are right; largest distance "
          "{}",
          probability, percent_text(pairs.largest_distance)));
}

}  // namespace

std::vector<ProofLine> prove_pairs(ProofContext& context) {
  const MeasureInFreshProcess& measure = context.options().measure_in_fresh_process;
  if (!measure) throw UsageError("nothing here can start another process");
  std::vector<Operation> operations = sample_operations(context.description());
  if (context.quick()) operations.resize(1, operations.front());
  const std::size_t total = operations.size() * kPairs * 2;
  std::size_t run = 0;
  const auto next = [&](const Operation& operation) {
    context.begin_step(run, total, operation.text());
    // Each process has its own seed: other idles and orders, as for two users.
    return measure(operation, context.seed() + run++);
  };
  std::vector<ProofLine> lines;
  for (const Operation& operation : operations) {
    Pairs pairs;
    for (int pair = 0; pair < kPairs; ++pair) {
      const TimeEstimate first = next(operation);
      pairs.add(first, next(operation));
    }
    lines.push_back(pairs_line(operation, pairs));
  }
  return lines;
}

}  // namespace jitterscope::selftest
