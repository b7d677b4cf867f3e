#include "operation/unlike_parameters.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/names.hpp"

namespace jitterscope {
namespace {

struct Parameter {
  std::string name, value;
  bool operator==(const Parameter&) const = default;
};

// Returns nullopt for what is no list of NAME=VALUE: a chain, a kernel with its operands, a function of
// Python.
std::optional<std::vector<Parameter>> listed_parameters(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.find_first_of("[(") != std::string::npos) return std::nullopt;
  std::vector<Parameter> parameters;
  for (std::size_t begin = colon + 1; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::size_t equals = text.find('=', begin);
    if (equals >= end) return std::nullopt;
    parameters.push_back({text.substr(begin, equals - begin), text.substr(equals + 1, end - equals - 1)});
    begin = end + 1;
  }
  return parameters;
}

}  // namespace

std::string UnlikeParameter::text(const std::string& shown_name) const {
  const auto shown = [](const std::string& value) { return value.empty() ? "none" : value; };
  return fmt::format("{} {}, then {}", shown_name, shown(first), shown(second));
}

std::optional<std::vector<UnlikeParameter>> unlike_parameters(const std::string& first,
                                                              const std::string& second) {
  const auto own = listed_parameters(first), other = listed_parameters(second);
  if (!own || !other || first.substr(0, first.find(':')) != second.substr(0, second.find(':')))
    return std::nullopt;
  std::vector<UnlikeParameter> unlike;
  for (const Parameter& each : *own) {
    const auto found = std::ranges::find(*other, each.name, &Parameter::name);
    if (found == other->end()) {
      unlike.push_back({each.name, each.value, ""});
    } else if (found->value != each.value) {
      unlike.push_back({each.name, each.value, found->value});
    }
  }
  for (const Parameter& each : *other) {
    if (std::ranges::find(*own, each.name, &Parameter::name) == own->end())
      unlike.push_back({each.name, "", each.value});
  }
  return unlike;
}

std::pair<std::string, std::string> differing_parameters(const std::string& first,
                                                         const std::string& second) {
  const auto unlike = unlike_parameters(first, second);
  if (!unlike || unlike->empty()) return {first, second};
  std::vector<std::string> firsts, seconds;
  for (const UnlikeParameter& each : *unlike) {
    if (!each.first.empty()) firsts.push_back(each.name + '=' + each.first);
    if (!each.second.empty()) seconds.push_back(each.name + '=' + each.second);
  }
  return {joined(firsts, ","), joined(seconds, ",")};
}

}  // namespace jitterscope
