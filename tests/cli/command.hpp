// Runs the built tool as a shell would.
#pragma once

#include <string>

namespace jitterscope::test {

struct Outcome {
  int exit_code = -1;  ///< -1: ended by a signal
  std::string output, errors;
};
/// `arguments` is shell text behind the tool's name: it may hold quotes and pipes.
Outcome run_tool(const std::string& arguments);

/// Exit code of scripts/validate-json: 0 valid, 1 not.
int validate_json(const std::string& text);

}  // namespace jitterscope::test
