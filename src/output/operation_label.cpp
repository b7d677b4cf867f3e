#include "output/operation_label.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/names.hpp"
#include "operation/text_pieces.hpp"

namespace jitterscope {
namespace {

constexpr std::string_view kChainSteps = "chain:[";

struct Parts {
  std::string kind;
  std::vector<std::pair<std::string, std::string>> parameters;
};

Parts split(std::string_view text) {
  const std::size_t colon = text.find(':');
  // A callable's name may hold anything; it has no parameters, and PyTorch's operators have no keys.
  const bool is_pytorch_operator = text.substr(std::min(colon, text.size())).starts_with("::");
  if (colon == std::string_view::npos || text.find('=', colon) == std::string_view::npos ||
      is_pytorch_operator) {
    return {std::string(text), {}};
  }
  // A user's kernel is what is timed: it stands with its file, and commas within its brackets part nothing.
  // A chain stands with its steps.
  const std::string_view kind = text.substr(0, colon);
  const std::size_t subject = subject_end(kind, text.substr(colon + 1));
  const std::size_t head = subject > 0 ? colon + 1 + subject : colon;
  Parts parts{std::string(text.substr(0, head)), {}};
  std::string_view rest = text.substr(std::min(text.size(), head + 1));
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, parameter_end(kind, rest));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = std::min(item.find('='), item.size());
    parts.parameters.emplace_back(item.substr(0, equals), item.substr(std::min(item.size(), equals + 1)));
  }
  return parts;
}

// Keys whose value is the same wherever their kind occurs, at least twice, and not in a single kind among
// others: those are no more common than its name.
std::set<std::string> common_keys(const std::vector<Parts>& operations) {
  std::map<std::string, std::int64_t> rows_of_kind;
  std::map<std::string, std::set<std::string>> kinds, values;
  std::map<std::string, std::int64_t> rows;
  for (const Parts& parts : operations) {
    ++rows_of_kind[parts.kind];
    for (const auto& [key, value] : parts.parameters) {
      kinds[key].insert(parts.kind);
      values[key].insert(value);
      ++rows[key];
    }
  }
  std::set<std::string> common;
  for (const auto& [key, count] : rows) {
    std::int64_t expected = 0;
    for (const std::string& kind : kinds[key]) expected += rows_of_kind[kind];
    const bool widespread = kinds[key].size() > 1 || rows_of_kind.size() == 1;
    if (widespread && count >= 2 && count == expected && values[key].size() == 1) common.insert(key);
  }
  return common;
}

bool explains_itself(const std::string& key) {
  return key == "dtype" || key == "layout" || key == "direction";
}

std::string label(const Parts& parts, const std::set<std::string>& common) {
  std::string words = parts.kind;
  std::vector<std::string> pairs;
  for (const auto& [key, value] : parts.parameters) {
    if (common.contains(key)) continue;
    if (explains_itself(key)) {
      words += ' ' + value;
    } else {
      pairs.push_back(key + '=' + value);
    }
  }
  if (pairs.empty()) return words;
  // A table may cut what is long, and steps are.
  if (words.starts_with(kChainSteps)) return joined(pairs, ",") + ' ' + words.substr(kChainSteps.size() - 1);
  return words + ' ' + joined(pairs, ",");
}

}  // namespace

OperationLabels label_operations(std::span<const std::string> operations) {
  std::vector<Parts> all;
  for (const std::string& text : operations) all.push_back(split(text));
  const std::set<std::string> common = common_keys(all);
  OperationLabels result;
  std::set<std::string> named;
  std::vector<std::string> left_out;
  for (const Parts& parts : all) {
    result.labels.push_back(label(parts, common));
    for (const auto& [key, value] : parts.parameters) {
      if (common.contains(key) && named.insert(key).second) left_out.push_back(key + '=' + value);
    }
  }
  result.common = joined(left_out, ",");
  return result;
}

}  // namespace jitterscope
