// Work of a known number of core cycles.
#pragma once

#include <cstdint>

#include "jitterscope/units.hpp"

namespace jitterscope::cpu {

/// Takes `cycles` cycles of the core, plus a few dozen for the branches around.
void spend_cycles(std::int64_t cycles);

/// The core's clock now, by timing known cycles for about 40 us.
Hertz time_known_cycles();

}  // namespace jitterscope::cpu
