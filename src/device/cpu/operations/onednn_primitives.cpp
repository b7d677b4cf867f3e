#include "device/cpu/operations/onednn_primitives.hpp"

#include <utility>
#include <vector>

#include "device/cpu/operations/cpu_operation.hpp"

namespace jitterscope::cpu {

/// A forward pass as in training, which keeps data for the gradient.
inline constexpr auto kForward = dnnl::prop_kind::forward_training;

/// The scratchpad is ours, so that its size is known and its lines can be flushed.
inline dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops = {}) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(post_ops);
  return attributes;
}

/// Version 2 makes a description first; version 3 passes its parts straight to the primitive description.
template <class Kind, class... Parts>
auto describe_with(const dnnl::engine& engine, const dnnl::post_ops& post_ops, const Parts&... parts) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Kind::primitive_desc(engine, parts..., attributes(post_ops));
#else
  return typename Kind::primitive_desc(typename Kind::desc(parts...), attributes(post_ops), engine);
#endif
}
template <class Kind, class... Parts>
auto describe(const dnnl::engine& engine, const Parts&... parts) {
  return describe_with<Kind>(engine, dnnl::post_ops(), parts...);
}

/// A gradient names its forward primitive, last before the attributes in version 3.
template <class Kind, class Forward, class... Parts>
auto describe_gradient(const dnnl::engine& engine, const Forward& forward, const Parts&... parts) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Kind::primitive_desc(engine, parts..., forward, attributes());
#else
  return typename Kind::primitive_desc(typename Kind::desc(parts...), attributes(), engine, forward);
#endif
}

template <class Kind, class Description>
// NOLINTNEXTLINE(performance-unnecessary-value-param): moved from, which is not seen in a template
Primitive primitive_of(const Description& description, std::vector<Primitive::Argument> arguments) {
  return {.primitive = Kind(description),
          .implementation = description.impl_info_str(),
          .arguments = std::move(arguments),
          .scratchpad = description.scratchpad_desc()};
}

/// Appends the operands that the post-ops read, in their order.
template <class Description>
void add_post_op_arguments(const Description& description, const dnnl::post_ops& post_ops,
                           std::vector<Primitive::Argument>& arguments) {
  for (int i = 0; i < post_ops.len(); ++i) {
    if (post_ops.kind(i) != dnnl::primitive::kind::binary) continue;
    const int id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1;
    arguments.push_back({id, description.query_md(dnnl::query::exec_arg_md, id)});
  }
}

namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;

// As PyTorch asks for; Winograd would round differently.
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

}  // namespace

dnnl::memory::desc image_tensor(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                                DataType dtype, Layout layout) {
  const Strides steps = strides(c, h, w, layout);
  return {{n, c, h, w}, storage_type(dtype), dnnl::memory::dims{steps.n, steps.c, steps.h, steps.w}};
}

dnnl::memory::desc any_layout(const dnnl::memory::desc& plain) {
#if DNNL_VERSION_MAJOR >= 3
  return {plain.get_dims(), plain.get_data_type(), dnnl::memory::format_tag::any};
#else
  return {plain.dims(), plain.data_type(), dnnl::memory::format_tag::any};
#endif
}

Primitive convolution_primitive(const dnnl::engine& engine, Direction direction,
                                const ConvolutionShape& shape, const dnnl::post_ops& post_ops) {
  const auto forward =
      describe_with<convolution_forward>(engine, post_ops, kForward, kDirect, shape.x, shape.w, shape.y,
                                         shape.stride, shape.dilation, shape.padding, shape.padding);
  if (direction == Direction::fprop) {
    std::vector<Primitive::Argument> arguments = {{DNNL_ARG_SRC, forward.src_desc()},
                                                  {DNNL_ARG_WEIGHTS, forward.weights_desc()}};
    add_post_op_arguments(forward, post_ops, arguments);
    arguments.push_back({DNNL_ARG_DST, forward.dst_desc()});
    return primitive_of<convolution_forward>(forward, std::move(arguments));
  }
  if (direction == Direction::dgrad) {
    const auto backward = describe_gradient<convolution_backward_data>(
        engine, forward, kDirect, shape.x, shape.w, shape.y, shape.stride, shape.dilation, shape.padding,
        shape.padding);
    return primitive_of<convolution_backward_data>(backward, {{DNNL_ARG_DIFF_DST, backward.diff_dst_desc()},
                                                              {DNNL_ARG_WEIGHTS, backward.weights_desc()},
                                                              {DNNL_ARG_DIFF_SRC, backward.diff_src_desc()}});
  }
  const auto backward = describe_gradient<convolution_backward_weights>(
      engine, forward, kDirect, shape.x, shape.w, shape.y, shape.stride, shape.dilation, shape.padding,
      shape.padding);
  return primitive_of<convolution_backward_weights>(backward,
                                                    {{DNNL_ARG_SRC, backward.src_desc()},
                                                     {DNNL_ARG_DIFF_DST, backward.diff_dst_desc()},
                                                     {DNNL_ARG_DIFF_WEIGHTS, backward.diff_weights_desc()}});
}

