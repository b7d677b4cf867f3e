#include "cli/invocation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/completion.hpp"
#include "cli/ranks.hpp"
#include "cli/settings.hpp"
#include "device/cuda/clock_lock.hpp"
#include "jitterscope/version.hpp"
#include "output/output_file.hpp"
#include "output/text.hpp"

namespace jitterscope::cli {
namespace {

std::string typed(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i == 0 ? "" : " ") + std::string(argv[i]);
  return line;
}

// Prints an error; never throws, because the exit code remains if stderr is closed. Replaces control
// characters: names of files and their contents could move the terminal's cursor.
void complain(const std::string& sentence) {
  std::fputs(fmt::format("jitterscope: {}\n", harmless_lines(sentence)).c_str(), stderr);
}

int run(int argc, char** argv) {
  Invocation invocation;
  invocation.command_line = typed(argc, argv);
  invocation.executable = std::filesystem::read_symlink("/proc/self/exe").string();
  cuda::set_guardian_executable(invocation.executable);
  const bool is_guardian = argc == 4 && std::string_view(argv[1]) == cuda::kGuardianArgument;
  if (is_guardian) return cuda::run_clock_guardian(argv[2], std::atoi(argv[3]));

  CLI::App app("Measures how long GPU work takes, and why that time varies.", "jitterscope");
  app.set_version_flag("--version", "jitterscope " + std::string(version()));
  app.formatter(std::make_shared<WrappingFormatter>());
  app.require_subcommand(1);
  app.footer("Start with:\n  jitterscope run resnet18\n  jitterscope doctor");
  add_run_command(app, invocation);
  add_compare_command(app, invocation);
  add_gate_command(app, invocation);
  add_judge_command(app, invocation);
  add_collectives_command(app, invocation);
  add_plan_command(app, invocation);
  add_history_command(app);
  add_capture_command(app, invocation);
  add_replay_command(app, invocation);
  add_explain_command(app, invocation);
  add_study_command(app, invocation);
  add_advise_command(app, invocation);
  add_methods_command(app, invocation);
  add_engines_command(app, invocation);
  add_verify_pytorch_command(app, invocation);
  add_doctor_command(app, invocation);
  add_selftest_command(app, invocation);
  add_show_command(app);
  add_report_command(app);
  add_list_command(app, invocation);
  add_worker_command(app, invocation);
  add_reference_command(app, invocation);
  check_file_endings(app);
  check_whole_numbers(app);
  add_settings(app, invocation);
  if (const auto status = run_completion(app, argc, argv)) return *status;
  listen_for_interruption();
  std::vector<std::string> arguments = {argv + 1, argv + argc};
  invocation.program = take_program(arguments);
  invocation.arguments = arguments;
  if (const auto status = take_part(arguments, invocation)) return *status;
  try {
    std::vector<std::string> words = with_counter_names(arguments);
    std::ranges::reverse(words);  // CLI11 expects the reverse order
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    const bool is_help = error.get_exit_code() == 0;  // --help, --version
    if (is_help && !has_wrong_command(app, arguments)) {
      std::ostringstream text;
      const int status = app.exit(error, text, text);
      print_result(text.str());
      return status;
    }
    complain(explained(app, error, arguments));
    return static_cast<int>(ExitCode::usage);
  }
  return static_cast<int>(invocation.exit_code);
}

}  // namespace
}  // namespace jitterscope::cli

int main(int argc, char** argv) {
  using jitterscope::ExitCode;
  try {
    const int status = jitterscope::cli::run(argc, argv);
    jitterscope::check_standard_output();
    return status;
  } catch (const jitterscope::Error& error) {
    jitterscope::cli::complain(error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    jitterscope::cli::complain("out of memory");
    return static_cast<int>(ExitCode::failed);
  } catch (const std::exception& error) {
    jitterscope::cli::complain(error.what());
    return static_cast<int>(ExitCode::failed);
  }
}
