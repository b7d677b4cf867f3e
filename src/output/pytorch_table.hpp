// What `jitterscope verify-pytorch` prints.
#pragma once

#include <string>

#include "record/records.hpp"

namespace jitterscope {

std::string pytorch_table(const PytorchRecord& record);

}  // namespace jitterscope
