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

/// Throw dnnl::error where oneDNN cannot.
Primitive convolution_primitive(const dnnl::engine& engine, Direction direction,
                                const ConvolutionShape& shape);
Primitive matmul_primitive(const dnnl::engine& engine, const MatmulShape& shape);

}  // namespace jitterscope::cpu