Primitive matmul_primitive(const dnnl::engine& engine, const MatmulShape& shape,
                           const dnnl::post_ops& post_ops) {
  std::vector<Primitive::Argument> arguments = {{DNNL_ARG_SRC, shape.a}, {DNNL_ARG_WEIGHTS, shape.b}};
  if (shape.bias) arguments.push_back({DNNL_ARG_BIAS, *shape.bias});
  const auto described =
      shape.bias ? describe_with<dnnl::matmul>(engine, post_ops, shape.a, shape.b, *shape.bias, shape.c)
                 : describe_with<dnnl::matmul>(engine, post_ops, shape.a, shape.b, shape.c);
  add_post_op_arguments(described, post_ops, arguments);
  arguments.push_back({DNNL_ARG_DST, shape.c});
  return primitive_of<dnnl::matmul>(described, std::move(arguments));
}

Primitive binary_primitive(const dnnl::engine& engine, dnnl::algorithm algorithm, const dnnl::memory::desc& a,
                           const dnnl::memory::desc& b, const dnnl::post_ops& post_ops) {
  std::vector<Primitive::Argument> arguments = {{DNNL_ARG_SRC_0, a}, {DNNL_ARG_SRC_1, b}};
  const auto described = describe_with<dnnl::binary>(engine, post_ops, algorithm, a, b, a);
  add_post_op_arguments(described, post_ops, arguments);
  arguments.push_back({DNNL_ARG_DST, a});
  return primitive_of<dnnl::binary>(described, std::move(arguments));
}

namespace {

constexpr auto kInference = dnnl::prop_kind::forward_inference;
constexpr auto kBackward = dnnl::prop_kind::backward;
constexpr auto kAverage = dnnl::algorithm::pooling_avg_include_padding;

dnnl::normalization_flags scale_and_shift() {
  return dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
}

}  // namespace

std::optional<Activation> activation_of(ElementwiseKind kind) {
  using dnnl::algorithm;
  switch (kind) {
    case ElementwiseKind::relu6: return Activation{algorithm::eltwise_clip_v2, 0, 6};
    case ElementwiseKind::sigmoid: return Activation{algorithm::eltwise_logistic};
    case ElementwiseKind::tanh: return Activation{algorithm::eltwise_tanh};
    case ElementwiseKind::silu: return Activation{algorithm::eltwise_swish, 1};
    case ElementwiseKind::gelu: return Activation{algorithm::eltwise_gelu_erf};
    case ElementwiseKind::relu6_backward: return Activation{algorithm::eltwise_clip_v2, 0, 6, true};
    case ElementwiseKind::sigmoid_backward:
      return Activation{algorithm::eltwise_logistic_use_dst_for_bwd, 0, 0, true, true};
    case ElementwiseKind::tanh_backward:
      return Activation{algorithm::eltwise_tanh_use_dst_for_bwd, 0, 0, true, true};
    case ElementwiseKind::silu_backward: return Activation{algorithm::eltwise_swish, 1, 0, true};
    case ElementwiseKind::gelu_backward: return Activation{algorithm::eltwise_gelu_erf, 0, 0, true};
    default: return std::nullopt;
  }
}

