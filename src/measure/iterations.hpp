// How the time of a launch depends on how many there are: the loop that every benchmark begins with.
#pragma once

#include "jitterscope/measure.hpp"
#include "measure/session.hpp"

namespace jitterscope {

/// For each count of options.iterations the operation is prepared anew, the device rests for kIterationRest,
/// and so many launches run without a wait between them. An interruption, asked for before each launch, ends
/// the loop and keeps what there is.
std::vector<IterationRun> run_iterations(Session& session, const Operation& operation,
                                         const MeasureOptions& options);

/// Long enough for the SM clock of an idle GPU to leave its maximum where the driver lets it, and for its
/// temperature to fall by most of what a short load added.
inline constexpr Nanoseconds kIterationRest = seconds(1);

}  // namespace jitterscope
