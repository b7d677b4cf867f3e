#include "device/virtual/open_virtual_device.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "base/names.hpp"
#include "device/virtual/virtual_device.hpp"
#include "jitterscope/error.hpp"
#include "physics/preset.hpp"
#include "physics/preset_keys.hpp"

namespace jitterscope::virtual_gpu {
namespace {

constexpr std::string_view kPrefix = "virtual", kWithout = ",without=", kRank = ",rank=";
constexpr std::string_view kDefaultPreset = "h200";

physics::Mechanism find_mechanism(const std::string& word) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < physics::kMechanisms; ++i) {
    const auto mechanism = static_cast<physics::Mechanism>(i);
    if (to_string(mechanism) == word) return mechanism;
    known.emplace_back(to_string(mechanism));
  }
  throw UsageError(fmt::format("without: unknown mechanism '{}'{}", word, suggestion(word, known)));
}

physics::Parameters without_all(physics::Parameters parameters, std::string_view words) {
  std::istringstream text{std::string(words)};
  for (std::string word; std::getline(text, word, '+');)
    parameters = parameters.without(find_mechanism(word));
  return parameters;
}

/// The parts of a name.
struct NameParts {
  std::string_view preset, without;
  std::optional<std::int64_t> rank;
};

std::int64_t rank_in(std::string_view word) {
  std::int64_t rank = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), rank);
  if (error == std::errc() && end == word.data() + word.size() && rank >= 0) return rank;
  throw UsageError(
      fmt::format("virtual: behind ',rank=' comes the number of a rank, from 0, not '{}'", word));
}

// Any other word after a comma is an error.
NameParts parts_of(std::string_view name) {
  std::string_view rest = name.substr(std::min(kPrefix.size(), name.size()));
  const bool names_preset = rest.starts_with(':');
  if (!name.starts_with(kPrefix) || (!rest.empty() && !names_preset && !rest.starts_with(','))) {
    throw UsageError(
        fmt::format("'{}' is not a virtual device: virtual, virtual:PRESET or virtual:FILE.toml", name));
  }
  if (names_preset) rest.remove_prefix(1);
  std::size_t comma = std::min(rest.find(','), rest.size());
  NameParts parts{rest.substr(0, comma), {}, {}};
  for (rest.remove_prefix(comma); !rest.empty(); rest.remove_prefix(comma)) {
    comma = std::min(rest.find(',', 1), rest.size());
    const std::string_view part = rest.substr(0, comma);
    if (part.starts_with(kWithout)) {
      parts.without = part.substr(kWithout.size());
    } else if (part.starts_with(kRank)) {
      parts.rank = rank_in(part.substr(kRank.size()));
    } else {
      throw UsageError(fmt::format(
          "virtual: behind a preset comes ',without=MECHANISM+MECHANISM' or ',rank=N', not '{}'", part));
    }
  }
  if (names_preset && parts.preset.empty()) {
    throw UsageError(fmt::format("virtual: behind the colon comes a preset ({}) or a file",
                                 joined(physics::preset_names())));
  }
  if (!names_preset) parts.preset = kDefaultPreset;
  return parts;
}

physics::Parameters parameters_of(const NameParts& parts) {
  const physics::Parameters parameters = without_all(physics::find_preset(parts.preset), parts.without);
  if (!parts.rank) return parameters;
  if (!parameters.cluster) {
    throw UsageError(fmt::format("virtual: {} is one GPU and has no rank {}; leave ',rank=' out",
                                 parts.preset, *parts.rank));
  }
  if (*parts.rank >= parameters.cluster->ranks) {
    throw UsageError(fmt::format("virtual: {} has the ranks 0 to {}, and no rank {}", parts.preset,
                                 parameters.cluster->ranks - 1, *parts.rank));
  }
  return parameters;
}

}  // namespace

physics::Parameters parameters_of(std::string_view name) { return parameters_of(parts_of(name)); }

std::unique_ptr<VirtualDevice> open_virtual_device(std::string_view name, std::uint64_t seed) {
  const NameParts parts = parts_of(name);
  return make_virtual_device(parameters_of(parts), seed, name, parts.rank);
}

std::string virtual_device_summary() {
  return fmt::format("simulated GPU ({}; {} if none is named)", joined(physics::preset_names()),
                     kDefaultPreset);
}

std::vector<std::string> preset_names() { return physics::preset_names(); }

std::vector<std::string> mechanism_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < physics::kMechanisms; ++i) {
    names.emplace_back(to_string(static_cast<physics::Mechanism>(i)));
  }
  return names;
}

std::vector<PresetKey> preset_keys() {
  physics::Parameters parameters;
  std::vector<PresetKey> keys;
  for (const physics::Key& key : physics::preset_keys(parameters)) {
    keys.push_back({std::string(key.table()), std::string(key.name()), key.expected});
  }
  return keys;
}

}  // namespace jitterscope::virtual_gpu
