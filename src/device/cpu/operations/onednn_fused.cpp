// Fused chains: a primitive whose post-ops are the steps behind the first. What a step hands on stays in
// registers, in f32 whatever the data type.
#include <optional>
#include <utility>

#include "device/cpu/operations/onednn_layer_primitives.hpp"
#include "device/cpu/operations/onednn_operation.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "device/cpu/operations/shapes.hpp"
#include "device/fusion.hpp"

namespace jitterscope::cpu {
namespace {

using dnnl::memory;

memory::desc vector_tensor(const Elementwise& shape) {
  return {{shape.count}, storage_type(shape.dtype), memory::dims{1}};
}

memory::desc images_of(const BiasAdd& bias) {
  return image_tensor(bias.n, bias.c, bias.h, bias.w, bias.dtype, bias.layout);
}

/// What the first step writes and all others pass on.
struct Passing {
  memory::desc plain;  ///< as it lies in memory
  memory::desc inner;  ///< within the primitive; any layout where oneDNN chooses
};

// Numbers without a shape take that of the bias that is added to them, if there is one.
Passing passing_of(const Chain& chain) {
  const Operation::Parameters& first = chain.steps.front().parameters();
  if (const auto* conv = std::get_if<Conv2d>(&first)) {
    const memory::desc y = convolution_result(*conv);
    return {y, conv->layout == Layout::nhwc ? y : any_layout(y)};
  }
  if (const auto* pool = std::get_if<Pool2d>(&first)) {
    const memory::desc y = average_shape(*pool).y;
    return {y, y};
  }
  if (std::holds_alternative<Matmul>(first) || std::holds_alternative<Linear>(first)) {
    const Matmul matmul = as_matmul(chain.steps.front());
    const memory::dims rows = {matmul.m, matmul.n}, batch = {matmul.batch, matmul.m, matmul.n};
    const auto type = storage_type(matmul.dtype);
    const memory::desc c = matmul.batch == 1
                               ? memory::desc(rows, type, memory::dims{matmul.n, 1})
                               : memory::desc(batch, type, memory::dims{matmul.m * matmul.n, matmul.n, 1});
    return {c, c};
  }
  for (const Operation& step : chain.steps) {
    const auto* bias = std::get_if<BiasAdd>(&step.parameters());
    if (bias != nullptr) return {images_of(*bias), images_of(*bias)};
  }
  const memory::desc all = vector_tensor(std::get<Elementwise>(first));
  return {all, all};
}

// One number for each channel, or for each column of a product.
memory::desc channels_of(const BiasAdd& bias, const Chain& chain) {
  const Operation::Parameters& first = chain.steps.front().parameters();
  const auto type = storage_type(bias.dtype);
  if (std::holds_alternative<Matmul>(first) || std::holds_alternative<Linear>(first)) {
    return {{1, bias.c}, type, memory::dims{bias.c, 1}};
  }
  return {{1, bias.c, 1, 1}, type, memory::dims{bias.c, 1, 1, 1}};
}

void append_activation(dnnl::post_ops& list, ElementwiseKind kind) {
  const Activation activation = activation_of(kind).value_or(Activation{dnnl::algorithm::eltwise_relu});
#if DNNL_VERSION_MAJOR >= 3
  list.append_eltwise(activation.algorithm, activation.alpha, activation.beta);
#else
  list.append_eltwise(1.0f, activation.algorithm, activation.alpha, activation.beta);
#endif
}

dnnl::algorithm binary_algorithm(const Operation& step) {
  const auto* elementwise = std::get_if<Elementwise>(&step.parameters());
  const bool multiplies = elementwise != nullptr && elementwise->kind == ElementwiseKind::mul;
  return multiplies ? dnnl::algorithm::binary_mul : dnnl::algorithm::binary_add;
}

PostOps post_ops_of(const Chain& chain, const Passing& passing) {
  PostOps post_ops;
  for (std::size_t step = 1; step < chain.steps.size(); ++step) {
    const Operation& own = chain.steps[step];
    if (const auto* bias = std::get_if<BiasAdd>(&own.parameters())) {
      post_ops.operands.push_back(channels_of(*bias, chain));
      post_ops.list.append_binary(dnnl::algorithm::binary_add, post_ops.operands.back());
    } else if (is_activation(own)) {
      append_activation(post_ops.list, std::get<Elementwise>(own.parameters()).kind);
    } else {
      post_ops.operands.push_back(passing.plain);
      post_ops.list.append_binary(binary_algorithm(own), passing.inner);
    }
  }
  return post_ops;
}

// The operands that a primitive is given as they lie.
OnednnPlan as_they_lie(Primitive primitive) {
  OnednnPlan plan{std::move(primitive), {}};
  for (const Primitive::Argument& argument : plan.primitive.arguments) plan.operands.push_back(argument.desc);
  return plan;
}

OnednnPlan plan_fused(const Chain& chain, const dnnl::engine& engine) {
  const Operation& first = chain.steps.front();
  const Passing passing = passing_of(chain);
  const PostOps post_ops = post_ops_of(chain, passing);
  if (const auto* conv = std::get_if<Conv2d>(&first.parameters())) {
    return plan_convolution(*conv, engine, post_ops);
  }
  if (const auto* pool = std::get_if<Pool2d>(&first.parameters())) {
    return as_they_lie(average_primitive(engine, average_shape(*pool), Pass::forward, post_ops.list));
  }
  if (const auto* bias = std::get_if<BiasAdd>(&first.parameters())) {
    return as_they_lie(binary_primitive(engine, dnnl::algorithm::binary_add, passing.plain,
                                        channels_of(*bias, chain), post_ops.list));
  }
  if (std::holds_alternative<Elementwise>(first.parameters())) {
    return as_they_lie(
        binary_primitive(engine, binary_algorithm(first), passing.plain, passing.plain, post_ops.list));
  }
  return plan_matmul(as_matmul(first), engine, post_ops);
}

}  // namespace

std::unique_ptr<PreparedOperation> prepare_onednn_fused(const Operation& operation,
                                                        const InputTable& inputs) {
  return prepare_planned(operation, inputs, [&operation](const dnnl::engine& engine) {
    return plan_fused(std::get<Chain>(operation.parameters()), engine);
  });
}

}  // namespace jitterscope::cpu
