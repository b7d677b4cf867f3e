// What the loaded oneDNN is and can do.
#pragma once

#include <string>

#include "jitterscope/device.hpp"

namespace jitterscope::cpu {

LibraryInfo onednn_library();
/// The instruction set that it uses here: avx2, avx512_core_bf16, …
std::string onednn_instruction_set();
bool onednn_has_bf16();
/// Threads that a parallel loop or a layer runs on.
int thread_count();

}  // namespace jitterscope::cpu
