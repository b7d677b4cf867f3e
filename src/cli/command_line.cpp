#include "cli/command_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "cli/targets.hpp"
#include "jitterscope/error.hpp"
#include "model/named_models.hpp"
#include "operation/words.hpp"
#include "output/text.hpp"

namespace jitterscope::cli {
namespace {

std::string without_dashes(std::string_view option) {
  option = option.substr(0, option.find('='));
  return std::string(option.substr(std::min(option.size(), option.find_first_not_of('-'))));
}

const CLI::App* command_of(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  if (parsed.empty()) return nullptr;
  const CLI::App* below = command_of(*parsed.front());  // as in `history list`
  return below == nullptr ? parsed.front() : below;
}

// Returns the name with that of its parent: "history list".
std::string full_name(const CLI::App& command) {
  const CLI::App* above = command.get_parent();
  const bool is_below = above != nullptr && above->get_parent() != nullptr;
  return (is_below ? full_name(*above) + " " : "") + command.get_name();
}

// Returns the first example in the footer of --help.
std::string example_of(const CLI::App& command) {
  const std::string footer = command.get_footer();
  const std::size_t begin = footer.find("jitterscope ");
  if (begin == std::string::npos) return "jitterscope " + full_name(command);
  return footer.substr(begin, footer.find('\n', begin) - begin);
}

bool is_option_of(const CLI::App& command, const std::string& name) {
  const std::vector<std::string> known = option_names(command);
  return std::find(known.begin(), known.end(), name) != known.end();
}

// True for names that users type as an option but that belong in the operation or model.
bool belongs_to_target(const std::string& name) {
  constexpr std::string_view kParameters[] = {"batch",  "batch-size", "batch_size", "bs",
                                              "dtype",  "type",       "fp16",       "half",
                                              "layout", "shape",      "size",       "direction"};
  return std::find(std::begin(kParameters), std::end(kParameters), name) != std::end(kParameters);
}

std::string unknown_option(const CLI::App& app, const CLI::App& command, const std::string& typed) {
  const std::string name = without_dashes(typed);
  const std::string of = full_name(command);
  if (is_option_of(command, name) && typed.starts_with("--")) {
    return fmt::format("{} is an option of {}: write it behind the command, as in {} {}", in_quotes(typed),
                       of, example_of(command), typed);
  }
  if (belongs_to_target(name)) {
    return fmt::format(
        "{} has no option {}: write it after a colon as part of the operation or network, as in "
        "resnet50:batch=32,dtype=f16",
        of, in_quotes(typed));
  }
  std::vector<std::string> known = option_names(command);
  const std::vector<std::string> everywhere = option_names(app);
  known.insert(known.end(), everywhere.begin(), everywhere.end());
  const std::string nearest = nearest_name(name, known);
  const std::string see = fmt::format("see jitterscope {} --help", of);
  if (nearest.empty()) return fmt::format("{} has no option {}; {}", of, in_quotes(typed), see);
  return fmt::format("{} has no option {} (did you mean '--{}'?); {}", of, in_quotes(typed), nearest, see);
}

std::string too_much(const CLI::App& command, const std::string& typed) {
  if (is_option_of(command, "device") && (typed == "cpu" || typed == "gpu" || typed.starts_with("cuda"))) {
    return fmt::format("{} does not take {}: a device is given by --device {}", full_name(command),
                       in_quotes(typed), typed);
  }
  return fmt::format("{} does not take {} as well; for example {}", full_name(command), in_quotes(typed),
                     example_of(command));
}

std::string unexpected(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = command_of(app);
  const std::vector<std::string> rest = app.remaining(true);
  if (command == nullptr || rest.empty()) return {};
  const auto option =
      std::ranges::find_if(rest, [](const std::string& word) { return word.starts_with('-'); });
  const CLI::Option* program = command->get_option_no_throw("command");
  if (option != rest.end() && program != nullptr && program->count() > 0) {
    // A program's own option, unless it precedes the program.
    const auto first = std::ranges::find_first_of(arguments, std::array{*option, program->results().front()});
    if (*first != *option) return without_dashes_before(*command, program->results());
  }
  return option == rest.end() ? too_much(*command, rest.front()) : unknown_option(app, *command, *option);
}

bool names_target(const std::string& word) {
  const std::string name = word.substr(0, word.find_first_of(":,"));
  std::error_code ignored;
  const bool looks_like_file = word.find_first_of("./") != std::string::npos;
  if (names_operation(word) || looks_like_file || std::filesystem::exists(word, ignored)) return true;
  return std::ranges::any_of(named_models(),
                             [&](const ModelDescription& model) { return model.name == name; });
}

// Returns the words after --settings, which may precede any command.
std::vector<std::string> behind_settings(const std::vector<std::string>& arguments) {
  auto word = arguments.begin();
  while (word != arguments.end() && word->starts_with("--settings")) {
    const bool has_value_behind = *word == "--settings" && std::next(word) != arguments.end();
    word += has_value_behind ? 2 : 1;
  }
  return {word, arguments.end()};
}

std::string without_command(const CLI::App& app, const std::vector<std::string>& typed) {
  const std::string all = joined(command_names(app));
  const std::vector<std::string> arguments = behind_settings(typed);
  if (arguments.empty()) {
    return fmt::format(
        "a command is missing ({}); start with jitterscope run resnet18, or see jitterscope --help", all);
  }
  const std::string& word = arguments.front();
  if (word == "-v" || word == "-V") return "there is no option '" + word + "'; write jitterscope --version";
  if (word.starts_with('-')) {
    return fmt::format(
        "{} is not a command; write a command first ({}) and its options after it, as in jitterscope run "
        "resnet18 --device cpu",
        in_quotes(word), all);
  }
  if (word == "help") return "there is no command 'help'; see jitterscope --help and jitterscope run --help";
  if (word == "version") return "there is no command 'version'; write jitterscope --version";
  if (names_target(word)) {
    return fmt::format("there is no command {}: write jitterscope run {}", in_quotes(word),
                       printable(word, 200));
  }
  if (names_operation(word + ':')) {
    return fmt::format(
        "there is no command {}: it is an operation; write jitterscope run {}:… with its "
        "parameters (jitterscope list shows them)",
        in_quotes(word), printable(word, 200));
  }
  return fmt::format("there is no command {}{}; see jitterscope --help", in_quotes(word),
                     suggestion(word, command_names(app)));
}

std::string missing_target(const CLI::App& command) {
  if (const std::vector<std::string> verbs = command_names(command); !verbs.empty()) {
    return fmt::format("{} needs one of these: {}; for example {}", command.get_name(), joined(verbs),
                       example_of(command));
  }
  const auto is_missing = [](const CLI::Option* option, bool positional) {
    return option->get_required() && option->count() == 0 && option->get_positional() == positional;
  };
  const auto options =
      command.get_options([&](const CLI::Option* option) { return is_missing(option, false); });
  const bool has_target =
      command.get_options([&](const CLI::Option* option) { return is_missing(option, true); }).empty();
  if (has_target && !options.empty()) {
    return fmt::format("{} needs {} ({}); for example {}", full_name(command), options.front()->get_name(),
                       options.front()->get_description(), example_of(command));
  }
  const auto takes_several = command.get_options([](const CLI::Option* option) {
    return option->get_expected_max() > 1 && option->count() > 0 && !option->get_positional();
  });
  const std::string missing = fmt::format("{} needs something to work on", full_name(command));
  if (takes_several.empty()) return fmt::format("{}; for example {}", missing, example_of(command));
  return fmt::format(
      "{}, since {} takes all words after it as its values; write the operation or model first, as in {}",
      missing, takes_several.front()->get_name(), example_of(command));
}

// Explains missing values, or too many of them.
std::string wrong_number_of_values(const CLI::App& app, const std::string& text) {
  const CLI::App* command = command_of(app);
  const std::string name = text.substr(0, text.find(':'));
  const CLI::Option* option = command == nullptr ? nullptr : command->get_option_no_throw(name);
  if (option == nullptr) option = app.get_option_no_throw(name);
  if (option == nullptr) return text;
  const int most = option->get_items_expected_max(), wanted = option->get_items_expected_min();
  if (text.find("At Most") != std::string::npos) {
    return fmt::format("{} takes at most {} ({})", name, counted(most, "value"), option->get_description());
  }
  return fmt::format("{}: {} missing ({})", name,
                     wanted == 1 ? "a value is" : fmt::format("one of {} values is", wanted),
                     option->get_description());
}

}  // namespace

bool has_wrong_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  const std::vector<std::string> words = behind_settings(arguments);
  return command_of(app) == nullptr && !words.empty() && !words.front().starts_with('-');
}

