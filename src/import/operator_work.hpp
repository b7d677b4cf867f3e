// What operators of PyTorch do besides calling others.
#pragma once

#include <cstdint>
#include <string_view>

namespace jitterscope {

enum class Work : std::uint8_t {
  none,       ///< makes or views memory, or asks about it
  passes,     ///< calls others where there is something to do
  calls,      ///< calls others, or does the work itself where it calls none
  whole,      ///< launches kernels, and calls others as a part of that
  beside,     ///< launches kernels, and calls others for work that has an operation of its own
  unknown,    ///< an operator of PyTorch that is not listed
  foreign,    ///< of another library, or communication
  framework,  ///< autograd, annotations, the optimizer's Python code
};

Work work_of(std::string_view name);

/// Whether there is no such operator on a CPU: cuDNN's.
bool runs_on_gpu_alone(std::string_view name);

bool is_matrix_product(std::string_view name);

/// Whether it only fills or copies memory: what an operator calls for while it prepares its own work.
bool only_moves_memory(std::string_view name);

}  // namespace jitterscope
