// Declares the subcommands. Each function adds one to the command line, which runs it from a callback.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "jitterscope/error.hpp"

namespace jitterscope::group {
class Group;
}

namespace jitterscope::cli {

/// Data that main and a subcommand exchange.
struct Invocation {
  std::string command_line;            ///< as typed, for the record
  std::vector<std::string> program;    ///< of `capture`: the words behind --
  std::vector<std::string> arguments;  ///< as typed, without the program's name and what is behind --
  std::string rendezvous;              ///< where ranks meet, as --rendezvous says; empty: not typed
  /// The ranks of this job, if there are several; this process is rank 0.
  std::shared_ptr<group::Group> ranks;
  std::string executable;  ///< path of this program, for the processes that it starts
  std::string settings;    ///< sentence on values from the settings file; empty if there are none
  std::vector<const CLI::Option*> options_of_settings;  ///< options whose values come from the settings file
  ExitCode exit_code = ExitCode::done;
};

/// A command and its flags, which live as long as the command line.
template <class Flags>
struct DeclaredCommand {
  CLI::App& command;
  Flags& flags;
};

/// Adds a command to the command line. If it is typed, `carry_out` is called with its flags and itself.
template <class Flags, class CarryOut>
DeclaredCommand<Flags> declare_command(CLI::App& app, const char* name, const char* description,
                                       const char* examples, CarryOut carry_out) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(name, description);
  command->footer(examples);
  command->callback([flags, command, carry_out = std::move(carry_out)] {
    carry_out(std::as_const(*flags), std::as_const(*command));
  });
  return {*command, *flags};
}

void add_run_command(CLI::App& app, Invocation& invocation);
void add_compare_command(CLI::App& app, Invocation& invocation);
void add_gate_command(CLI::App& app, Invocation& invocation);
void add_judge_command(CLI::App& app, Invocation& invocation);
void add_collectives_command(CLI::App& app, Invocation& invocation);
void add_plan_command(CLI::App& app, Invocation& invocation);
void add_history_command(CLI::App& app);
void add_capture_command(CLI::App& app, Invocation& invocation);
void add_worker_command(CLI::App& app, Invocation& invocation);
void add_methods_command(CLI::App& app, Invocation& invocation);
void add_doctor_command(CLI::App& app, Invocation& invocation);
void add_selftest_command(CLI::App& app, Invocation& invocation);
void add_engines_command(CLI::App& app, Invocation& invocation);
void add_study_command(CLI::App& app, Invocation& invocation);
void add_advise_command(CLI::App& app, Invocation& invocation);
void add_explain_command(CLI::App& app, Invocation& invocation);
void add_replay_command(CLI::App& app, Invocation& invocation);
void add_verify_pytorch_command(CLI::App& app, Invocation& invocation);
void add_show_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_list_command(CLI::App& app, Invocation& invocation);
void add_reference_command(CLI::App& app, Invocation& invocation);

// Below: handling of Ctrl-C and other signals.

/// From now on SIGINT, SIGTERM and SIGHUP are remembered. The measuring loop checks between rounds, ends, and
/// keeps its results. A signal more than 1 s later ends the process at once (a guardian restores the clocks).
void listen_for_interruption();
bool is_interrupted();
/// Those of these signals that this process was begun to ignore, as by `nohup` or in the background of a
/// script.
std::vector<int> signals_ignored_before();

}  // namespace jitterscope::cli