std::string without_dashes_before(const CLI::App& command, const std::vector<std::string>& program) {
  const std::string meant = nearest_name(program.front(), command_names(command));
  if (!meant.empty()) {
    return fmt::format(
        "capture has no command {0} (did you mean '{1}'?); a program to capture stands behind --, "
        "as in jitterscope capture -- {2}",
        in_quotes(program.front()), meant, printable(program.front(), 200));
  }
  return fmt::format("write the program to capture behind --, as in jitterscope capture -- {}{}",
                     printable(program.front(), 200), program.size() > 1 ? " …" : "");
}

std::vector<std::string> take_program(std::vector<std::string>& words) {
  const std::vector<std::string> from_command = behind_settings(words);
  const auto dashes = std::ranges::find(words, "--");
  if (from_command.empty() || from_command.front() != "capture" || dashes == words.end()) return {};
  std::vector<std::string> program(std::next(dashes), words.end());
  words.erase(dashes, words.end());
  return program;
}

// CLI11 begins each line of the text in the column of the first.
std::string WrappingFormatter::make_option_desc(const CLI::Option* option) const {
  const std::string text = CLI::Formatter::make_option_desc(option);
  std::string lines = wrapped(text, page_width() - get_column_width()).lines();
  while (lines.ends_with('\n')) lines.pop_back();
  return lines;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); }))
    names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  return names;
}

