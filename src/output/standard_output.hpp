// What a command prints as its result.
#pragma once

#include <string_view>

namespace jitterscope {

/// Prints at once. A failure is kept for check_standard_output(): what else there is to write, such as the
/// files of --json, is written first.
void print_result(std::string_view text);

/// Throws FailedError where anything that was printed did not arrive. A reader that wanted no more of it
/// (`| head`) is no failure.
void check_standard_output();

}  // namespace jitterscope
