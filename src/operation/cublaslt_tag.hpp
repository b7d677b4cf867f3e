// What cuBLASLt logs of an algorithm, as the tag of an engine.
#pragma once

#include <string>
#include <string_view>

namespace jitterscope {

/// Of `algoId=55 tile=MATMUL_TILE_64x128 numSplitsK=4 …`, what stands within algo=[…]:
/// algo55_tile=64x128_splitk=4. In the log's words, without those that leave a choice to cuBLASLt (AUTO, 0,
/// one split); reduction schemes are numbers, as their names hold a `_`, which parts a tag. Empty where there
/// is no algoId. Nothing else is checked.
std::string cublaslt_tag(std::string_view algorithm);

}  // namespace jitterscope
