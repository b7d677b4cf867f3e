// What makes a primitive of its parts, in oneDNN 2.6 and in 3.x.
#pragma once

#include <utility>
#include <vector>

#include "device/cpu/operations/onednn_primitives.hpp"

namespace jitterscope::cpu {

/// A forward pass as in training, which keeps what its gradient needs.
inline constexpr auto kForward = dnnl::prop_kind::forward_training;

/// The scratchpad is ours, so that its size is known and its lines can be flushed.
inline dnnl::primitive_attr attributes(const dnnl::post_ops& post_ops = {}) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_post_ops(post_ops);
  return attributes;
}

/// Version 2 makes a description first, version 3 passes its parts straight to the primitive description.
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

/// A gradient names the forward primitive that it belongs to, last before the attributes in version 3.
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

/// What a primitive's post-ops read beside its own result, in their order.
template <class Description>
void add_post_op_arguments(const Description& description, const dnnl::post_ops& post_ops,
                           std::vector<Primitive::Argument>& arguments) {
  for (int i = 0; i < post_ops.len(); ++i) {
    if (post_ops.kind(i) != dnnl::primitive::kind::binary) continue;
    const int id = DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1;
    arguments.push_back({id, description.query_md(dnnl::query::exec_arg_md, id)});
  }
}

}  // namespace jitterscope::cpu
