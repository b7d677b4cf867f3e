// An execution trace's node and a profiler trace's event as a recorded operator.
#pragma once

#include "import/json.hpp"
#include "import/recorded_operator.hpp"

namespace jitterscope {

/// Of a node of an execution trace. With `on_gpu`, tensors in the host's memory are marked as such. Throws
/// FieldProblem.
RecordedOperator read_node(simdjson::dom::object node, bool on_gpu);

/// Of the arguments of an event of a profiler trace. Throws FieldProblem; where shapes were not recorded,
/// too.
RecordedOperator read_event(std::string_view name, simdjson::dom::object arguments);

/// A value as the profiler writes it: 1, 0.5, True, [1, 2]. Nothing for other text.
std::optional<AtenArgument> parse_concrete(std::string_view text);

}  // namespace jitterscope