AverageShape average_shape(const Pool2d& pool) {
  return {.x = image_tensor(pool.n, pool.c, pool.h, pool.w, pool.dtype, pool.layout),
          .y = image_tensor(pool.n, pool.c, pool.out_h(), pool.out_w(), pool.dtype, pool.layout),
          .window = {pool.window_h, pool.window_w},
          .stride = {pool.stride_h, pool.stride_w},
          .padding = {pool.pad_h, pool.pad_w}};
}

// Version 3 describes both sides of a primitive, version 2 one for both.
Primitive activation_primitive(const dnnl::engine& engine, const Activation& activation,
                               const dnnl::memory::desc& tensor) {
  using dnnl::eltwise_backward;
  using dnnl::eltwise_forward;
  const auto [algorithm, alpha, beta, is_backward, keeps_output] = activation;
#if DNNL_VERSION_MAJOR >= 3
  const auto forward = describe<eltwise_forward>(engine, kForward, algorithm, tensor, tensor, alpha, beta);
#else
  const auto forward = describe<eltwise_forward>(engine, kForward, algorithm, tensor, alpha, beta);
#endif
  if (!is_backward) {
    return primitive_of<eltwise_forward>(forward, {{DNNL_ARG_SRC, tensor}, {DNNL_ARG_DST, tensor}});
  }
#if DNNL_VERSION_MAJOR >= 3
  const auto backward =
      describe_gradient<eltwise_backward>(engine, forward, algorithm, tensor, tensor, tensor, alpha, beta);
#else
  const auto backward =
      describe_gradient<eltwise_backward>(engine, forward, algorithm, tensor, tensor, alpha, beta);
#endif
  return primitive_of<eltwise_backward>(backward, {{DNNL_ARG_DIFF_DST, tensor},
                                                   {keeps_output ? DNNL_ARG_DST : DNNL_ARG_SRC, tensor},
                                                   {DNNL_ARG_DIFF_SRC, tensor}});
}

Primitive average_primitive(const dnnl::engine& engine, const AverageShape& shape, Pass pass,
                            const dnnl::post_ops& post_ops) {
#if DNNL_VERSION_MAJOR >= 3
  using Forward = dnnl::pooling_forward;
  using Backward = dnnl::pooling_backward;
#else
  using Forward = dnnl::pooling_v2_forward;
  using Backward = dnnl::pooling_v2_backward;
#endif
  const dnnl::memory::dims dense = {0, 0};
  const auto forward =
      describe_with<Forward>(engine, post_ops, kForward, kAverage, shape.x, shape.y, shape.stride,
                             shape.window, dense, shape.padding, shape.padding);
  if (pass == Pass::forward) {
    std::vector<Primitive::Argument> arguments = {{DNNL_ARG_SRC, shape.x}};
    add_post_op_arguments(forward, post_ops, arguments);
    arguments.push_back({DNNL_ARG_DST, shape.y});
    return primitive_of<Forward>(forward, std::move(arguments));
  }
  const auto backward = describe_gradient<Backward>(engine, forward, kAverage, shape.x, shape.y, shape.stride,
                                                    shape.window, dense, shape.padding, shape.padding);
  return primitive_of<Backward>(backward, {{DNNL_ARG_DIFF_DST, shape.y}, {DNNL_ARG_DIFF_SRC, shape.x}});
}

Primitive softmax_primitive(const dnnl::engine& engine, bool logarithm, const dnnl::memory::desc& matrix,
                            Pass pass) {
#if DNNL_VERSION_MAJOR >= 3
  using Forward = dnnl::softmax_forward;
  using Backward = dnnl::softmax_backward;
#else
  using Forward = dnnl::softmax_v2_forward;
  using Backward = dnnl::softmax_v2_backward;
#endif
  const auto algorithm = logarithm ? dnnl::algorithm::softmax_log : dnnl::algorithm::softmax_accurate;
  constexpr int kAxis = 1;
  const auto forward = describe<Forward>(engine, kForward, algorithm, matrix, matrix, kAxis);
  if (pass == Pass::forward) {
    return primitive_of<Forward>(forward, {{DNNL_ARG_SRC, matrix}, {DNNL_ARG_DST, matrix}});
  }
  const auto backward =
      describe_gradient<Backward>(engine, forward, algorithm, matrix, matrix, matrix, kAxis);
  return primitive_of<Backward>(
      backward, {{DNNL_ARG_DIFF_DST, matrix}, {DNNL_ARG_DST, matrix}, {DNNL_ARG_DIFF_SRC, matrix}});
}

