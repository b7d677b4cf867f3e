#include "device/virtual/presets.hpp"

#include "physics/preset.hpp"

namespace jitterscope::virtual_gpu {

std::vector<std::string> preset_names() { return physics::preset_names(); }

std::vector<std::string> mechanism_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < physics::kMechanisms; ++i) {
    names.emplace_back(to_string(static_cast<physics::Mechanism>(i)));
  }
  return names;
}

}  // namespace jitterscope::virtual_gpu
