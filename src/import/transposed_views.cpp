#include "import/transposed_views.hpp"

#include "import/operator_work.hpp"

namespace jitterscope {
namespace {

bool is_matrix_without_strides(const RecordedArgument& argument) {
  return argument.value.kind == AtenArgument::Kind::tensor && argument.identity &&
         argument.value.strides.empty() && argument.value.shape.size() == 2;
}

}  // namespace

void TransposedViews::complete(RecordedArgument& argument) {
  const AtenArgument& value = argument.value;
  if (value.kind != AtenArgument::Kind::tensor || !value.strides.empty() || value.shape.empty()) return;
  any_assumed_ = true;
  if (!is_matrix_without_strides(argument)) return;
  if (!transposed_.contains({*argument.identity, value.shape})) return;
  argument.value.strides = {1, value.shape[0]};
}

void TransposedViews::complete(RecordedOperator& recorded) {
  for (RecordedArgument& argument : recorded.arguments) complete(argument);
  const bool flips = recorded.name == "aten::t" && !recorded.arguments.empty() &&
                     recorded.arguments.front().value.strides.empty();
  // What aten::t calls for gives the same view.
  if (!flips && recorded.name != "aten::t" && work_of(recorded.name) == Work::none) return;
  for (const RecordedArgument& output : recorded.outputs) {
    if (!is_matrix_without_strides(output)) continue;
    const View view{*output.identity, output.value.shape};
    if (flips) {
      transposed_.insert(view);
    } else {
      transposed_.erase(view);
    }
  }
}

}  // namespace jitterscope
