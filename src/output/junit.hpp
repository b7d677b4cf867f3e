// A gate's verdicts as a server for continuous integration reads them.
#pragma once

#include <span>
#include <string>

#include "experiment/gate.hpp"

namespace jitterscope {

/// JUnit's XML, as Jenkins and GitLab read it: a suite for each baseline, a test for each case; slower is a
/// failure, what has no time an error, undecided is skipped, or a failure where the gate is strict.
std::string junit_xml(std::span<const GateOutcome> outcomes, bool is_strict);

}  // namespace jitterscope
