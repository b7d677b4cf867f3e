// The command line as data: what the man page, the completions and the reference pages are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

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

}  // namespace jitterscope::cli
