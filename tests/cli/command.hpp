// Runs the built tool as a shell would.
#pragma once

#include <string>

namespace jitterscope::test {

/// Flags with which an operation takes milliseconds: its median is of no interest, and its kernels can be
/// traced.
inline const std::string kQuick =
    " --device virtual:h200 --cache warm --min-rounds 3 --time-limit 0.05 --no-ceilings";

struct Outcome {
  int exit_code = -1;  ///< -1: ended by a signal
  std::string output, errors;
};
/// `arguments` is shell text behind the tool's name: it may hold quotes and pipes.
Outcome run_tool(const std::string& arguments);

/// Exit code of scripts/validate-json: 0 valid, 1 not.
int validate_json(const std::string& text);

}  // namespace jitterscope::test
