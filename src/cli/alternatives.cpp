#include "cli/alternatives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/names.hpp"
#include "cli/model_target.hpp"
#include "jitterscope/error.hpp"
#include "operation/words.hpp"

namespace jitterscope::cli {
namespace {

struct Factor {
  std::string name;
  std::vector<std::string> values;
};

const std::vector<std::string> kConditionNames = {"cache", "data", "queue", "instrument", "provider"};

Factor read_factor(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw UsageError(
        fmt::format("--vary {}: write NAME=VALUE,VALUE, as engine=pytorch,best", printable(text, 60)));
  }
  Factor factor{text.substr(0, equals), {}};
  for (std::size_t begin = equals + 1; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    factor.values.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (std::ranges::find(factor.values, "") != factor.values.end()) {
    throw UsageError(fmt::format("--vary {}: a value is empty", text));
  }
  const std::set<std::string> different(factor.values.begin(), factor.values.end());
  if (different.size() != factor.values.size())
    throw UsageError(fmt::format("--vary {}: a value stands twice", text));
  return factor;
}

// The target with another value of one of its parameters, which it may name or not.
std::string with_parameter(const std::string& target, const Factor& factor, const std::string& value) {
  if (target.starts_with("aten::")) {
    throw UsageError(
        fmt::format("--vary {}: an operator of PyTorch has no parameters by name; write the two "
                    "operators to compare",
                    factor.name));
  }
  const std::string setting = factor.name + '=' + value;
  const std::size_t colon = target.find(':');
  if (colon == std::string::npos) return target + ':' + setting;
  std::string text = target.substr(0, colon + 1);
  bool is_there = false;
  for (std::size_t begin = colon + 1; begin < target.size();) {
    const std::size_t end = std::min(target.find(',', begin), target.size());
    const std::string part = target.substr(begin, end - begin);
    const bool is_this = part.starts_with(factor.name + '=');
    if (text.back() != ':') text += ',';
    text += is_this ? setting : part;
    is_there = is_there || is_this;
    begin = end + 1;
  }
  if (is_there) return text;
  return text + (text.back() == ':' ? "" : ",") + setting;
}

Alternative with_value(Alternative alternative, const Factor& factor, const std::string& value) {
  alternative.label += (alternative.label.empty() ? "" : ", ") + factor.name + '=' + value;
  if (factor.name == "cache") {
    alternative.conditions.caches = {value};
  } else if (factor.name == "data") {
    alternative.conditions.data = value;
  } else if (factor.name == "queue") {
    alternative.conditions.queue = value;
  } else if (factor.name == "instrument") {
    alternative.conditions.instrument = value;
  } else if (factor.name == "provider") {
    alternative.provider = value;
  } else {
    alternative.target = with_parameter(alternative.target, factor, value);
  }
  return alternative;
}

// A name that is none of a parameter's may be meant for a condition's, where the error found no parameter
// near.
std::string condition_hint(const std::string& name, const std::string& error) {
  const std::string nearest = nearest_name(name, kConditionNames);
  if (!nearest.empty() && error.find("did you mean") == std::string::npos)
    return fmt::format(" (did you mean '{}'?)", nearest);
  return fmt::format(" (conditions that can be varied: {})", joined(kConditionNames));
}

// Reads the alternative's target, so that what cannot be varied is said with the flag that asked for it.
void check_alternative(const Alternative& alternative, const Factor& factor) {
  const bool is_condition = std::ranges::find(kConditionNames, factor.name) != kConditionNames.end();
  try {
    if (is_condition) {
      alternative.conditions.options();
      parse_provider(alternative.provider);
    } else {
      read_targets({alternative.target});
    }
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("--vary {}: {}{}", factor.name, error.what(),
                                 is_condition ? std::string() : condition_hint(factor.name, error.what())));
  }
}

std::vector<Alternative> varied(const Alternative& base, const std::vector<Factor>& factors) {
  std::vector<Alternative> alternatives = {base};
  for (const Factor& factor : factors) {
    std::vector<Alternative> more;
    for (const Alternative& alternative : alternatives) {
      for (const std::string& value : factor.values) {
        more.push_back(with_value(alternative, factor, value));
        check_alternative(more.back(), factor);
      }
    }
    alternatives = std::move(more);
  }
  return alternatives;
}

}  // namespace

std::vector<Alternative> read_alternatives(const std::vector<std::string>& targets,
                                           const std::vector<std::string>& vary,
                                           const MeasureFlags& conditions, const std::string& provider) {
  if (vary.empty()) {
    if (targets.size() < 2) {
      throw UsageError(
          "compare takes two or more operations, models or records, or one with --vary NAME=VALUE,VALUE");
    }
    std::vector<Alternative> alternatives;
    for (const std::string& target : targets) alternatives.push_back({target, target, conditions, provider});
    return alternatives;
  }
  if (targets.size() != 1) {
    throw UsageError("--vary varies one operation or model: leave the others out, or leave out --vary");
  }
  std::vector<Factor> factors;
  for (const std::string& text : vary) factors.push_back(read_factor(text));
  std::vector<Alternative> alternatives = varied({"", targets.front(), conditions, provider}, factors);
  constexpr std::size_t kMost = 32;
  if (alternatives.size() > kMost) {
    throw UsageError(
        fmt::format("--vary: {} combinations; at most {} are compared at once", alternatives.size(), kMost));
  }
  if (alternatives.size() < 2)
    throw UsageError("--vary: one value leaves nothing to compare; name two or more");
  return alternatives;
}

std::vector<ComparedAlternative> read_works(const std::vector<Alternative>& alternatives,
                                            const std::string& only, const DeviceDescription& device) {
  std::vector<ComparedAlternative> read;
  for (const Alternative& alternative : alternatives) {
    WorkList work = read_targets({alternative.target}, only);
    fit_to_device(work, device);
    choose_provider(work, parse_provider(alternative.provider), device, false);
    MeasureOptions options = alternative.conditions.options();
    if (alternative.conditions.caches.empty()) options.caches = {CacheState::warm};
    read.push_back({alternative.label, std::move(work), std::move(options)});
  }
  return read;
}

}  // namespace jitterscope::cli
