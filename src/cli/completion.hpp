// The command line as data: what the man page, the completions and the reference pages are made of.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace jitterscope::cli {

/// A flag, or an argument that stands at its place without a name.
struct OptionDescription {
  std::string name;  ///< --json; of an argument its name alone
  bool is_argument = false;
  bool is_required = false;
  bool takes_several = false;
  std::string value;               ///< what stands behind it, as TEXT or FLOAT; empty where nothing does
  std::vector<std::string> words;  ///< the values, where no others are taken
  std::string description, default_value;
};

struct CommandDescription {
  std::string name, description, footer;
  bool takes_flags_of_tool = false;  ///< those that stand before the command may stand behind it as well
  std::vector<OptionDescription> options;
  std::vector<CommandDescription> commands;
};

/// As CLI11 has it, hidden options and commands left out.
CommandDescription describe(const CLI::App& app);

/// A footer's two parts: the command lines below "Examples:" or "Start with:", and the paragraphs after them.
struct Footer {
  std::vector<std::string> examples, paragraphs;
};
Footer read_footer(const std::string& footer);

// What the shell offers behind a half-typed command line: jitterscope __complete WORD…, which the scripts
// that `jitterscope reference bash|zsh|fish` prints ask at each press of the Tab key.

struct Completion {
  std::string word, description;  ///< the whole word, not its rest
};
struct Completions {
  std::vector<Completion> words;
  bool files = false;  ///< a file may stand here as well
};

/// `typed`: the words behind the program's name up to the cursor, the last of them unfinished or empty.
Completions complete(const CommandDescription& tool, const std::vector<std::string>& typed);

/// Answers `__complete WORD…`, one line "WORD<Tab>DESCRIPTION" for each and ":files" where files are meant;
/// nothing where the command line is another.
std::optional<int> run_completion(const CLI::App& app, int argc, char** argv);

/// Text of the script for bash, zsh or fish.
std::string completion_script(const std::string& shell);

}  // namespace jitterscope::cli
