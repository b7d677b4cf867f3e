// Lists presets, mechanisms and preset keys without opening a device.
#pragma once

#include <string>
#include <vector>

namespace jitterscope::virtual_gpu {

/// Names of the available presets; virtual:NAME is a device.
std::vector<std::string> preset_names();
/// Causes of variation that can be switched off: virtual:NAME,without=MECHANISM+MECHANISM.
std::vector<std::string> mechanism_names();

/// A key of a preset file: [table], name = expected.
struct PresetKey {
  std::string table, name, expected;
};
std::vector<PresetKey> preset_keys();

}  // namespace jitterscope::virtual_gpu