std::string explained(const CLI::App& app, const CLI::ParseError& error,
                      const std::vector<std::string>& arguments) {
  std::string text = error.what();
  const CLI::App* command = command_of(app);
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const bool is_help = error.get_exit_code() == 0;
  if (command == nullptr && (is_extra || is_missing || is_help)) return without_command(app, arguments);
  if (is_missing) return missing_target(*command);
  if (is_extra) {
    if (std::string sentence = unexpected(app, arguments); !sentence.empty()) return sentence;
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) return wrong_number_of_values(app, text);
  // CLI11 says "Could not convert: --precision = x" if a number was expected.
  constexpr std::string_view kConversion = "Could not convert: ";
  if (text.starts_with(kConversion)) return text.substr(kConversion.size()) + ": write a number";
  return text;
}

void refuse_typed_flags(const CLI::App& command, const Invocation& invocation,
                        const std::vector<std::string>& taken, const std::string& why) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    const bool is_taken = !name.starts_with("--") || std::ranges::find(taken, name) != taken.end();
    const auto& of_settings = invocation.options_of_settings;
    const bool is_typed = option->count() > 0 && std::ranges::find(of_settings, option) == of_settings.end();
    if (!is_taken && is_typed) throw UsageError(name + ": " + why);
  }
}

namespace {

struct WrittenFormat {
  std::vector<std::string_view> flags;
  std::string_view what;                  ///< "--html writes WHAT"
  std::vector<std::string_view> endings;  ///< the first is the usual one
  bool takes_others = false;              ///< any ending but that of another format is allowed
};

const std::vector<WrittenFormat>& written_formats() {
  static const std::vector<WrittenFormat> formats = {{{"--html", "--output"}, "a page", {".html", ".htm"}},
                                                     {{"--json"}, "JSON", {".json"}, true},
                                                     {{"--csv", "--csv-launches"}, "CSV", {".csv"}, true},
                                                     {{"--markdown"}, "Markdown", {".md", ".markdown"}, true},
                                                     {{"--junit"}, "XML", {".xml"}, true}};
  return formats;
}

// Returns "" for names without an ending or with a numeric one, such as result.2026 and v1.2.
std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (ending.size() < 2 || !is_letter(ending[1])) return {};
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return ending;
}

