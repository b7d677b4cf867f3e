#include "explain/factor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "device/operand_rows.hpp"
#include "explain/factors/factors.hpp"
#include "jitterscope/error.hpp"
#include "operation/traffic.hpp"

namespace jitterscope::explain {

// An idle comes behind a load. Where time is short, those at the end are left out: what power, caches and the
// shape of a loop do is asked most.
std::vector<Factor> all_factors(const FactorContext& context) {
  return {factors::load(context),
          factors::idle(context),
          factors::cache(context),
          factors::launches(context),
          factors::data(context),
          factors::queue(context),
          factors::synchronization(context),
          factors::engine(context),
          factors::traffic(context),
          factors::host_delay(context),
          factors::host_scheduling(context),
          factors::allocator(context),
          factors::alignment(context),
          factors::row_stride(context),
          factors::heap(context),
          factors::instrument(context),
          factors::contention_kernels(context),
          factors::contention_memory(context),
          factors::contention_link(context),
          factors::neighbour_kernels(context),
          factors::neighbour_memory(context),
          factors::neighbour_link(context)};
}

FactorContext factor_context(Device& device, const Subject& subject) {
  constexpr std::size_t kMostEngines = 4;
  FactorContext context{.device = device.describe(), .is_callable = subject.callable() != nullptr};
  const Operation* operation = subject.operation();
  context.has_row_strides =
      operation != nullptr && !context.device.capabilities.is_simulated && has_matrices(*operation);
  context.lies_in_pages = operation != nullptr;
  if (operation == nullptr) return context;
  context.operand_memory = operand_memory(*operation);
  if (!context.device.capabilities.is_simulated) context.alignment = Bytes(1);
  context.reads_data = !std::holds_alternative<Spin>(operation->parameters());
  for (const EngineListing& engine : device.list_engines(*operation)) {
    const bool is_known = std::ranges::find(context.engines, engine.tag) != context.engines.end();
    if (engine.source == EngineListing::Source::heuristic && !is_known &&
        context.engines.size() < kMostEngines) {
      context.engines.push_back(engine.tag);
    }
  }
  return context;
}

std::vector<Factor> chosen_factors(const FactorContext& context, const std::vector<std::string>& ids) {
  const std::vector<std::string> known = factor_ids();
  for (const std::string& id : ids) {
    if (std::ranges::find(known, id) == known.end()) {
      throw UsageError(fmt::format("--factors: no factor is called '{}'{}", id, suggestion(id, known)));
    }
  }
  std::vector<Factor> chosen = all_factors(context);
  std::erase_if(chosen, [&](const Factor& factor) {
    return !ids.empty() && std::ranges::find(ids, factor.id) == ids.end();
  });
  return chosen;
}

std::vector<std::string> factor_ids() {
  std::vector<std::string> ids;
  for (const Factor& factor : all_factors(FactorContext())) ids.push_back(factor.id);
  return ids;
}

}  // namespace jitterscope::explain
