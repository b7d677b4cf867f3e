#include "cli/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/files.hpp"
#include "base/names.hpp"
#include "base/toml.hpp"
#include "cli/command_line.hpp"
#include "operation/words.hpp"

namespace jitterscope::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "JITTERSCOPE_SETTINGS";

struct SettingsFile {
  std::string path;  ///< empty: none
  bool asked_for = false;
};

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

SettingsFile find_settings(const CLI::Option& option) {
  if (option.count() > 0) return {option.as<std::string>(), true};
  if (const char* path = std::getenv(kVariable)) return {path};
  constexpr const char* kHere = ".jitterscope.toml";
  if (is_there(kHere)) return {kHere};
  const char* configuration = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (configuration != nullptr && *configuration != '\0') {
    folder = configuration;
  } else if (home != nullptr) {
    folder = fs::path(home) / ".config";
  }
  const fs::path file = folder / "jitterscope/settings.toml";
  return {!folder.empty() && is_there(file) ? file.string() : ""};
}

[[noreturn]] void fail_at(const std::string& file, const toml::source_region& where,
                          const std::string& problem) {
  throw UsageError(fmt::format("settings {}: line {}: {}", file, where.begin.line, problem));
}

toml::table read_table(const std::string& file) {
  const auto [text, problem] = file_text(file);
  if (problem) {
    throw UsageError(
        fmt::format("settings {}: the file cannot be read ({}); check the path, or name another "
                    "file with --settings",
                    file, problem.message()));
  }
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    fail_at(file, error.source(), fmt::format("not valid TOML: {}", printable(error.description(), 200)));
  } catch (const MalformedToml&) {
    throw UsageError(fmt::format("settings {}: not valid TOML", file));
  }
}

// Returns a value as it would be typed; nullopt if it is no text, number, true or false.
std::optional<std::string> typed(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return std::nullopt;
}

class Settings {
 public:
  Settings(CLI::App& app, std::string file, Invocation& invocation)
      : app_(app), file_(std::move(file)), invocation_(invocation) {}

  /// Returns the settings applied to the command that runs: "precision = 1, cache = warm,cold".
  std::string apply() {
    const toml::table table = read_table(file_);
    for (const auto& [key, node] : table) apply_section(std::string(key.str()), node);
    return joined(applied_);
  }

 private:
  void apply_section(const std::string& name, const toml::node& node) {
    const std::vector<std::string> commands = command_names(app_);
    const toml::table* section = node.as_table();
    if (section == nullptr) {
      fail_at(
          file_, node.source(),
          fmt::format("{} is outside of a section; write it under its command, as [run]", in_quotes(name)));
    }
    if (std::find(commands.begin(), commands.end(), name) == commands.end()) {
      fail_at(file_, node.source(),
              fmt::format("there is no command {}{}", in_quotes(name), suggestion(name, commands)));
    }
    for (const auto& [key, value] : *section)
      apply_value(*app_.get_subcommand(name), std::string(key.str()), value);
  }

  void apply_value(CLI::App& command, const std::string& key, const toml::node& node) {
    CLI::Option* option = key == "help" ? nullptr : command.get_option_no_throw("--" + key);
    if (option == nullptr) {
      std::vector<std::string> known = option_names(command);
      std::erase(known, "help");
      fail_at(
          file_, node.source(),
          fmt::format("{} has no setting {}{}", command.get_name(), in_quotes(key), suggestion(key, known)));
    }
    const std::vector<std::string> values = values_of(*option, key, node);
    if (values.empty() || !app_.got_subcommand(&command) || is_given(*option)) return;
    try {
      option->add_result(values);
      option->run_callback();
    } catch (const CLI::ParseError& error) {
      fail_at(file_, node.source(), explained(app_, error, {}));
    } catch (const UsageError& error) {
      fail_at(file_, node.source(), error.what());
    }
    applied_.push_back(key + " = " + joined(values, ","));
    invocation_.options_of_settings.push_back(option);
  }

  // Empty for a flag that is false, as if it were absent.
  std::vector<std::string> values_of(const CLI::Option& option, const std::string& key,
                                     const toml::node& node) const {
    const bool is_flag = option.get_items_expected_max() == 0;
    if (is_flag != node.is_boolean()) {
      fail_at(file_, node.source(),
              is_flag ? in_quotes(key) + " must be true or false, without quotes"
                      : in_quotes(key) + " must be a number or a text in quotes");
    }
    if (is_flag) return *node.value<bool>() ? std::vector<std::string>{"true"} : std::vector<std::string>();
    std::vector<std::string> values;
    const toml::array* list = node.as_array();
    const auto add = [&](const toml::node& each) {
      const std::optional<std::string> value = typed(each);
      if (!value)
        fail_at(file_, each.source(), in_quotes(key) + " must be a number, a text or a list of them");
      values.push_back(*value);
    };
    if (list == nullptr) add(node);
    if (list != nullptr) {
      for (const toml::node& each : *list) add(each);
    }
    return values;
  }

  // True if the command line has the option or one that excludes it.
  static bool is_given(const CLI::Option& option) {
    if (option.count() > 0) return true;
    for (const CLI::Option* other : option.get_excludes()) {
      if (other->count() > 0) return true;
    }
    return false;
  }

  CLI::App& app_;
  std::string file_;
  Invocation& invocation_;
  std::vector<std::string> applied_;
};

}  // namespace

void add_settings(CLI::App& app, Invocation& invocation) {
  CLI::Option* option = app.add_option(
      "--settings",
      "TOML file with defaults for flags: a section for each command, as [run], with flags as keys; '' "
      "for none (default: $JITTERSCOPE_SETTINGS, .jitterscope.toml, ~/.config/jitterscope/settings.toml)");
  option->type_name("FILE");
  option->expected(1);
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) command->fallthrough();
  app.parse_complete_callback([&app, &invocation, option] {
    const SettingsFile file = find_settings(*option);
    // Processes that this one starts get all they need from their command lines.
    // A program that is captured has the environment that it would have had.
    if (!app.got_subcommand("capture")) ::setenv(kVariable, "", 1);
    if (file.path.empty()) return;
    if (!file.asked_for) fmt::print(stderr, "jitterscope: settings of {}\n", file.path);
    const std::string applied = Settings(app, file.path, invocation).apply();
    if (!applied.empty()) invocation.settings = fmt::format("Settings of {}: {}.", file.path, applied);
  });
}

}  // namespace jitterscope::cli