bool belongs_elsewhere(const std::string& ending) {
  constexpr std::string_view kOthers[] = {".svg", ".png", ".pdf",  ".jpg", ".jpeg",
                                          ".gif", ".tsv", ".xlsx", ".gz",  ".zip"};
  const auto& formats = written_formats();
  return std::ranges::find(kOthers, ending) != std::end(kOthers) ||
         std::ranges::any_of(formats, [&](const WrittenFormat& format) {
           return std::ranges::find(format.endings, ending) != format.endings.end();
         });
}

bool is_own(const WrittenFormat& format, const std::string& path) {
  return std::ranges::find(format.endings, ending_of(path)) != format.endings.end();
}

// Returns an empty text if the name is good.
std::string problem_with(const WrittenFormat& format, const std::string& path) {
  if (path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/")) return {};
  const std::string ending = ending_of(path);
  if (ending.empty() || is_own(format, path) || (format.takes_others && !belongs_elsewhere(ending)))
    return {};
  std::filesystem::path better = std::filesystem::path(path).replace_extension();  // x.json for x.json.gz
  if (!is_own(format, better.string())) better += format.endings.front();
  return fmt::format("it writes {}, and '{}' is named as another file; write {}", format.what, path,
                     better.string());
}

}  // namespace

void check_file_endings(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    for (const WrittenFormat& format : written_formats()) {
      const std::string name = option->get_lnames().empty() ? "" : "--" + option->get_lnames().front();
      if (std::ranges::find(format.flags, name) == format.flags.end()) continue;
      option->check(
          CLI::Validator([&format](const std::string& path) { return problem_with(format, path); }, ""));
    }
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) check_file_endings(*command);
}

namespace {

template <class Integer>
bool is_whole(std::string_view text) {
  Integer value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}

// Returns an empty text for a whole number. CLI11 reads -1 as the largest number where none is below 0.
std::string problem_with_number(const std::string& text, bool is_unsigned, const std::string& usual) {
  if (is_unsigned ? is_whole<std::uint64_t>(text) : is_whole<std::int64_t>(text)) return {};
  const std::optional<std::int64_t> meant = read_count(text);
  const std::string example = meant ? std::to_string(*meant) : usual;
  return fmt::format("{} is not a whole number{}; write digits alone{}", in_quotes(text),
                     is_unsigned ? " of 0 or more" : "", example.empty() ? "" : ", as " + example);
}

}  // namespace

void check_whole_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool is_unsigned = type.starts_with("UINT");
    // A list of numbers has a reader of its own, which takes 10k.
    if ((!is_unsigned && !type.starts_with("INT")) || option->get_items_expected_max() > 1) continue;
    // A transformation comes before all checks, and this one changes nothing.
    option->transform(CLI::Validator(
        [is_unsigned, usual = option->get_default_str()](const std::string& text) {
          return problem_with_number(text, is_unsigned, usual);
        },
        ""));
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) check_whole_numbers(*command);
}

namespace {

constexpr const char* kCountersFlag = "--counters";

bool names_counters(const std::string& word) {
  if (word.empty() || word.front() == '-' || word.find_first_of("/:=") != std::string::npos) return false;
  std::error_code ignored;
  return word.find("__") != std::string::npos && !std::filesystem::exists(word, ignored);
}

}  // namespace

std::vector<std::string> with_counter_names(const std::vector<std::string>& words) {
  std::vector<std::string> joined;
  for (const std::string& word : words) {
    if (!joined.empty() && joined.back() == kCountersFlag && names_counters(word)) {
      joined.back() += "=" + word;
    } else {
      joined.push_back(word);
    }
  }
  return joined;
}

std::optional<std::vector<std::string>> asked_counters(const std::string& flag) {
  if (flag.empty()) return std::nullopt;
  std::vector<std::string> names;
  if (flag == "true") return names;
  std::istringstream list(flag);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  for (const std::string& name : names) {
    if (!name.empty()) continue;
    throw UsageError("--counters: a name is empty; write NAME,NAME, as jitterscope list counters shows them");
  }
  return names;
}

}  // namespace jitterscope::cli
