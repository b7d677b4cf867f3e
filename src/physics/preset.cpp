#include "physics/preset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/data_folders.hpp"
#include "base/names.hpp"
#include "physics/preset_keys.hpp"

namespace jitterscope::physics {
namespace {

namespace fs = std::filesystem;

const DataFiles& preset_files() {
  static const DataFiles files{"presets", "JITTERSCOPE_PRESETS", ".toml"};
  return files;
}

toml::table parse_toml(std::string_view text, const std::string& file) {
  check_characters(text, file);
  try {
    return toml::parse(text, file);
  } catch (const toml::parse_error& error) {
    throw UsageError(fmt::format("{}:{}: {}", file, error.source().begin.line, error.description()));
  } catch (const MalformedToml&) {
    throw UsageError(file + ": this is no TOML: look for brackets and braces that do not match");
  }
}

std::string read_file(const fs::path& file) {
  std::error_code ignored;
  std::ifstream stream(file);
  std::ostringstream text;
  if (!fs::is_regular_file(file, ignored) || !(text << stream.rdbuf())) {
    throw UsageError(fmt::format("cannot read the preset {}", file.string()));
  }
  return text.str();
}

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".toml");
}

/// Beside the file that names it, else where shipped presets are.
fs::path file_of(std::string_view name, const fs::path& beside) {
  if (is_path(name)) return beside.parent_path() / name;
  fs::path neighbour = beside.parent_path() / (std::string(name) + ".toml");
  std::error_code ignored;
  if (!beside.empty() && neighbour != beside && fs::is_regular_file(neighbour, ignored)) return neighbour;
  if (const auto found = preset_files().find(name)) return *found;
  throw UsageError(fmt::format("there is no preset '{}'{}", name, suggestion(name, preset_names())));
}

using Chain = std::vector<fs::path>;  ///< files that are being read, each the base of the one before

Parameters parse(std::string_view text, const fs::path& file, Chain& chain);

Parameters read(const fs::path& file, Chain& chain) {
  const fs::path path = fs::weakly_canonical(file);
  if (std::find(chain.begin(), chain.end(), path) != chain.end()) {
    throw UsageError(fmt::format("{}: a preset cannot be its own base (through {})", chain.front().string(),
                                 chain.back().string()));
  }
  chain.push_back(path);
  return parse(read_file(file), file, chain);
}

Parameters parse(std::string_view text, const fs::path& file, Chain& chain) {
  const toml::table document = parse_toml(text, file.string());
  Parameters parameters;
  const toml::node* base = document.get("base");
  if (base != nullptr) {
    if (!base->is_string()) {
      throw UsageError(fmt::format("{}:{}: base: expected the name of a preset in quotes", file.string(),
                                   base->source().begin.line));
    }
    parameters = read(file_of(*base->value<std::string>(), file), chain);
  }
  PresetReader reader(document, file.string(), base == nullptr);
  read_keys(reader, parameters);
  check_preset(parameters, file.string());
  return parameters;
}

}  // namespace

Parameters parse_preset(std::string_view text, const std::string& file) {
  Chain chain;
  return parse(text, file, chain);
}

Parameters read_preset(const fs::path& file) {
  Chain chain;
  return read(file, chain);
}

Parameters find_preset(std::string_view name_or_path) { return read_preset(file_of(name_or_path, {})); }

std::vector<std::string> preset_names() { return preset_files().names(); }

}  // namespace jitterscope::physics
