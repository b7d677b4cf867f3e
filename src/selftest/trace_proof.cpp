// The tracing library reads the start and end of kernels on its own: the tool's times must agree with it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "measure/method_comparison.hpp"
#include "selftest/proof_context.hpp"
#include "selftest/proof_lines.hpp"
#include "selftest/proofs.hpp"
#include "selftest/sample_operations.hpp"

namespace jitterscope::selftest {
namespace {

constexpr Nanoseconds kLimit = microseconds(0.15);
constexpr double kRelativeLimit = 0.005;
constexpr std::string_view kTarget = "0.15 µs or 0.5 %";

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
  return judged_line(operation.text(), std::string(kTarget), microseconds_text(distance),
                     {ValueKind::seconds, distance.value() * 1e-9, {}, {}, around(0.0, to_seconds(limit))},
                     std::abs(distance.value()) <= limit.value(),
                     fmt::format("{} reported, {} traced: {}", time_text(reported, 1e-3),
                                 time_text(traced, 1e-3), change_text(distance / traced)));
}

}  // namespace

// All of the tool's own times come first: with the tracer on, launches and slopes grow, and a library that
// was switched off again may leave some of that.
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
      lines.push_back(skipped_line(operation.text(), std::string(kTarget), error.what()));
    }
  }
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!reported[i]) continue;
    context.begin_step(operations.size() + i, total, "traced: " + operations[i].text());
    lines.push_back(agreement_line(operations[i], *reported[i], traced_time(context, operations[i])));
  }
  return lines;
}

}  // namespace jitterscope::selftest
