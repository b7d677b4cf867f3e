#include "device/cpu/operations/onednn_primitives.hpp"

#include "device/cpu/operations/onednn_describe.hpp"

namespace jitterscope::cpu {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;

// As PyTorch asks for; Winograd would round differently.
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

}  // namespace

dnnl::memory::desc any_layout(const dnnl::memory::desc& plain) {
#if DNNL_VERSION_MAJOR >= 3
  return {plain.get_dims(), plain.get_data_type(), dnnl::memory::format_tag::any};
#else
  return {plain.dims(), plain.data_type(), dnnl::memory::format_tag::any};
#endif
}

Primitive convolution_primitive(const dnnl::engine& engine, Direction direction,
                                const ConvolutionShape& shape) {
  const auto forward =
      describe<convolution_forward>(engine, kForward, kDirect, shape.x, shape.w, shape.y, shape.stride,
                                    shape.dilation, shape.padding, shape.padding);
  if (direction == Direction::fprop) {
    return primitive_of<convolution_forward>(forward, {{DNNL_ARG_SRC, forward.src_desc()},
                                                       {DNNL_ARG_WEIGHTS, forward.weights_desc()},
                                                       {DNNL_ARG_DST, forward.dst_desc()}});
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

Primitive matmul_primitive(const dnnl::engine& engine, const MatmulShape& shape) {
  std::vector<Primitive::Argument> arguments = {{DNNL_ARG_SRC, shape.a}, {DNNL_ARG_WEIGHTS, shape.b}};
  if (shape.bias) arguments.push_back({DNNL_ARG_BIAS, *shape.bias});
  arguments.push_back({DNNL_ARG_DST, shape.c});
  if (!shape.bias) {
    return primitive_of<dnnl::matmul>(describe<dnnl::matmul>(engine, shape.a, shape.b, shape.c), arguments);
  }
  return primitive_of<dnnl::matmul>(describe<dnnl::matmul>(engine, shape.a, shape.b, *shape.bias, shape.c),
                                    arguments);
}

}  // namespace jitterscope::cpu
