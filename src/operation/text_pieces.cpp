#include "operation/text_pieces.hpp"

#include <algorithm>

#include "operation/chain.hpp"
#include "operation/cuda_kernel.hpp"

namespace jitterscope {

std::size_t subject_end(std::string_view kind, std::string_view text) {
  if (kind == kCudaKind) return kernel_piece_end(text);
  return kind == kChainKind ? chain_steps_end(text) : 0;
}

std::size_t parameter_end(std::string_view kind, std::string_view text) {
  return kind == kCudaKind ? kernel_piece_end(text) : std::min(text.find(','), text.size());
}

}  // namespace jitterscope
