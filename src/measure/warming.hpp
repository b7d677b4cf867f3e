// Whether a chip that still warms up may yet change its times, though they look level for now.
#pragma once

#include <optional>
#include <span>

#include "jitterscope/measurement.hpp"

namespace jitterscope {

/// Heat takes tens of seconds. Under a power cap leakage then costs clock: a record of some seconds is level
/// to 0.5 %, and 1 % from where it ends. True where the rise of the temperature, carried on for 20 s, reaches
/// the slowdown temperature; or where the power cap acts (or no counter tells) and the rise, carried on for a
/// slow stage of 40 s, may move times by 0.3 %, at 0.05 % for each degree. False where a round does not know
/// its temperature.
bool heat_may_still_move(std::span<const Round> rounds, std::optional<Celsius> slowdown_temperature);

}  // namespace jitterscope
