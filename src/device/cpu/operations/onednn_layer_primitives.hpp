// Primitives of layers besides convolutions and products, whose arguments follow the operands. A variance
// stands where the operand is its deviation.
#pragma once

#include "device/cpu/operations/onednn_primitives.hpp"

namespace jitterscope::cpu {

/// What normalizations add to a variance, as PyTorch does by default.
inline constexpr float kNormalizationEpsilon = 1e-5f;

struct Activation {
  dnnl::algorithm algorithm{};
  float alpha = 0, beta = 0;
  bool backward = false, keeps_output = false;  ///< backward: it is given y, else x
};

struct AverageShape {
  dnnl::memory::desc x, y;
  dnnl::memory::dims window, stride, padding;
};

/// Nothing for what is one instruction for each element, where own loops are as fast as memory: relu, and its
/// gradient.
std::optional<Activation> activation_of(ElementwiseKind kind);
AverageShape average_shape(const Pool2d& pool);

/// Throw dnnl::error where oneDNN cannot.
Primitive activation_primitive(const dnnl::engine& engine, const Activation& activation,
                               const dnnl::memory::desc& tensor);
Primitive average_primitive(const dnnl::engine& engine, const AverageShape& shape, Pass pass,
                            const dnnl::post_ops& post_ops = {});
Primitive softmax_primitive(const dnnl::engine& engine, bool logarithm, const dnnl::memory::desc& matrix,
                            Pass pass);
Primitive batch_norm_primitive(const dnnl::engine& engine, const dnnl::memory::desc& tensor,
                               const dnnl::memory::desc& statistic, Pass pass);
/// `rows` and `columns`: the statistics, and the weights.
Primitive layer_norm_primitive(const dnnl::engine& engine, const dnnl::memory::desc& matrix,
                               const dnnl::memory::desc& rows, const dnnl::memory::desc& columns, Pass pass);

}  // namespace jitterscope::cpu
