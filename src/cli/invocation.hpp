// The subcommands. Each file adds one to the command line and runs it from its callback.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "jitterscope/error.hpp"

namespace jitterscope::cli {

/// What a subcommand gets from main, and gives back.
struct Invocation {
  std::string command_line;  ///< as typed, for the record
  std::string executable;    ///< path of this program, for the processes it starts
  std::string settings;      ///< a sentence: what was taken from the settings file; empty where nothing was
  std::vector<const CLI::Option*> options_of_settings;  ///< that have their value from it
  ExitCode exit_code = ExitCode::done;
};

void add_run_command(CLI::App& app, Invocation& invocation);
void add_compare_command(CLI::App& app, Invocation& invocation);
void add_gate_command(CLI::App& app, Invocation& invocation);
void add_history_command(CLI::App& app);
void add_worker_command(CLI::App& app, Invocation& invocation);
void add_methods_command(CLI::App& app, Invocation& invocation);
void add_doctor_command(CLI::App& app, Invocation& invocation);
void add_selftest_command(CLI::App& app, Invocation& invocation);
void add_engines_command(CLI::App& app, Invocation& invocation);
void add_study_command(CLI::App& app, Invocation& invocation);
void add_advise_command(CLI::App& app, Invocation& invocation);
void add_explain_command(CLI::App& app, Invocation& invocation);
void add_verify_pytorch_command(CLI::App& app, Invocation& invocation);
void add_show_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_list_command(CLI::App& app, Invocation& invocation);
void add_reference_command(CLI::App& app, Invocation& invocation);

// Ctrl-C and its kin: asked for, not suffered.

/// From now on SIGINT, SIGTERM and SIGHUP are remembered; the measuring loop asks between rounds, ends,
/// and keeps what it has. A signal more than a second later ends the process at once (clocks are restored by
/// their guardian).
void listen_for_interruption();
bool is_interrupted();

}  // namespace jitterscope::cli
