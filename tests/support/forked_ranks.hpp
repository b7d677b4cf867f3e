// Ranks as processes that are forked from a test.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

/// Runs `body` in `count` processes, one for each rank, and returns what each returned, by rank: its text,
/// "error: MESSAGE" if it threw, or "ended" if the process did not live to say anything. Once one has ended,
/// an exchange of the others throws FailedError. The test must have no threads.
std::vector<std::string> run_ranks(int count, const std::function<std::string(Ranks&)>& body);

}  // namespace jitterscope
