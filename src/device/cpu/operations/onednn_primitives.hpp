// oneDNN 2.6 and 3.x build primitives differently; everything that depends on the version is here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "jitterscope/operation.hpp"

namespace jitterscope::cpu {

/// As oneDNN names it; tf32 is f32 on a CPU.
inline dnnl::memory::data_type storage_type(DataType dtype) {
  return dtype == DataType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// Of images, as they lie in memory.
dnnl::memory::desc image_tensor(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w,
                                DataType dtype, Layout layout);

struct Primitive {
  struct Argument {
    int id = 0;  ///< DNNL_ARG_…
    dnnl::memory::desc desc;
  };
  dnnl::primitive primitive;
  std::string implementation;
  std::vector<Argument> arguments;  ///< in the order of the operation's operands
  dnnl::memory::desc scratchpad;
};

struct ConvolutionShape {
  dnnl::memory::desc x, w, y;
  dnnl::memory::dims stride, dilation, padding;  ///< dilation: 0 is dense
};

struct MatmulShape {
  dnnl::memory::desc a, b, c;
  std::optional<dnnl::memory::desc> bias;
};

/// The same tensor in the layout that suits the primitive best.
dnnl::memory::desc any_layout(const dnnl::memory::desc& plain);

/// Throw dnnl::error where oneDNN cannot. What post-ops read stands before the result; a gradient has none.
Primitive convolution_primitive(const dnnl::engine& engine, Direction direction,
                                const ConvolutionShape& shape, const dnnl::post_ops& post_ops = {});
Primitive matmul_primitive(const dnnl::engine& engine, const MatmulShape& shape,
                           const dnnl::post_ops& post_ops = {});
/// a and b together; b may have a size of one where a does not.
Primitive binary_primitive(const dnnl::engine& engine, dnnl::algorithm algorithm, const dnnl::memory::desc& a,
                           const dnnl::memory::desc& b, const dnnl::post_ops& post_ops);

}  // namespace jitterscope::cpu
