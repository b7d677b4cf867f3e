// Reads a node of an execution trace or an event of a profiler trace as a recorded operator.
#pragma once

#include "import/json.hpp"
#include "import/recorded_operator.hpp"

namespace jitterscope {

/// Reads a node of an execution trace. With `on_gpu`, tensors in the host's memory are marked as such. Throws
/// FieldProblem.
RecordedOperator read_node(simdjson::dom::object node, bool on_gpu);

/// Reads the arguments of an event of a profiler trace. Throws FieldProblem, also if shapes were not
/// recorded.
RecordedOperator read_event(std::string_view name, simdjson::dom::object arguments);

/// Reads a value as the profiler writes it: 1, 0.5, True, [1, 2]. nullopt for other text.
std::optional<AtenArgument> parse_concrete(std::string_view text);

}  // namespace jitterscope
