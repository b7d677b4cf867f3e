#include "physics/preset_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/names.hpp"

namespace jitterscope::physics {
namespace {

std::string shown(const toml::node& node) {
  if (const auto number = node.value<double>(); number && node.is_number()) return fmt::format("{}", *number);
  if (const auto text = node.value<std::string>(); text && node.is_string()) return "\"" + *text + "\"";
  return fmt::format("a {}", [&] {
    switch (node.type()) {
      case toml::node_type::boolean: return "boolean";
      case toml::node_type::array: return "list";
      case toml::node_type::table: return "table";
      default: return "date or time";
    }
  }());
}

}  // namespace

PresetReader::PresetReader(const toml::table& document, std::string file, bool complete)
    : document_(document), file_(std::move(file)), complete_(complete), known_tables_{"base"} {}

void PresetReader::fail_at(const toml::source_region& where, const std::string& problem) const {
  throw UsageError(fmt::format("{}:{}: {}", file_, where.begin.line, problem));
}

void PresetReader::fail(std::string_view key, std::string_view problem) const {
  const toml::node* node = table_ != nullptr ? table_->get(key) : nullptr;
  const toml::source_region& where = node != nullptr ? node->source() : document_.source();
  fail_at(where, fmt::format("[{}] {}: {}", table_name_, key, problem));
}

void PresetReader::start_table(std::string_view name) {
  check_keys();
  table_name_ = name;
  known_tables_.emplace_back(name);
  known_keys_.clear();
  const toml::node* node = document_.get(name);
  table_ = node != nullptr ? node->as_table() : nullptr;
  if (node != nullptr && table_ == nullptr) {
    fail_at(node->source(), fmt::format("'{0}' is {1}, expected a table [{0}]", name, shown(*node)));
  }
  if (table_ == nullptr && complete_) {
    throw UsageError(
        fmt::format("{}: the table [{}] is missing; a preset that gives only what differs starts "
                    "with a line such as base = \"h200\"",
                    file_, name));
  }
}

void PresetReader::check_keys() {
  if (table_ == nullptr) return;
  for (const auto& [key, node] : *table_) {
    if (std::find(known_keys_.begin(), known_keys_.end(), key.str()) != known_keys_.end()) continue;
    fail_at(key.source(), fmt::format("[{}] has no key '{}'{}", table_name_, key.str(),
                                      suggestion(key.str(), known_keys_)));
  }
}

void PresetReader::finish() {
  check_keys();
  for (const auto& [key, node] : document_) {
    if (std::find(known_tables_.begin(), known_tables_.end(), key.str()) != known_tables_.end()) continue;
    fail_at(key.source(), fmt::format("'{}' is unknown{}", key.str(), suggestion(key.str(), known_tables_)));
  }
}

const toml::node* PresetReader::find(std::string_view key, std::string_view expected) {
  known_keys_.emplace_back(key);
  const toml::node* node = table_ != nullptr ? table_->get(key) : nullptr;
  if (node == nullptr && table_ != nullptr && complete_) {
    fail_at(table_->source(), fmt::format("[{}] lacks {}, expected {}; a preset that gives only what differs "
                                          "starts with a line such as base = \"h200\"",
                                          table_name_, key, expected));
  }
  return node;
}

void PresetReader::number(std::string_view key, double& value, const Range& range, double unit) {
  const toml::node* node = find(key, range.words);
  if (node == nullptr) return;
  const double number = node->is_number() ? node->value<double>().value_or(NAN) : NAN;
  if (!(number >= range.lowest && number <= range.highest)) {
    fail(key, fmt::format("expected {}, not {}", range.words, shown(*node)));
  }
  value = number * unit;
}

void PresetReader::integer(std::string_view key, std::int64_t& value, std::int64_t lowest,
                           std::int64_t highest) {
  const std::string expected = fmt::format("a whole number from {} to {}", lowest, highest);
  const toml::node* node = find(key, expected);
  if (node == nullptr) return;
  const auto number = node->is_integer() ? node->value<std::int64_t>() : std::nullopt;
  if (!number || *number < lowest || *number > highest) {
    fail(key, fmt::format("expected {}, not {}", expected, shown(*node)));
  }
  value = *number;
}

void PresetReader::flag(std::string_view key, bool& value) {
  const toml::node* node = find(key, "true or false");
  if (node == nullptr) return;
  if (!node->is_boolean()) fail(key, fmt::format("expected true or false, not {}", shown(*node)));
  value = *node->value<bool>();
}

void PresetReader::text(std::string_view key, std::string& value) {
  const toml::node* node = find(key, "a text in quotes");
  if (node == nullptr) return;
  if (!node->is_string()) fail(key, fmt::format("expected a text in quotes, not {}", shown(*node)));
  value = *node->value<std::string>();
}

void PresetReader::texts(std::string_view key, std::vector<std::string>& values) {
  const toml::node* node = find(key, "a list of texts");
  if (node == nullptr) return;
  const toml::array* list = node->as_array();
  if (list == nullptr) fail(key, fmt::format("expected a list of texts, not {}", shown(*node)));
  values.clear();
  for (const toml::node& item : *list) {
    if (!item.is_string()) fail(key, fmt::format("expected a list of texts, not {} in it", shown(item)));
    values.push_back(*item.value<std::string>());
  }
}

}  // namespace jitterscope::physics
