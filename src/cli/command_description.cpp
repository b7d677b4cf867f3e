#include "cli/command_description.hpp"

#include <sstream>

namespace jitterscope::cli {
namespace {

// The type's name is followed by those of the validators: "TEXT:{auto,all}" where the values are known.
void read_type(const std::string& type_name, OptionDescription& description) {
  description.value = type_name.substr(0, type_name.find(':'));
  const std::size_t open = type_name.find(":{"), close = type_name.rfind('}');
  if (open == std::string::npos || close == std::string::npos) return;
  std::istringstream words(type_name.substr(open + 2, close - open - 2));
  for (std::string word; std::getline(words, word, ',');) description.words.push_back(word);
}

OptionDescription describe(const CLI::Option& option) {
  OptionDescription description;
  description.is_argument = option.get_positional();
  description.name = option.get_name(description.is_argument);
  // "-h,--help": the long name says more.
  if (!description.is_argument && !option.get_lnames().empty()) {
    description.name = "--" + option.get_lnames().front();
  }
  description.is_required = option.get_required();
  if (option.get_items_expected_max() > 0) read_type(option.get_type_name(), description);
  description.takes_several = option.get_items_expected_max() > 1;
  description.description = option.get_description();
  description.default_value = option.get_default_str();
  return description;
}

}  // namespace

CommandDescription describe(const CLI::App& app) {
  CommandDescription description{
      app.get_name(), app.get_description(), app.get_footer(), app.get_fallthrough(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_group().empty()) description.options.push_back(describe(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) description.commands.push_back(describe(*command));
  }
  return description;
}

Footer read_footer(const std::string& footer) {
  Footer parts;
  std::istringstream lines(footer);
  bool in_examples = false, begins_paragraph = true;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line == "Examples:" || line == "Start with:") {
      in_examples = !line.empty();
      begins_paragraph = true;
    } else if (in_examples) {
      parts.examples.push_back(line.substr(line.find_first_not_of(' ')));
    } else if (begins_paragraph) {
      parts.paragraphs.push_back(line);
      begins_paragraph = false;
    } else {
      parts.paragraphs.back() += " " + line;
    }
  }
  return parts;
}

}  // namespace jitterscope::cli
