// Embedding tables and optimizer steps.
#include "import/native_conversions.hpp"
#include "import/tensor_layout.hpp"

namespace jitterscope {
namespace {

// All parameters of a step, as one.
OptimizerStep step_over(const AtenArgument& parameters, OptimizerKind kind) {
  require_native(parameters.kind == AtenArgument::Kind::list && !parameters.elements.empty());
  OptimizerStep step;
  step.kind = kind;
  step.count = 0;
  step.dtype = native_type(parameters.elements.front());
  for (const AtenArgument& parameter : parameters.elements) {
    require_native(parameter.kind == AtenArgument::Kind::tensor && native_type(parameter) == step.dtype);
    step.count += element_count(parameter);
    require_native(step.count < (std::int64_t{1} << 50));
  }
  return step;
}

const AtenArgument& list(const Arguments& arguments, std::string_view name) {
  const RecordedArgument* argument = arguments.find(name);
  require_native(argument != nullptr && argument->value.kind == AtenArgument::Kind::list);
  return argument->value;
}

OptimizerKind optimizer_kind(const RecordedOperator& recorded, const Arguments& arguments) {
  if (recorded.name == "aten::_fused_adam_") return OptimizerKind::adam;
  if (recorded.name == "aten::_fused_adamw_") return OptimizerKind::adamw;
  if (recorded.name == "aten::_fused_sgd_") {
    const bool momentum = !list(arguments, "momentum_buffer_list").elements.empty();
    return momentum ? OptimizerKind::momentum : OptimizerKind::sgd;
  }
  // p += -lr·g for all parameters: what torch.optim.SGD without momentum does.
  require_native(list(arguments, "other").elements.size() == list(arguments, "self").elements.size());
  require_native(arguments.number_or("alpha", 1.0) < 0.0);
  return OptimizerKind::sgd;
}

}  // namespace

Converted convert_embedding(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const AtenArgument &weight = arguments.tensor("weight"), &indices = arguments.tensor("indices");
  require_native(weight.shape.size() == 2 && is_dense_row_major(weight) && indices.text == "i64");
  Embedding embedding;
  embedding.count = element_count(indices);
  embedding.rows = weight.shape[0], embedding.columns = weight.shape[1];
  embedding.dtype = native_type(weight);
  return {as_operation(embedding, {{"indices", arguments.identity("indices")},
                                   {"table", arguments.identity("weight")},
                                   {"y", arguments.output_identity(0)}})};
}

Converted convert_embedding_backward(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  const AtenArgument &gradient = arguments.tensor("grad_output"), &indices = arguments.tensor("indices");
  require_native(!gradient.shape.empty() && indices.text == "i64");
  require_native(!arguments.boolean("scale_grad_by_freq"));
  Embedding embedding;
  embedding.count = element_count(indices);
  embedding.rows = arguments.integer("num_weights"), embedding.columns = gradient.shape.back();
  embedding.dtype = native_type(gradient);
  embedding.pass = Pass::backward;
  return {as_operation(embedding, {{"dy", arguments.identity("grad_output")},
                                   {"indices", arguments.identity("indices")},
                                   {"dtable", arguments.output_identity(0)}})};
}

Converted convert_optimizer(const RecordedOperator& recorded, ConversionContext&) {
  const Arguments arguments(recorded);
  return {as_operation(step_over(list(arguments, "self"), optimizer_kind(recorded, arguments)))};
}

}  // namespace jitterscope
