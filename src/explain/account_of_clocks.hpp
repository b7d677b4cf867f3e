// The part of the clocks in the difference of two results, and of power and heat, which act by them.
#pragma once

#include <string_view>
#include <vector>

#include "explain/account.hpp"

namespace jitterscope::explain {

/// Two results of the same work on devices of one name, in conditions that no other part has to bridge.
struct ClockedSides {
  const Measurement &first, &second;
  std::optional<Hertz> first_maximum = {}, second_maximum = {};  ///< maximum clocks of the devices
};

/// Returns what a clock that differs does, and power and temperature where they differ, which act by it.
std::vector<AccountedPart> parts_of_clocks(const ClockedSides& sides);

/// True if the effect of the machines' difference is in the part that parts_of_clocks has for the clock.
bool acts_by_clock(const RecordDifference& difference, const ClockedSides& sides);

}  // namespace jitterscope::explain
