// Describes the command line as data, for the man page, completions and reference pages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace jitterscope::cli {

/// A flag, or a positional argument.
struct OptionDescription {
  std::string name;  ///< --json; for an argument without dashes
  bool is_argument = false;
  bool is_required = false;
  bool takes_several = false;
  std::string value;               ///< type of the value, such as TEXT or FLOAT; empty if there is none
  std::vector<std::string> words;  ///< the allowed values, if there is a fixed list
  std::string description, default_value;
};

struct CommandDescription {
  std::string name, description, footer;
  bool takes_flags_of_tool = false;  ///< flags of the tool may follow the command, too
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
};

/// Describes CLI11's application without hidden options and commands.
CommandDescription describe(const CLI::App& app);

/// A footer's command lines below "Examples:" or "Start with:", and the paragraphs after them.
struct Footer {
  std::vector<std::string> examples, paragraphs;
};
Footer read_footer(const std::string& footer);

// Below: shell completion. The scripts that `jitterscope reference bash|zsh|fish` prints call `jitterscope
// __complete WORD…` when the user presses Tab.

struct Completion {
  std::string word, description;  ///< the whole word, not only the rest
};
struct Completions {
  std::vector<Completion> words;
  bool files = false;  ///< files are completed as well
};

/// `typed` holds the words after the program's name up to the cursor; the last is unfinished or empty.
Completions complete(const CommandDescription& tool, const std::vector<std::string>& typed);

/// Answers `__complete WORD…` with a line "WORD<Tab>DESCRIPTION" for each word, and ":files" if files fit.
/// Returns nullopt for any other command line.
std::optional<int> run_completion(const CLI::App& app, int argc, char** argv);

/// Returns the script for bash, zsh or fish.
std::string completion_script(const std::string& shell);

}  // namespace jitterscope::cli
