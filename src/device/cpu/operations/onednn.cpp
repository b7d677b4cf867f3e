#include "device/cpu/operations/onednn_operation.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "device/cpu/operations/shapes.hpp"

namespace jitterscope::cpu {
namespace {

using dnnl::memory;

memory::desc four_dimensional(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                              const Conv2d& conv) {
  return image_tensor(n, c, h, w, conv.dtype, conv.layout);
}

// oneDNN takes the groups of a weight as a dimension of its own.
memory::desc weight(const Conv2d& conv) {
  const std::int64_t c = conv.c / conv.groups, k = conv.k / conv.groups;
  if (conv.groups == 1) return four_dimensional(k, c, conv.r, conv.s, conv);
  const Strides steps = strides(c, conv.r, conv.s, conv.layout);
  return {{conv.groups, k, c, conv.r, conv.s},
          storage_type(conv.dtype),
          memory::dims{k * steps.n, steps.n, steps.c, steps.h, steps.w}};
}

}  // namespace

memory::desc convolution_result(const Conv2d& conv) {
  return four_dimensional(conv.n, conv.k, conv.out_h(), conv.out_w(), conv);
}

OnednnPlan plan_convolution(const Conv2d& conv, const dnnl::engine& engine, const PostOps& post_ops) {
  const memory::desc x = four_dimensional(conv.n, conv.c, conv.h, conv.w, conv);
  const memory::desc w = weight(conv);
  const memory::desc y = convolution_result(conv);
  // As PyTorch: channels last is kept, and the rest is oneDNN's choice. On plain nchw tensors oneDNN falls
  // back to matrix products over unfolded images: with reorders counted, 3.5 times as slow for a 3x3 layer
  // with 64 channels on 56x56, and 13 times for a depthwise one (oneDNN 2.6, one AVX-512 core).
  const bool channels_last = conv.layout == Layout::nhwc;
  const ConvolutionShape shape{.x = channels_last ? x : any_layout(x),
                               .w = any_layout(w),
                               .y = channels_last ? y : any_layout(y),
                               .stride = {conv.stride_h, conv.stride_w},
                               .dilation = {conv.dilation_h - 1, conv.dilation_w - 1},
                               .padding = {conv.pad_h, conv.pad_w}};
  OnednnPlan plan{convolution_primitive(engine, conv.direction, shape, post_ops.list), {}};
  switch (conv.direction) {
    case Direction::fprop:
      plan.operands = {x, w};
      plan.operands.insert(plan.operands.end(), post_ops.operands.begin(), post_ops.operands.end());
      plan.operands.push_back(y);
      break;
    case Direction::dgrad: plan.operands = {y, w, x}; break;
    case Direction::wgrad: plan.operands = {x, y, w}; break;
  }
  return plan;
}

OnednnPlan plan_matmul(const Matmul& m, const dnnl::engine& engine, const PostOps& post_ops,
                       const RowStride& stride) {
  const auto type = storage_type(m.dtype);
  const auto matrix = [&](std::int64_t rows, std::int64_t columns, bool transposed) {
    const std::int64_t step = stride.of(transposed ? rows : columns);  // between rows as they are stored
    const std::int64_t row_step = transposed ? 1 : step, column_step = transposed ? step : 1;
    if (m.batch == 1) return memory::desc({rows, columns}, type, memory::dims{row_step, column_step});
    const std::int64_t next_matrix = (transposed ? columns : rows) * step;
    return memory::desc({m.batch, rows, columns}, type, memory::dims{next_matrix, row_step, column_step});
  };
  MatmulShape shape{
      matrix(m.m, m.k, m.transpose_a), matrix(m.k, m.n, m.transpose_b), matrix(m.m, m.n, false), {}};
  if (m.bias) {
    shape.bias = m.batch == 1 ? memory::desc({1, m.n}, type, memory::dims{m.n, 1})
                              : memory::desc({1, 1, m.n}, type, memory::dims{m.n, m.n, 1});
  }
  OnednnPlan plan{matmul_primitive(engine, shape, post_ops.list), {}};
  for (const Primitive::Argument& argument : plan.primitive.arguments) plan.operands.push_back(argument.desc);
  return plan;
}

std::unique_ptr<PreparedOperation> prepare_onednn(const Operation& operation, const InputTable& inputs) {
  return prepare_planned(operation, inputs, [&](const dnnl::engine& engine) {
    const auto* conv = std::get_if<Conv2d>(&operation.parameters());
    if (conv != nullptr) return plan_convolution(*conv, engine);
    return plan_matmul(as_matmul(operation), engine, {}, inputs.data().rows);
  });
}

}  // namespace jitterscope::cpu
