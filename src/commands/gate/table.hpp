// Prints a gate's result for a terminal, a pull request and continuous integration.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "experiment/gate.hpp"
#include "output/text.hpp"

namespace jitterscope {

/// Returns "conv2d:n=8, warm burst".
std::string case_label(const GateCase& each);
/// Returns "+3.1 % (+2.6 to +3.6 %); the clock moved from 1980 to 1755 MHz, in cycles +0.1 ± 0.2 %".
std::string change_words(const GateCase& each, double margin);

/// Prints other differences, the verdict, then a table, in lines of at most `width` columns.
Text gate_text(std::span<const GateOutcome> outcomes, std::size_t width);

/// Returns the same for GitHub and similar sites; nothing in it is HTML.
std::string gate_markdown(std::span<const GateOutcome> outcomes);

// Below: verdicts for servers of continuous integration.

/// Returns JUnit's XML, as Jenkins and GitLab read it: a suite per baseline, a test per case. Slower is a
/// failure, a case without time an error, undecided is skipped, or a failure if the gate is strict.
std::string junit_xml(std::span<const GateOutcome> outcomes, bool is_strict);

}  // namespace jitterscope
