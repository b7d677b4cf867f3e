#include "device/cpu/operations/onednn_primitives.hpp"

namespace jitterscope::cpu {
namespace {

using dnnl::convolution_backward_data;
using dnnl::convolution_backward_weights;
using dnnl::convolution_forward;

constexpr auto kForward = dnnl::prop_kind::forward_training;
// As PyTorch asks for; Winograd would round differently.
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// The scratchpad is ours, so that its size is known and its lines can be flushed.
dnnl::primitive_attr attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// Version 2 makes a description first, version 3 passes its parts straight to the primitive description.
template <class Kind, class... Parts>
auto describe(const dnnl::engine& engine, const Parts&... parts) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Kind::primitive_desc(engine, parts..., attributes());
#else
  return typename Kind::primitive_desc(typename Kind::desc(parts...), attributes(), engine);
#endif
}

// A gradient names the forward convolution that it belongs to, last before the attributes in version 3.
template <class Kind>
auto describe_gradient(const dnnl::engine& engine, const convolution_forward::primitive_desc& forward,
                       const dnnl::memory::desc& first, const dnnl::memory::desc& second,
                       const dnnl::memory::desc& third, const ConvolutionShape& shape) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Kind::primitive_desc(engine, kDirect, first, second, third, shape.stride, shape.dilation,
                                       shape.padding, shape.padding, forward, attributes());
#else
  const typename Kind::desc description(kDirect, first, second, third, shape.stride, shape.dilation,
                                        shape.padding, shape.padding);
  return typename Kind::primitive_desc(description, attributes(), engine, forward);
#endif
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): moved from, which is not seen in a template
template <class Kind, class Description>
Primitive primitive_of(const Description& description, std::vector<Primitive::Argument> arguments) {
  return {.primitive = Kind(description),
          .implementation = description.impl_info_str(),
          .arguments = std::move(arguments),
          .scratchpad = description.scratchpad_desc()};
}

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
    const auto backward =
        describe_gradient<convolution_backward_data>(engine, forward, shape.x, shape.w, shape.y, shape);
    return primitive_of<convolution_backward_data>(backward, {{DNNL_ARG_DIFF_DST, backward.diff_dst_desc()},
                                                              {DNNL_ARG_WEIGHTS, backward.weights_desc()},
                                                              {DNNL_ARG_DIFF_SRC, backward.diff_src_desc()}});
  }
  const auto backward =
      describe_gradient<convolution_backward_weights>(engine, forward, shape.x, shape.w, shape.y, shape);
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
