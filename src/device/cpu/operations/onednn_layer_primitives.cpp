#include "device/cpu/operations/onednn_layer_primitives.hpp"

#include <utility>

#include "device/cpu/operations/onednn_describe.hpp"

namespace jitterscope::cpu {
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

// Version 3 names both sides of a primitive where version 2 takes one description for both.
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
