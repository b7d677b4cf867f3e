// The Python program that records a network's training in PyTorch.
#pragma once

#include <string_view>

namespace jitterscope {

/// unet.py and record_training.py, as one program.
std::string_view training_script();

}  // namespace jitterscope
