// Which operators of a record are timed: those that do work, each piece of work once.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace jitterscope {

inline constexpr std::size_t kNoParent = std::numeric_limits<std::size_t>::max();

/// An operator of a record with the one that called it.
struct OperatorNode {
  std::string_view name;
  std::size_t parent = kNoParent;  ///< an earlier node
  bool launches = false;           ///< whether the record shows that it launched work on the GPU itself
};

enum class OperatorRole : std::uint8_t {
  nothing,  ///< makes or views memory, calls others, or belongs to the framework
  timed,    ///< becomes a call
  foreign,  ///< does work, and is no operator of PyTorch
  part,     ///< of the timed or foreign operator above it
};

/// One role for each node. An operator is timed where nothing beneath it is, with these exceptions: some
/// launch kernels of their own beside those that they call for (Work in the source).
std::vector<OperatorRole> select_operators(const std::vector<OperatorNode>& nodes);

/// Of each node, whether an aten::sum that it calls is timed apart: a convolution's bias gradient.
std::vector<bool> with_timed_sums(const std::vector<OperatorNode>& nodes,
                                  const std::vector<OperatorRole>& roles);

/// The nearest timed or foreign operator at a node or above it, or kNoParent.
std::vector<std::size_t> owners(const std::vector<OperatorNode>& nodes,
                                const std::vector<OperatorRole>& roles);

// What operators of PyTorch do besides calling others.

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
