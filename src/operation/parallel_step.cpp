#include "operation/parallel_step.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"

namespace jitterscope {

bool runs_beside(const ParallelStep& step) {
  return std::ranges::any_of(step.exchanges,
                             [](const StepExchange& each) { return each.before > each.after; });
}

void check_step(const ParallelStep& step) {
  std::size_t begun = 0;
  for (const StepExchange& exchange : step.exchanges) {
    const std::string text = exchange.collective.text();
    if (!std::holds_alternative<Collective>(exchange.collective.parameters()))
      throw UsageError(fmt::format("{}: {} is no collective, and cannot be an exchange", step.name, text));
    if (exchange.after < begun)
      throw UsageError(fmt::format("{}: {} begins before the exchange in front of it", step.name, text));
    if (exchange.before < exchange.after || exchange.before > step.calls())
      throw UsageError(fmt::format("{}: {} lies between calls {} and {} of {}", step.name, text,
                                   exchange.after, exchange.before, step.calls()));
    begun = exchange.after;
  }
  if (step.passes < 1)
    throw UsageError(fmt::format("{}: {} passes; a step has one or more", step.name, step.passes));
  if (step.network.calls.empty() && step.exchanges.empty())
    throw UsageError(fmt::format("{}: the step has neither calls nor exchanges", step.name));
}

}  // namespace jitterscope
