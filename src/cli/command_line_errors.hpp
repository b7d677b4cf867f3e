// What the reader of the command line refuses, as one sentence that says what to type.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace jitterscope::cli {

/// `arguments`: as typed, without the program's name.
std::string explained(const CLI::App& app, const CLI::ParseError& error,
                      const std::vector<std::string>& arguments);

/// Whether a word stands where a command is wanted and is none: its --help would be that of another thing.
bool has_wrong_command(const CLI::App& app, const std::vector<std::string>& arguments);

/// Names of the commands that --help shows, and of the options of one of them, without their dashes.
std::vector<std::string> command_names(const CLI::App& app);
std::vector<std::string> option_names(const CLI::App& command);

}  // namespace jitterscope::cli
