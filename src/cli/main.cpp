#include "cli/commands.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "cli/command_line_errors.hpp"
#include "cli/completion.hpp"
#include "cli/hidden_commands.hpp"
#include "cli/interruption.hpp"
#include "cli/settings.hpp"
#include "device/cuda/clock_lock.hpp"
#include "jitterscope/version.hpp"

namespace jitterscope::cli {
namespace {

std::string typed(int argc, char** argv) {
  std::string line;
  for (int i = 0; i < argc; ++i) line += (i == 0 ? "" : " ") + std::string(argv[i]);
  return line;
}

int run(int argc, char** argv) {
  Invocation invocation;
  invocation.command_line = typed(argc, argv);
  invocation.executable = std::filesystem::read_symlink("/proc/self/exe").string();
  cuda::set_guardian_executable(invocation.executable);
  if (const auto status = run_hidden_command(argc, argv)) return *status;

  CLI::App app("How long GPU work takes, and why that time varies.", "jitterscope");
  app.set_version_flag("--version", "jitterscope " + std::string(version()));
  app.require_subcommand(1);
  app.footer("Start with:\n  jitterscope run resnet18\n  jitterscope doctor");
  add_run_command(app, invocation);
  add_methods_command(app, invocation);
  add_engines_command(app, invocation);
  add_verify_pytorch_command(app, invocation);
  add_doctor_command(app, invocation);
  add_selftest_command(app, invocation);
  add_list_command(app, invocation);
  add_reference_command(app, invocation);
  add_settings(app, invocation);
  if (const auto status = run_completion(app, argc, argv)) return *status;
  listen_for_interruption();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fmt::print(stderr, "jitterscope: {}\n", explained(app, error, {argv + 1, argv + argc}));
    return static_cast<int>(ExitCode::usage);
  }
  return static_cast<int>(invocation.exit_code);
}

}  // namespace
}  // namespace jitterscope::cli

int main(int argc, char** argv) {
  using jitterscope::ExitCode;
  try {
    return jitterscope::cli::run(argc, argv);
  } catch (const jitterscope::Error& error) {
    fmt::print(stderr, "jitterscope: {}\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "jitterscope: out of memory\n");
    return static_cast<int>(ExitCode::failed);
  } catch (const std::exception& error) {
    fmt::print(stderr, "jitterscope: {}\n", error.what());
    return static_cast<int>(ExitCode::failed);
  }
}
