#include "device/virtual/presets.hpp"

#include "physics/preset.hpp"
#include "physics/preset_keys.hpp"

namespace jitterscope::virtual_gpu {

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
