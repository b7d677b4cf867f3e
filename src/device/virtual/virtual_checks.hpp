// What a virtual GPU's preset gives and withholds, as lines of `doctor`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::virtual_gpu {

std::vector<Check> check_virtual_gpu(const physics::Parameters& parameters,
                                     const std::vector<std::string>& other_processes);

}  // namespace jitterscope::virtual_gpu
