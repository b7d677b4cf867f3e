#include "physics/preset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.hpp"
#include "base/names.hpp"
#include "jitterscope/error.hpp"
#include "physics/preset_keys.hpp"

namespace jitterscope::physics {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBaseHint =
    "a preset that gives only what differs starts with a line such as base = \"h200\"";

[[noreturn]] void fail(const std::string& file, const toml::source_region& where,
                       const std::string& problem) {
  throw UsageError(fmt::format("{}:{}: {}", file, where.begin.line, problem));
}

std::string shown(const toml::node& node) {
  if (const auto number = node.value<double>(); number && node.is_number()) return fmt::format("{}", *number);
  if (const auto text = node.value<std::string>(); text && node.is_string()) return "\"" + *text + "\"";
  if (node.is_boolean()) return "a boolean";
  return node.is_array() ? "a list" : node.is_table() ? "a table" : "a date or time";
}

/// Throws if the word is unknown.
void require_known(const toml::key& word, const std::vector<std::string>& known, const std::string& file,
                   const std::string& problem) {
  if (std::find(known.begin(), known.end(), word.str()) != known.end()) return;
  fail(file, word.source(), problem + suggestion(word.str(), known));
}

void refuse_unknown(const toml::table& document, const std::vector<Key>& keys, const std::string& file) {
  std::vector<std::string> tables = {"base"};
  for (const Key& key : keys) {
    if (tables.back() != key.table()) tables.emplace_back(key.table());
  }
  tables.insert(tables.end(), std::begin(kClusterTables), std::end(kClusterTables));
  for (const auto& [word, node] : document) {
    // read_cluster has read them.
    if (std::ranges::find(kClusterTables, word.str()) != std::end(kClusterTables)) continue;
    require_known(word, tables, file, fmt::format("'{}' is unknown", word.str()));
    if (!node.is_table()) continue;
    std::vector<std::string> known;
    for (const Key& key : keys) {
      if (key.table() == word.str()) known.emplace_back(key.name());
    }
    for (const auto& [key, value] : *node.as_table()) {
      require_known(key, known, file, fmt::format("[{}] has no key '{}'", word.str(), key.str()));
    }
  }
}

/// Sets the document's values; without a base it must set all.
void read_keys(const toml::table& document, const std::string& file, Parameters& parameters) {
  const bool is_complete = !document.contains("base");
  const std::vector<Key> keys = preset_keys(parameters);
  refuse_unknown(document, keys, file);
  for (const Key& key : keys) {
    const toml::node* section = document.get(key.table());
    if (section == nullptr && !is_complete) continue;
    if (section == nullptr) {
      throw UsageError(fmt::format("{}: the table [{}] is missing; {}", file, key.table(), kBaseHint));
    }
    const toml::table* table = section->as_table();
    if (table == nullptr) {
      fail(file, section->source(),
           fmt::format("'{0}' is {1}, expected a table [{0}]", key.table(), shown(*section)));
    }
    const toml::node* node = table->get(key.name());
    if (node == nullptr && is_complete) {
      fail(file, table->source(),
           fmt::format("[{}] lacks {}, expected {}; {}", key.table(), key.name(), key.expected, kBaseHint));
    }
    const toml::node* wrong = node != nullptr ? key.read(*node) : nullptr;
    if (wrong == nullptr) continue;
    fail(file, wrong->source(),
         fmt::format("[{}] {}: expected {}, not {}", key.table(), key.name(), key.expected, shown(*wrong)));
  }
}

const DataFiles& preset_files() {
  static const DataFiles files{"presets", "JITTERSCOPE_PRESETS", ".toml"};
  return files;
}

std::string text_of_preset(const fs::path& file) {
  auto [text, problem] = file_text(file);
  if (problem)
    throw UsageError(fmt::format("cannot read the preset {}: {}", file.string(), problem.message()));
  return std::move(text);
}

/// Beside the file that names it, else among the shipped presets.
fs::path file_of(std::string_view name, const fs::path& beside) {
  const bool is_path = name.find('/') != std::string_view::npos || name.ends_with(".toml");
  if (is_path) return beside.parent_path() / name;
  fs::path neighbour = beside.parent_path() / (std::string(name) + ".toml");
  std::error_code ignored;
  if (!beside.empty() && neighbour != beside && fs::is_regular_file(neighbour, ignored)) return neighbour;
  if (const auto found = preset_files().find(name)) return *found;
  throw UsageError(fmt::format("there is no preset '{}'{}", name, suggestion(name, preset_names())));
}

using Chain = std::vector<fs::path>;  ///< files being read, each the base of the one before

Parameters parse(std::string_view text, const fs::path& file, Chain& chain);

Parameters read(const fs::path& file, Chain& chain) {
  const fs::path path = fs::weakly_canonical(file);
  if (std::find(chain.begin(), chain.end(), path) != chain.end()) {
    throw UsageError(fmt::format("{}: a preset cannot be its own base (through {})", chain.front().string(),
                                 chain.back().string()));
  }
  chain.push_back(path);
  return parse(text_of_preset(file), file, chain);
}

Parameters parse(std::string_view text, const fs::path& file, Chain& chain) {
  const toml::table document = parse_toml(text, file.string());
  Parameters parameters;
  if (const toml::node* base = document.get("base"); base != nullptr) {
    if (!base->is_string()) {
      fail(file.string(), base->source(), "base: expected the name of a preset in quotes");
    }
    parameters = read(file_of(*base->value<std::string>(), file), chain);
  }
  if (describes_cluster(document))
    parameters.cluster = read_cluster(document, file.string(), parameters.cluster);
  read_keys(document, file.string(), parameters);
  const std::string problem = contradiction(parameters);
  if (!problem.empty()) throw UsageError(file.string() + ": " + problem);
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
