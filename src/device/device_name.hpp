// What a device's name says without opening it.
#pragma once

#include <string_view>

namespace jitterscope {

/// `virtual`, `virtual:PRESET`, `virtual:FILE.toml`, each with what is switched off behind a comma.
bool names_virtual_device(std::string_view name);

}  // namespace jitterscope
