// What the loaded oneDNN is and can do.
#pragma once

#include <string>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

LibraryInfo onednn_library();
/// The instruction set that it uses here: avx2, avx512_core_bf16, …
std::string onednn_instruction_set();
/// What conv2d, matmul and linear are computed in; the other kinds, in own loops, also in further_types().
std::vector<DataType> product_types();
std::vector<DataType> further_types();
/// Threads that a parallel loop or a layer runs on.
int thread_count();

}  // namespace jitterscope::cpu
