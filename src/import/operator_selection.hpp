// Selects the operators of a record that are timed, such that each piece of work is timed once.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace jitterscope {

inline constexpr std::size_t kNoParent = std::numeric_limits<std::size_t>::max();

/// An operator of a record and its caller.
struct OperatorNode {
  std::string_view name;
  std::size_t parent = kNoParent;  ///< index of the caller, an earlier node
  bool launches = false;           ///< true if the record shows that it launched GPU work itself
};

enum class OperatorRole : std::uint8_t {
  nothing,  ///< makes or views memory, calls others, or belongs to the framework
  timed,    ///< becomes a call
  foreign,  ///< does work, but is no operator of PyTorch
  part,     ///< a part of the timed or foreign operator above it
};

/// Returns one role for each node. An operator is timed if no operator beneath it is. Exceptions are
/// operators that launch kernels of their own besides those that they call for (see Work).
std::vector<OperatorRole> select_operators(const std::vector<OperatorNode>& nodes);

/// Returns for each node whether it calls an aten::sum that is timed apart: a convolution's bias gradient.
std::vector<bool> with_timed_sums(const std::vector<OperatorNode>& nodes,
                                  const std::vector<OperatorRole>& roles);

/// Returns for each node the nearest timed or foreign operator, at the node or above it; else kNoParent.
std::vector<std::size_t> owners(const std::vector<OperatorNode>& nodes,
                                const std::vector<OperatorRole>& roles);

// Kinds of work that operators do besides calling others.

enum class Work : std::uint8_t {
  none,       ///< makes or views memory, or asks about it
  passes,     ///< calls others if there is something to do
  calls,      ///< calls others, or does the work itself if it calls none
  whole,      ///< launches kernels, and calls others as a part of that
  beside,     ///< launches kernels, and calls others for work that has an operation of its own
  unknown,    ///< an operator of PyTorch that is not listed
  foreign,    ///< belongs to another library, or is communication
  framework,  ///< autograd, annotations, the optimizer's Python code
};

Work work_of(std::string_view name);

/// True for cuDNN's operators, which do not exist on a CPU.
bool runs_on_gpu_alone(std::string_view name);

bool is_matrix_product(std::string_view name);

/// True if the operator only fills or copies memory, as operators do to prepare their own work.
bool only_moves_memory(std::string_view name);

}  // namespace jitterscope
