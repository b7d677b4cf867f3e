// A comparison carried out: its alternatives beside each other in fresh processes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/pairing.hpp"

namespace jitterscope::cli {

struct Invocation;

/// The alternatives, and how long comparing them takes: for --dry-run.
std::string comparison_plan_text(const ComparedWork& work, const ComparisonRecord& record);

/// In as many processes as the record asks for, with a live line; where there is a budget, none but the first
/// is started after it. Fills what the record does not have yet: all but alternatives, device and
/// environment. Returns how long each process took.
std::vector<Nanoseconds> compare_in_processes(const ComparedWork& work, const Invocation& invocation,
                                              ComparisonRecord& record,
                                              std::optional<Nanoseconds> budget = {});

}  // namespace jitterscope::cli
