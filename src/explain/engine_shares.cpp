#include "explain/engine_shares.hpp"

#include <fmt/format.h>
#include <algorithm>
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "measure/engine_choice.hpp"
#include "measure/sequence.hpp"
#include "operation/operation.hpp"

namespace jitterscope::explain {

namespace {

constexpr std::uint64_t kOperandSets = 4;
constexpr int kChoicesOfASet = 3;
constexpr Nanoseconds kWhilePlansAreBuilt = milliseconds(20);

void add_choice(EngineShares& shares, const std::string& taken) {
  const auto known = std::ranges::find(shares.engines, taken, &EngineShare::engine);
  if (known != shares.engines.end()) {
    ++known->choices;
  } else {
    shares.engines.push_back({taken, 1});
  }
  ++shares.choices;
}

void choose_again_and_again(Session& session, const Operation& operation, std::uint64_t seed,
                            Nanoseconds time_limit, EngineShares& shares) {
  const Nanoseconds start = session.device().host_time();
  for (std::uint64_t set = 0; set < kOperandSets; ++set) {
    if (session.device().host_time() - start > time_limit) return;
    AutotuneImitation imitation(session, operation, {.seed = seed + set});
    if (imitation.candidates().size() < 2) return;
    for (int i = 0; i < kChoicesOfASet; ++i) {
      add_choice(shares, imitation.candidates()[imitation.choose(kWhilePlansAreBuilt)]);
    }
  }
}

}  // namespace

EngineShares count_choices(Session& session, const Operation& operation, std::uint64_t seed,
                           Nanoseconds time_limit) {
  EngineShares shares;
  if (session.device().list_engines(operation).size() < 2) return shares;
  try {
    choose_again_and_again(session, operation, seed, time_limit, shares);
  } catch (const Error&) {  // such as no memory for more operands: keep what was counted
  }
  std::ranges::stable_sort(shares.engines, std::greater(), &EngineShare::choices);
  return shares;
}

std::string sentence_of(const EngineShares& shares) {
  if (shares.choices == 0) return {};
  std::vector<std::string> parts;
  for (const EngineShare& share : shares.engines) {
    parts.push_back(fmt::format("{} was taken {} times", share.engine, share.choices));
  }
  return fmt::format("of {} choices by timing, as torch.backends.cudnn.benchmark makes them, {}",
                     shares.choices, joined(parts));
}

}  // namespace jitterscope::explain
