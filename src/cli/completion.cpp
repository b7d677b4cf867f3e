#include "cli/completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/completion_values.hpp"
#include "output/standard_output.hpp"

namespace jitterscope::cli {
namespace {

template <class Described>
const Described* find_named(const std::vector<Described>& list, const std::string& name) {
  const auto found = std::ranges::find(list, name, &Described::name);
  return found == list.end() ? nullptr : &*found;
}

// Where the cursor is: in which command, behind which flag or at which argument.
struct Position {
  const CommandDescription* tool;
  const CommandDescription* command;
  const OptionDescription* flag = nullptr;  ///< the cursor is at its value
  std::size_t arguments = 0;                ///< those before
};

const OptionDescription* find_flag(const Position& position, const std::string& name) {
  const OptionDescription* flag = find_named(position.command->options, name);
  if (flag != nullptr || !position.command->takes_flags_of_tool) return flag;
  return find_named(position.tool->options, name);
}

Position walk(const CommandDescription& tool, const std::vector<std::string>& typed) {
  Position position{&tool, &tool};
  for (std::size_t i = 0; i + 1 < typed.size(); ++i) {
    const std::string& word = typed[i];
    if (position.flag != nullptr) {
      position.flag = nullptr;  // that was its value
    } else if (word.starts_with("-")) {
      const OptionDescription* flag = find_flag(position, word);
      if (flag != nullptr && !flag->value.empty()) position.flag = flag;
    } else if (const auto* command = find_named(position.command->commands, word)) {
      position.command = command;
    } else {
      ++position.arguments;
    }
  }
  return position;
}

// The last argument may take all that follow.
const OptionDescription* argument_at(const CommandDescription& command, std::size_t place) {
  const OptionDescription* last = nullptr;
  for (const OptionDescription& option : command.options) {
    if (!option.is_argument) continue;
    last = &option;
    if (place-- == 0) return last;
  }
  return last != nullptr && last->takes_several ? last : nullptr;
}

void add_flags(const CommandDescription& command, Completions& completions) {
  for (const OptionDescription& option : command.options) {
    const bool is_there =
        std::ranges::find(completions.words, option.name, &Completion::word) != completions.words.end();
    if (!option.is_argument && !is_there) completions.words.push_back({option.name, option.description});
  }
}

Completions candidates(const Position& position, const std::string& current) {
  const std::size_t equals = current.find('=');
  if (position.flag != nullptr) return complete_value(*position.command, *position.flag, current, "");
  if (current.starts_with("--") && equals != std::string::npos) {
    const OptionDescription* flag = find_flag(position, current.substr(0, equals));
    if (flag == nullptr || flag->value.empty()) return {};
    return complete_value(*position.command, *flag, current.substr(equals + 1),
                          current.substr(0, equals + 1));
  }
  Completions completions;
  if (current.starts_with("-")) {
    add_flags(*position.command, completions);
    if (position.command != position.tool && position.command->takes_flags_of_tool) {
      add_flags(*position.tool, completions);
    }
    return completions;
  }
  for (const CommandDescription& command : position.command->commands) {
    completions.words.push_back({command.name, command.description});
  }
  const OptionDescription* argument = argument_at(*position.command, position.arguments);
  return argument != nullptr ? complete_value(*position.command, *argument, current, "") : completions;
}

}  // namespace

Completions complete(const CommandDescription& tool, const std::vector<std::string>& typed) {
  const std::string current = typed.empty() ? "" : typed.back();
  Completions completions = candidates(walk(tool, typed), current);
  std::erase_if(completions.words,
                [&](const Completion& completion) { return !completion.word.starts_with(current); });
  return completions;
}

std::optional<int> run_completion(const CLI::App& app, int argc, char** argv) {
  constexpr std::string_view kComplete = "__complete";
  if (argc < 2 || argv[1] != kComplete) return std::nullopt;
  const Completions completions = complete(describe(app), {argv + 2, argv + argc});
  for (const Completion& completion : completions.words) {
    print_result(fmt::format("{}\t{}\n", completion.word, completion.description));
  }
  if (completions.files) print_result(":files\n");
  return 0;
}

}  // namespace jitterscope::cli
