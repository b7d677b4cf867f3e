// What an operator's arguments do not say of its arithmetic, and its kernels do.
#pragma once

#include "import/model_builder.hpp"

namespace jitterscope {

/// A product of f32 whose kernel's name says that it ran in TF32 is one in TF32; any other is as it was.
ConvertedOperation with_recorded_precision(ConvertedOperation converted, const RecordedWork& work);

}  // namespace jitterscope