Primitive batch_norm_primitive(const dnnl::engine& engine, const dnnl::memory::desc& tensor,
                               const dnnl::memory::desc& statistic, Pass pass) {
  using Forward = dnnl::batch_normalization_forward;
  using Backward = dnnl::batch_normalization_backward;
  const bool inference = pass == Pass::inference;
  const auto flags =
      inference ? scale_and_shift() | dnnl::normalization_flags::use_global_stats : scale_and_shift();
  const auto kind = inference ? kInference : kForward;
#if DNNL_VERSION_MAJOR >= 3
  const auto forward = describe<Forward>(engine, kind, tensor, tensor, kNormalizationEpsilon, flags);
#else
  const auto forward = describe<Forward>(engine, kind, tensor, kNormalizationEpsilon, flags);
#endif
  const Primitive::Argument x{DNNL_ARG_SRC, tensor}, y{DNNL_ARG_DST, tensor},
      weight{DNNL_ARG_SCALE, statistic}, bias{DNNL_ARG_SHIFT, statistic}, mean{DNNL_ARG_MEAN, statistic},
      variance{DNNL_ARG_VARIANCE, statistic};
  if (inference) return primitive_of<Forward>(forward, {x, weight, bias, mean, variance, y});
  if (pass == Pass::forward) return primitive_of<Forward>(forward, {x, weight, bias, y, mean, variance});
#if DNNL_VERSION_MAJOR >= 3
  const auto backward = describe_gradient<Backward>(engine, forward, kBackward, tensor, tensor, tensor,
                                                    kNormalizationEpsilon, flags);
#else
  const auto backward =
      describe_gradient<Backward>(engine, forward, kBackward, tensor, tensor, kNormalizationEpsilon, flags);
#endif
  return primitive_of<Backward>(backward, {x,
                                           {DNNL_ARG_DIFF_DST, tensor},
                                           weight,
                                           mean,
                                           variance,
                                           {DNNL_ARG_DIFF_SRC, tensor},
                                           {DNNL_ARG_DIFF_SCALE, statistic},
                                           {DNNL_ARG_DIFF_SHIFT, statistic}});
}

Primitive layer_norm_primitive(const dnnl::engine& engine, const dnnl::memory::desc& matrix,
                               const dnnl::memory::desc& rows, const dnnl::memory::desc& columns, Pass pass) {
  const dnnl::normalization_flags flags = scale_and_shift();
  using Forward = dnnl::layer_normalization_forward;
  using Backward = dnnl::layer_normalization_backward;
#if DNNL_VERSION_MAJOR >= 3
  const auto forward =
      describe<Forward>(engine, kForward, matrix, matrix, rows, kNormalizationEpsilon, flags);
#else
  const auto forward = describe<Forward>(engine, kForward, matrix, rows, kNormalizationEpsilon, flags);
#endif
  const Primitive::Argument x{DNNL_ARG_SRC, matrix}, weight{DNNL_ARG_SCALE, columns},
      mean{DNNL_ARG_MEAN, rows}, variance{DNNL_ARG_VARIANCE, rows};
  if (pass == Pass::forward) {
    return primitive_of<Forward>(
        forward, {x, weight, {DNNL_ARG_SHIFT, columns}, {DNNL_ARG_DST, matrix}, mean, variance});
  }
#if DNNL_VERSION_MAJOR >= 3
  const auto backward = describe_gradient<Backward>(engine, forward, kBackward, matrix, matrix, matrix, rows,
                                                    kNormalizationEpsilon, flags);
#else
  const auto backward = describe_gradient<Backward>(engine, forward, kBackward, matrix, matrix, rows,
                                                    kNormalizationEpsilon, flags);
#endif
  return primitive_of<Backward>(backward, {{DNNL_ARG_DIFF_DST, matrix},
                                           x,
                                           mean,
                                           variance,
                                           weight,
                                           {DNNL_ARG_DIFF_SRC, matrix},
                                           {DNNL_ARG_DIFF_SCALE, columns},
                                           {DNNL_ARG_DIFF_SHIFT, columns}});
}

}  // namespace jitterscope::cpu
