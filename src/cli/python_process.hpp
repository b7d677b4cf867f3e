// What only a process of Python can do: a question on its standard input, the answer on its output.
#pragma once

#include <string>

namespace jitterscope::cli {

struct Invocation;

/// What `python3 -m jitterscope NAME` writes; a live line shows what it tells meanwhile. With Ctrl-C it
/// answers with what is known by then. Throws the error that it wrote, MissingError where Python has no
/// jitterscope, and FailedError where it ended otherwise.
std::string ask_python(const std::string& name, const std::string& question, const Invocation& invocation);

}  // namespace jitterscope::cli
