#include "operation/parallel_step.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/kinds_collective.hpp"

namespace jitterscope {

std::size_t ParallelStep::launches() const {
  if (order.empty()) return network.calls.size();
  std::size_t sum = 0;
  for (const CallRange& range : order) sum += range.end - range.begin;
  return sum;
}

std::vector<std::size_t> ParallelStep::calls() const {
  std::vector<std::size_t> calls;
  const auto add = [&](const CallRange& range) {
    for (std::size_t c = range.begin; c < range.end; ++c) calls.push_back(c);
  };
  if (order.empty()) add({0, network.calls.size()});
  std::ranges::for_each(order, add);
  return calls;
}

bool runs_beside(const ParallelStep& step) {
  return std::ranges::any_of(step.exchanges,
                             [](const StepExchange& each) { return each.before > each.after; });
}

void check_step(const ParallelStep& step) {
  for (const CallRange& range : step.order) {
    if (range.begin >= range.end || range.end > step.network.calls.size())
      throw UsageError(fmt::format("{}: it launches calls {} to {}, and its network has {}", step.name,
                                   range.begin, range.end, step.network.calls.size()));
  }
  const std::size_t launches = step.launches();
  std::size_t begun = 0;
  for (const StepExchange& exchange : step.exchanges) {
    const std::string text = exchange.collective.text();
    if (!std::holds_alternative<Collective>(exchange.collective.parameters()))
      throw UsageError(fmt::format("{}: {} is no collective, and cannot be an exchange", step.name, text));
    if (exchange.after < begun)
      throw UsageError(fmt::format("{}: {} begins before the exchange in front of it", step.name, text));
    if (exchange.before < exchange.after || exchange.before > launches)
      throw UsageError(fmt::format("{}: {} lies between launches {} and {} of {}", step.name, text,
                                   exchange.after, exchange.before, launches));
    begun = exchange.after;
  }
  if (step.network.calls.empty() && step.exchanges.empty())
    throw UsageError(fmt::format("{}: the step has neither calls nor exchanges", step.name));
}

}  // namespace jitterscope
