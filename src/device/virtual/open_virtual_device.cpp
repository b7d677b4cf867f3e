#include "device/virtual/open_virtual_device.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "base/names.hpp"
#include "device/virtual/virtual_device.hpp"
#include "jitterscope/error.hpp"
#include "physics/preset.hpp"
#include "physics/preset_keys.hpp"

namespace jitterscope::virtual_gpu {
namespace {

constexpr std::string_view kPrefix = "virtual", kWithout = ",without=";
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

// Splits `preset,without=a+b` in two. Any other word after a comma is an error.
std::pair<std::string_view, std::string_view> split(std::string_view text) {
  const std::size_t at = text.find(kWithout);
  if (at != std::string_view::npos) return {text.substr(0, at), text.substr(at + kWithout.size())};
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos) return {text, {}};
  throw UsageError(fmt::format("virtual: behind a preset comes ',without=MECHANISM+MECHANISM', not '{}'",
                               text.substr(comma)));
}

}  // namespace

physics::Parameters parameters_of(std::string_view name) {
  std::string_view rest = name.substr(std::min(kPrefix.size(), name.size()));
  const bool names_preset = rest.starts_with(':');
  if (!name.starts_with(kPrefix) || (!rest.empty() && !names_preset && !rest.starts_with(','))) {
    throw UsageError(
        fmt::format("'{}' is not a virtual device: virtual, virtual:PRESET or virtual:FILE.toml", name));
  }
  if (names_preset) rest.remove_prefix(1);
  const auto [preset, without] = split(rest);
  if (names_preset && preset.empty()) {
    throw UsageError(fmt::format("virtual: behind the colon comes a preset ({}) or a file",
                                 joined(physics::preset_names())));
  }
  const physics::Parameters parameters = physics::find_preset(names_preset ? preset : kDefaultPreset);
  return without_all(parameters, without);
}

std::unique_ptr<VirtualDevice> open_virtual_device(std::string_view name, std::uint64_t seed) {
  return make_virtual_device(parameters_of(name), seed, name);
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
