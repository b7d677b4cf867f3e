#include "experiment/record_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"

namespace jitterscope {
namespace {

std::string library_version(const DeviceDescription& device, const std::string& name) {
  const auto found = std::ranges::find(device.libraries, name, &LibraryInfo::name);
  return found == device.libraries.end() ? "" : found->version;
}

std::string value_of(const std::vector<Property>& properties, const std::string& key) {
  const auto found = std::ranges::find(properties, key, &Property::key);
  return found == properties.end() ? "" : found->value;
}

void compare_machines(const RunRecord& first, const RunRecord& second, DifferenceList& differences) {
  differences.compare("device", first.device.name, second.device.name, true);
  if (first.device.name == second.device.name) {
    differences.compare("device uuid", first.device.uuid, second.device.uuid, true);
  }
  const auto limit = [](const DeviceDescription& device) {
    return device.power_limit ? power_text(*device.power_limit) : std::string();
  };
  differences.compare("power limit", limit(first.device), limit(second.device), true);
  // What only one of them has, too; what both have is listed once.
  for (const DeviceDescription* device : {&first.device, &second.device}) {
    for (const Property& property : device->properties) {
      if (property.key == "seed") continue;  // of a simulated device: the run's own, which conditions hold
      differences.compare(property.key, value_of(first.device.properties, property.key),
                          value_of(second.device.properties, property.key), true);
    }
    for (const LibraryInfo& library : device->libraries) {
      differences.compare(library.name, library_version(first.device, library.name),
                          library_version(second.device, library.name), true);
    }
  }
  differences.compare("jitterscope", first.environment.tool_version, second.environment.tool_version, true);
  differences.compare("host", value_of(first.environment.host, "host_name"),
                      value_of(second.environment.host, "host_name"), false);
}

std::string text_of(const std::optional<Value>& value) { return value ? to_string(*value) : "not set"; }

}  // namespace

void DifferenceList::compare(const std::string& name, const std::string& first, const std::string& second,
                             bool may_explain, const std::string& layer) {
  if (first == second) return;
  const auto same = [&](const RecordDifference& known) {
    return known.name == name && known.first == first && known.second == second;
  };
  auto found = std::ranges::find_if(all_, same);
  if (found == all_.end()) found = all_.insert(all_.end(), {name, first, second, may_explain});
  const bool is_named = std::ranges::find(found->of, layer) != found->of.end();
  if (!layer.empty() && !is_named) found->of.push_back(layer);
}

void compare_conditions(const RunEntry& first_entry, const Measurement& first, const RunEntry& second_entry,
                        const Measurement& second, DifferenceList& differences, const std::string& layer) {
  for (const ConditionDifference& each :
       differing_conditions(first_entry.result, first, second_entry.result, second)) {
    // The seed draws idles and orders; the interval holds what it changes.
    differences.compare(each.name, text_of(each.first), text_of(each.second), each.name != "seed", layer);
  }
  differences.compare("instrument", std::string(to_string(first.instrument)),
                      std::string(to_string(second.instrument)), true, layer);
  if (!first.clock || !second.clock) return;
  if (std::abs(second.clock->median / first.clock->median - 1.0) > kSameClock) {
    differences.compare("clock", clock_text(first.clock->median), clock_text(second.clock->median), true,
                        layer);
  }
}

std::vector<RecordDifference> machine_differences(const RunRecord& first, const RunRecord& second) {
  std::vector<RecordDifference> all;
  DifferenceList differences(all);
  compare_machines(first, second, differences);
  return all;
}

}  // namespace jitterscope
