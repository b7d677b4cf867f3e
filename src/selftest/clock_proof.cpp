// One long kernel of known cycles between two marks and two clock stamps: both must tell the same clock.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "measure/gate_guard.hpp"
#include "selftest/proof_context.hpp"
#include "selftest/proof_lines.hpp"
#include "selftest/proofs.hpp"

namespace jitterscope::selftest {
namespace {

// About 20 ms: what a launch and the stamps take, under 4 µs, is then a fifth of the tolerance.
constexpr std::int64_t kCycles = 40'000'000;
constexpr double kClockTolerance = 0.001;

struct ClockPair {
  Hertz stamped, counted;
};

std::optional<ClockPair> read_both(ProofContext& context, PreparedOperation& kernel) {
  Queue& queue = context.session().queue();
  GateGuard gate(queue);
  gate.close();
  queue.launch(kernel);  // so that the timed one meets a running clock
  const ClockStamp before = queue.stamp_clock();
  const Mark start = queue.mark();
  queue.launch(kernel);
  const Mark end = queue.mark();
  const ClockStamp after = queue.stamp_clock();
  gate.open();
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

}  // namespace jitterscope::selftest
