// Builds oneDNN primitives: all code that differs between oneDNN 2.6 and 3.x is here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

#include "jitterscope/operation.hpp"

namespace jitterscope::cpu {

/// oneDNN's name of the type; tf32 is f32 on a CPU.
inline dnnl::memory::data_type storage_type(DataType dtype) {
  return dtype == DataType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

/// Images as they lie in memory.
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

/// These throw dnnl::error if oneDNN lacks it. Post-ops' operands precede the result; a gradient has none.
Primitive convolution_primitive(const dnnl::engine& engine, Direction direction,
                                const ConvolutionShape& shape, const dnnl::post_ops& post_ops = {});
Primitive matmul_primitive(const dnnl::engine& engine, const MatmulShape& shape,
                           const dnnl::post_ops& post_ops = {});
/// Combines a and b; b may have a size of 1 where a has more.
Primitive binary_primitive(const dnnl::engine& engine, dnnl::algorithm algorithm, const dnnl::memory::desc& a,
                           const dnnl::memory::desc& b, const dnnl::post_ops& post_ops);

// Primitives of other layers. Their arguments follow the operands, with variances in place of deviations.

/// Added to variances, as PyTorch does by default.
inline constexpr float kNormalizationEpsilon = 1e-5f;

struct Activation {
  dnnl::algorithm algorithm{};
  float alpha = 0, beta = 0;
  bool backward = false, keeps_output = false;  ///< backward: from y if keeps_output, else from x
};

struct AverageShape {
  dnnl::memory::desc x, y;
  dnnl::memory::dims window, stride, padding;
};

/// Returns nullopt for relu and its gradient: one instruction per element, where our own loops are as fast as
/// memory.
std::optional<Activation> activation_of(ElementwiseKind kind);
AverageShape average_shape(const Pool2d& pool);

/// These throw dnnl::error if oneDNN lacks it.
Primitive activation_primitive(const dnnl::engine& engine, const Activation& activation,
                               const dnnl::memory::desc& tensor);
Primitive average_primitive(const dnnl::engine& engine, const AverageShape& shape, Pass pass,
                            const dnnl::post_ops& post_ops = {});
Primitive softmax_primitive(const dnnl::engine& engine, bool logarithm, const dnnl::memory::desc& matrix,
                            Pass pass);
Primitive batch_norm_primitive(const dnnl::engine& engine, const dnnl::memory::desc& tensor,
                               const dnnl::memory::desc& statistic, Pass pass);
/// `rows` is for the statistics, `columns` for the weights.
Primitive layer_norm_primitive(const dnnl::engine& engine, const dnnl::memory::desc& matrix,
                               const dnnl::memory::desc& rows, const dnnl::memory::desc& columns, Pass pass);

}  // namespace jitterscope::cpu
