// What there is to say of presets without opening one.
#pragma once

#include <string>
#include <vector>

namespace jitterscope::virtual_gpu {

/// Names of the presets that are found: virtual:NAME is a device.
std::vector<std::string> preset_names();
/// Causes of variation that can be switched off: virtual:NAME,without=MECHANISM+MECHANISM.
std::vector<std::string> mechanism_names();

/// What a preset file may hold: [table], name = expected.
struct PresetKey {
  std::string table, name, expected;
};
std::vector<PresetKey> preset_keys();

}  // namespace jitterscope::virtual_gpu
