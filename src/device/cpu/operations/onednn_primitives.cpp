#include "device/cpu/operations/onednn_primitives.hpp"

#include <utility>

#include "device/cpu/operations/onednn_describe.hpp"
#include "device/cpu/operations/shapes.hpp"

namespace jitterscope::cpu {
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

}  // namespace jitterscope::cpu
