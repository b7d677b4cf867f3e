#include "pytorch/training_script.hpp"

namespace jitterscope {
namespace {

constexpr PythonFile kFiles[] = {
    {
        "record_training.py",
#include "record_training.py.inc"
    },
    {
        "unet.py",
#include "unet.py.inc"
    },
};

}  // namespace

std::span<const PythonFile> training_script() { return kFiles; }

}  // namespace jitterscope
