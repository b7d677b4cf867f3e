// A cause that may move a time, and how it is switched on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "explain/treatment.hpp"

namespace jitterscope::explain {

/// What decides whether a factor can be switched here.
struct FactorContext {
  DeviceDescription device = {};
  Operation operation;
  bool may_be_gated = true;
  std::vector<std::string> engines = {};  ///< that PyTorch may take for it; the first is its heuristic's
};

struct Dose {
  std::string text;  ///< "idle of 200 ms"
  std::function<void(Treatment&)> apply;
};

struct Factor {
  std::string id = {};           ///< idle, load, cache…
  std::string cause = {};        ///< for a sentence: "an idle before the loop"
  std::string usual = {};        ///< what the plain loop has in its place: "idle of 10 ms"
  std::vector<Dose> doses = {};  ///< the last is the strongest, which the screening uses
  /// A dose has more of it than the one before, so that a cause must grow from the first to the last.
  bool doses_grow = false;
  std::string remedy = {};                      ///< one sentence
  std::vector<std::string> not_told_from = {};  ///< ids of factors that look the same in so short a study
  std::string not_available = {};               ///< empty, or why it cannot be switched here
};

/// What the device and the operation decide; that launches may be gated is found out by launching.
FactorContext factor_context(Device& device, const Operation& operation);

/// Every factor, whether it can be switched here or not, in the order in which treatments are put together.
std::vector<Factor> all_factors(const FactorContext& context);
/// Those of the ids, all for none. Throws UsageError for one that is none, with the nearest.
std::vector<Factor> chosen_factors(const FactorContext& context, const std::vector<std::string>& ids);
/// Their ids, as --factors takes them.
std::vector<std::string> factor_ids();

}  // namespace jitterscope::explain
