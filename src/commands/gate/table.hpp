// What a gate says: to a person at a terminal, and on the page of a pull request.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "experiment/gate.hpp"

namespace jitterscope {

/// "conv2d:n=8, warm burst"
std::string case_label(const GateCase& each);
/// "+3.1 % (+2.6 to +3.6 %); the clock moved from 1980 to 1755 MHz, in cycles +0.1 ± 0.2 %"
std::string change_words(const GateCase& each, double margin);

/// What else differs first, then the verdict, then a table. Lines of at most `width` columns.
std::string gate_text(std::span<const GateOutcome> outcomes, std::size_t width);

/// The same for GitHub and its kin: nothing in it is HTML.
std::string gate_markdown(std::span<const GateOutcome> outcomes);

// A gate's verdicts as a server for continuous integration reads them.

/// JUnit's XML, as Jenkins and GitLab read it: a suite for each baseline, a test for each case; slower is a
/// failure, what has no time an error, undecided is skipped, or a failure where the gate is strict.
std::string junit_xml(std::span<const GateOutcome> outcomes, bool is_strict);

}  // namespace jitterscope
