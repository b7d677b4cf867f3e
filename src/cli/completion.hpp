// What the shell offers behind a half-typed command line: jitterscope __complete WORD…, which the scripts
// that `jitterscope reference bash|zsh|fish` prints ask at each press of the Tab key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_description.hpp"

namespace jitterscope::cli {

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
