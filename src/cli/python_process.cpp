#include "cli/python_process.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

#include "base/host_time.hpp"
#include "base/subprocess.hpp"
#include "cli/commands.hpp"
#include "cli/interpreter.hpp"
#include "cli/interruption.hpp"
#include "cli/python_subject.hpp"
#include "jitterscope/error.hpp"
#include "output/progress.hpp"
#include "worker/worker_plan.hpp"

namespace jitterscope::cli {

std::string ask_python(const std::string& name, const std::string& question, const Invocation& invocation) {
  ProgressLine line(stderr, host_time_now);
  SubprocessLimits limits{
      .interrupted = is_interrupted, .answers_interruption = true, .grace = seconds(10), .input = question};
  limits.error_line = [&](std::string_view text) { line.show(std::string(text), {1, 1}); };
  SubprocessOutcome outcome = run_subprocess({"/usr/bin/env", "JITTERSCOPE_PROGRAM=" + invocation.executable,
                                              interpreter(), "-m", "jitterscope", name},
                                             limits);
  line.clear();
  rethrow_written_error(outcome.output);
  if (outcome.exit_code == 0) return std::move(outcome.output);
  require_python(outcome);
  if (is_interrupted()) throw InterruptedError();
  throw FailedError(fmt::format("the process of Python ended with {}: {}",
                                outcome.signal != 0 ? fmt::format("signal {}", outcome.signal)
                                                    : fmt::format("exit code {}", outcome.exit_code),
                                last_line(outcome.errors)));
}

}  // namespace jitterscope::cli
