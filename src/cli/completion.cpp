#include "cli/completion.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "device/virtual/open_virtual_device.hpp"
#include "model/named_models.hpp"
#include "operation/kinds.hpp"
#include "operation/model.hpp"
#include "output/output_file.hpp"
#include "record/words.hpp"
#include "selftest/run_proofs.hpp"

// Completes the values of flags and arguments.

namespace jitterscope::cli {

/// Returns all values, and whether files fit. `current` is the typed part of the value. `before` is the typed
/// part of the word before the value, such as `--cache=`; it begins each completion.
Completions complete_value(const CommandDescription& command, const OptionDescription& option,
                           const std::string& current, const std::string& before);

namespace {

// CLI11 appends the validators to the type's name: "TEXT:{auto,all}" if the values are known.
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
  // Takes the long name of "-h,--help", which says more.
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

namespace {

template <class Described>
const Described* find_named(const std::vector<Described>& list, const std::string& name) {
  const auto found = std::ranges::find(list, name, &Described::name);
  return found == list.end() ? nullptr : &*found;
}

// Position of the cursor: the command, and the flag or argument to complete.
struct Position {
  const CommandDescription* tool;
  const CommandDescription* command;
  const OptionDescription* flag = nullptr;  ///< flag whose value the cursor is at
  std::size_t arguments = 0;                ///< number of arguments before the cursor
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
      position.flag = nullptr;  // the word was its value
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

// Returns the argument at a place; the last one may take all words that follow.
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

namespace {

constexpr const char* kBash = R"SCRIPT(# Completion of jitterscope for bash.
_jitterscope() {
  local line=${COMP_LINE:0:COMP_POINT} breaks='' current before='' answer
  local -a words answers
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  current=${words[-1]}
  # bash replaces only what follows the last of these.
  [[ $COMP_WORDBREAKS != *:* ]] || breaks+=':'
  [[ $COMP_WORDBREAKS != *=* ]] || breaks+='='
  [[ -z $breaks ]] || before=${current%"${current##*[$breaks]}"}
  COMPREPLY=()
  mapfile -t answers < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null)
  for answer in "${answers[@]}"; do
    if [[ $answer == :files ]]; then
      compopt -o filenames 2>/dev/null
      mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${current##*[:=]}")
    else
      answer=${answer%%$'\t'*}
      COMPREPLY+=("${answer#"$before"}")
      [[ $answer != *[:=] ]] || compopt -o nospace 2>/dev/null
    fi
  done
}
complete -F _jitterscope jitterscope
)SCRIPT";

constexpr const char* kZsh = R"SCRIPT(#compdef jitterscope
# Completion of jitterscope for zsh.
_jitterscope() {
  local answer word shown files=no
  local -a answers whole open
  answers=("${(@f)$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
  for answer in "${answers[@]}"; do
    word=${answer%%$'\t'*} shown=${${answer%%$'\t'*}//:/\\:}
    [[ $answer != *$'\t'?* ]] || shown+=:${answer#*$'\t'}
    case $word in
      :files) files=yes ;;
      *[:=]) open+=("$shown") ;;
      ?*) whole+=("$shown") ;;
    esac
  done
  (( ! $#open )) || _describe -t open 'value' open -S ''
  (( ! $#whole )) || _describe -t whole 'value' whole
  [[ $files == no ]] || _files
}
if [[ $funcstack[1] == _jitterscope ]]; then
  _jitterscope "$@"
else
  compdef _jitterscope jitterscope
fi
)SCRIPT";

constexpr const char* kFish = R"SCRIPT(# Completion of jitterscope for fish.
function __jitterscope_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for answer in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    if test "$answer" = :files
      __fish_complete_path "$current"
    else
      echo $answer
    end
  end
end
complete -c jitterscope -f -a '(__jitterscope_complete)'
)SCRIPT";

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return kBash;
  return shell == "zsh" ? kZsh : kFish;
}

namespace {

std::vector<std::string> proof_names() {
  std::vector<std::string> names;
  for (const selftest::Proof& proof : selftest::all_proofs()) names.emplace_back(proof.name);
  return names;
}

template <class Value>
std::vector<std::string> words_in_order() {
  std::vector<std::string> words;
  for (const Value value : enumerators(Value())) words.emplace_back(to_string(value));
  return words;
}

std::vector<std::string> with_auto(std::vector<std::string> words) {
  words.insert(words.begin(), "auto");
  return words;
}

// Returns values that are words of the measuring library, unknown to CLI11. completion_test compares them
// with those that the program accepts.
std::vector<std::string> known_words_of(const CommandDescription& command, const OptionDescription& option) {
  static const std::map<std::string, std::vector<std::string>> words = {
      {"--cache", words_in_order<CacheState>()}, {"--load", words_in_order<Load>()},
      {"--queue", words_in_order<QueueMode>()},  {"--instrument", with_auto(words_in_order<Instrument>())},
      {"--data", words_in_order<DataKind>()},    {"--provider", with_auto({"torch", "builtin"})},
      {"--findings", {"none", "top", "all"}},    {"--lock-clocks", {"base", "max"}}};
  if (!option.words.empty()) return option.words;
  if (command.name == "selftest" && option.name == "--only") return proof_names();
  const auto found = words.find(option.name);
  return found == words.end() ? std::vector<std::string>() : found->second;
}

// True if the description is like "write everything to PATH or - (stdout)".
bool takes_file(const OptionDescription& option) {
  static const std::set<std::string> names = {"--python", "--trace", "--log", "files"};
  return names.contains(option.name) || option.value == "FILE" ||
         option.description.find("PATH") != std::string::npos;
}

// Returns the part of a list a,b,c before the value at the cursor.
std::string list_before(const std::string& current) { return current.substr(0, current.rfind(',') + 1); }

void add_devices(const std::string& current, const std::string& before, Completions& completions) {
  constexpr std::string_view kWithout = ",without=";
  const std::size_t without = current.find(kWithout);
  if (without != std::string::npos) {
    const std::size_t last = std::max(current.rfind('+') + 1, without + kWithout.size());
    for (const std::string& name : virtual_gpu::mechanism_names()) {
      completions.words.push_back({before + current.substr(0, last) + name, "without this cause"});
    }
    return;
  }
  for (const char* name : {"auto", "cpu", "cuda", "virtual"})
    completions.words.push_back({before + name, ""});
  for (const std::string& name : virtual_gpu::preset_names()) {
    completions.words.push_back({before + "virtual:" + name, "simulated GPU"});
  }
}

// `before` is KIND:name=value up to the last comma; `rest` is a name, or a name and a value.
void add_parameter(const ParameterHelp& parameter, const std::vector<std::string>& words,
                   const std::string& before, const std::string& rest, Completions& completions) {
  const std::size_t equals = rest.find('=');
  const std::string taken = parameter.name + "=";
  if (equals == std::string::npos) {
    if (before.find(":" + taken) == std::string::npos && before.find("," + taken) == std::string::npos)
      completions.words.push_back({before + taken, parameter.meaning});
  } else if (rest.substr(0, equals) == parameter.name) {
    for (const std::string& word : words) completions.words.push_back({before + taken + word, ""});
  }
}

// Returns the words that an option of a model takes.
std::vector<std::string> words_of_model(const ParameterHelp& option) {
  if (option.name == "dtype") return printed_words<DataType>();
  if (option.name == "layout") return printed_words<Layout>();
  std::vector<std::string> words;
  if (option.name == "direction") words = printed_words<Direction>();
  if (option.name == "direction") words.push_back(option.default_value);
  return words;
}

void add_target_parameters(const std::string& current, const std::string& before, Completions& completions) {
  const std::size_t colon = current.find(':');
  const std::string name = current.substr(0, colon);
  const std::size_t last = std::max(current.rfind(',') + 1, colon + 1);
  const std::string begun = before + current.substr(0, last), rest = current.substr(last);
  for (const kinds::Kind& kind : kinds::all()) {
    for (std::size_t i = 0; kind.help.kind == name && i < kind.words.size(); ++i)
      add_parameter(kind.help.parameters[i], kind.words[i], begun, rest, completions);
  }
  for (const ModelDescription& model : named_models()) {
    if (model.name != name) continue;
    for (const ParameterHelp& option : model.options)
      add_parameter(option, words_of_model(option), begun, rest, completions);
  }
}

void add_operations(const std::string& before, Completions& completions) {
  for (const OperationHelp& help : operation_help()) {
    const char* end = help.kind == "aten" ? "::" : ":";  // aten::relu(f32[64])
    completions.words.push_back({before + help.kind + end, help.summary});
  }
}

void add_models(const std::string& before, Completions& completions) {
  for (const ModelDescription& model : named_models()) {
    completions.words.push_back({before + model.name, model.sentence});
  }
  for (const std::string& name : model_names()) completions.words.push_back({before + name, "model file"});
}

// Completes operations, networks and files, depending on the argument's name.
void add_targets(const std::string& argument, const std::string& current, const std::string& before,
                 Completions& completions) {
  if (current.find(':') != std::string::npos) {
    add_target_parameters(current, before, completions);
    return;
  }
  if (argument == "targets" || argument == "operation") add_operations(before, completions);
  if (argument != "operation") add_models(before, completions);
  completions.files = argument == "targets" || argument == "what";
  if (argument != "what") return;
  for (const char* section : {"operations", "devices", "providers", "models", "counters"}) {
    completions.words.push_back({before + section, "section of the list"});
  }
}

}  // namespace

Completions complete_value(const CommandDescription& command, const OptionDescription& option,
                           const std::string& current, const std::string& before) {
  Completions completions;
  const std::vector<std::string> words = known_words_of(command, option);
  if (!words.empty()) {
    const std::string list = option.takes_several ? list_before(current) : "";
    for (const std::string& word : words) completions.words.push_back({before + list + word, ""});
  } else if (option.name == "--device") {
    add_devices(current, before, completions);
  } else if (option.is_argument) {
    add_targets(option.name, current, before, completions);
  } else {
    completions.files = takes_file(option);
  }
  return completions;
}

}  // namespace jitterscope::cli
