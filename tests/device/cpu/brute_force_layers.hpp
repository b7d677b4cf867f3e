// Layers computed the other way round than the reference: values are scattered to where they belong, and
// gradients are products with whole Jacobian matrices.
#pragma once

#include <cmath>
#include <limits>

#include "device/cpu/brute_force.hpp"

namespace jitterscope::testing {

inline double& at(std::vector<double>& values, std::int64_t index) {
  return values[static_cast<std::size_t>(index)];
}
inline double at(const std::vector<double>& values, std::int64_t index) {
  return values[static_cast<std::size_t>(index)];
}
inline std::vector<double> tensor(std::int64_t count, double value = 0.0) {
  return std::vector<double>(static_cast<std::size_t>(count), value);
}

/// The elements that are normalized together, by their places in x, and which weight each takes.
struct NormalizedGroup {
  std::vector<std::int64_t> places, weights;
};

inline std::vector<NormalizedGroup> groups_of(const BatchNorm& norm) {
  const Strides x = strides_of(norm.layout, norm.c, norm.h, norm.w);
  std::vector<NormalizedGroup> groups(static_cast<std::size_t>(norm.c));
  for (std::int64_t n = 0; n < norm.n; ++n)
    for (std::int64_t c = 0; c < norm.c; ++c)
      for (std::int64_t i = 0; i < norm.h; ++i)
        for (std::int64_t j = 0; j < norm.w; ++j) {
          NormalizedGroup& group = groups[static_cast<std::size_t>(c)];
          group.places.push_back(n * x.outer + c * x.channel + i * x.row + j * x.column);
          group.weights.push_back(c);
        }
  return groups;
}
inline std::vector<NormalizedGroup> groups_of(const LayerNorm& norm) {
  std::vector<NormalizedGroup> groups(static_cast<std::size_t>(norm.rows));
  for (std::int64_t i = 0; i < norm.rows * norm.columns; ++i) {
    groups[static_cast<std::size_t>(i / norm.columns)].places.push_back(i);
    groups[static_cast<std::size_t>(i / norm.columns)].weights.push_back(i % norm.columns);
  }
  return groups;
}

inline Tensors normalized(const std::vector<NormalizedGroup>& groups, const std::vector<double>& x,
                          const std::vector<double>& weight, const std::vector<double>& bias) {
  Tensors outputs = {std::vector<double>(x.size()), {}, {}};
  for (const NormalizedGroup& group : groups) {
    const auto size = static_cast<double>(group.places.size());
    double sum = 0.0, squares = 0.0;
    for (const std::int64_t place : group.places) sum += at(x, place), squares += at(x, place) * at(x, place);
    const double mean = sum / size, variance = squares / size - mean * mean;
    outputs[1].push_back(mean);
    outputs[2].push_back(std::pow(variance + 1e-5, -0.5));
    for (std::size_t i = 0; i < group.places.size(); ++i) {
      at(outputs[0], group.places[i]) =
          at(weight, group.weights[i]) * (at(x, group.places[i]) - mean) / std::sqrt(variance + 1e-5) +
          at(bias, group.weights[i]);
    }
  }
  return outputs;
}

struct NormGradientInputs {
  std::vector<double> x, dy, weight, mean, deviation;
};
inline Tensors normalized_gradients(const std::vector<NormalizedGroup>& groups,
                                    const NormGradientInputs& in) {
  Tensors outputs = {std::vector<double>(in.x.size()), std::vector<double>(in.weight.size()),
                     std::vector<double>(in.weight.size())};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const NormalizedGroup& group = groups[g];
    const auto size = static_cast<double>(group.places.size());
    const auto hat = [&](std::int64_t place) { return (at(in.x, place) - in.mean[g]) * in.deviation[g]; };
    for (std::size_t j = 0; j < group.places.size(); ++j) {
      const std::int64_t to = group.places[j];
      at(outputs[1], group.weights[j]) += at(in.dy, to) * hat(to);
      at(outputs[2], group.weights[j]) += at(in.dy, to);
      for (const std::int64_t from : group.places) {
        const double slope = (from == to ? 1.0 : 0.0) - (1.0 + hat(from) * hat(to)) / size;
        at(outputs[0], from) += in.deviation[g] * slope * at(in.weight, group.weights[j]) * at(in.dy, to);
      }
    }
  }
  return outputs;
}

inline Tensors brute_force(const BatchNorm& norm, const Tensors& in) {
  if (norm.pass == Pass::forward) return normalized(groups_of(norm), in[0], in[1], in[2]);
  if (norm.pass == Pass::backward) {
    return normalized_gradients(groups_of(norm), {in[0], in[1], in[2], in[3], in[4]});
  }
  std::vector<double> y(in[0].size());
  const auto groups = groups_of(norm);
  for (std::size_t c = 0; c < groups.size(); ++c) {
    for (const std::int64_t place : groups[c].places) {
      at(y, place) = in[1][c] * (at(in[0], place) - in[3][c]) / std::sqrt(in[4][c] + 1e-5) + in[2][c];
    }
  }
  return {y};
}

inline Tensors brute_force(const LayerNorm& norm, const Tensors& in) {
  if (norm.pass == Pass::forward) return normalized(groups_of(norm), in[0], in[1], in[2]);
  return normalized_gradients(groups_of(norm), {in[1], in[0], in[4], in[2], in[3]});
}

inline Tensors brute_force(const Softmax& softmax, const Tensors& in) {
  std::vector<double> result(in[0].size());
  const std::int64_t columns = softmax.columns;
  for (std::int64_t first = 0; first < softmax.rows * columns; first += columns) {
    double total = 0.0;
    for (std::int64_t j = first; j < first + columns; ++j) total += std::exp(at(in[0], j));
    for (std::int64_t i = first; i < first + columns; ++i) {
      if (softmax.pass == Pass::forward) {
        const double share = std::exp(at(in[0], i)) / total;
        at(result, i) = softmax.logarithm ? std::log(share) : share;
        continue;
      }
      for (std::int64_t j = first; j < first + columns; ++j) {
        const double same = i == j ? 1.0 : 0.0, y = at(in[1], i);
        const double slope = softmax.logarithm ? same - std::exp(y) : y * (same - at(in[1], j));
        at(result, i) += slope * at(in[0], j);
      }
    }
  }
  return {result};
}

/// Calls the function with the place in x, that in y, and the number of the pixel in its plane of x, for
/// each pixel of each window, pixel by pixel.
template <class Function>
void for_pairs(const Pool2d& pool, const Function& visit) {
  const Strides x = strides_of(pool.layout, pool.c, pool.h, pool.w);
  const Strides y = strides_of(pool.layout, pool.c, pool.out_h(), pool.out_w());
  for (std::int64_t n = 0; n < pool.n; ++n)
    for (std::int64_t c = 0; c < pool.c; ++c)
      for (std::int64_t i = 0; i < pool.h; ++i)
        for (std::int64_t j = 0; j < pool.w; ++j)
          for (std::int64_t p = 0; p < pool.out_h(); ++p)
            for (std::int64_t q = 0; q < pool.out_w(); ++q) {
              const std::int64_t r = i + pool.pad_h - p * pool.stride_h;
              const std::int64_t s = j + pool.pad_w - q * pool.stride_w;
              if (r < 0 || s < 0 || r >= pool.window_h || s >= pool.window_w) continue;
              visit(n * x.outer + c * x.channel + i * x.row + j * x.column,
                    n * y.outer + c * y.channel + p * y.row + q * y.column, i * pool.w + j);
            }
}

inline Tensors brute_force(const Pool2d& pool, const Tensors& in) {
  const auto size = static_cast<double>(pool.window_h * pool.window_w);
  const std::vector<Operand> operands = Operation(pool).operands();
  const bool forward = pool.pass == Pass::forward;
  if (pool.kind == PoolKind::max && forward) {
    std::vector<double> y = tensor(operands[1].count, -std::numeric_limits<double>::infinity());
    std::vector<double> indices = tensor(operands[1].count);
    for_pairs(pool, [&](std::int64_t from, std::int64_t to, std::int64_t pixel) {
      if (at(in[0], from) <= at(y, to)) return;
      at(y, to) = at(in[0], from);
      at(indices, to) = static_cast<double>(pixel);
    });
    return {y, indices};
  }
  std::vector<double> result = tensor(operands.back().count);
  for_pairs(pool, [&](std::int64_t x, std::int64_t y, std::int64_t pixel) {
    if (pool.kind == PoolKind::average) {
      at(result, forward ? y : x) += at(in[0], forward ? x : y) / size;
    } else if (at(in[1], y) == static_cast<double>(pixel)) {
      at(result, x) += at(in[0], y);
    }
  });
  return {result};
}

inline Tensors brute_force(const BiasAdd& bias, const Tensors& in) {
  const Strides x = strides_of(bias.layout, bias.c, bias.h, bias.w);
  std::vector<double> y(in[0].size());
  for (std::int64_t n = 0; n < bias.n; ++n)
    for (std::int64_t c = 0; c < bias.c; ++c)
      for (std::int64_t i = 0; i < bias.h; ++i)
        for (std::int64_t j = 0; j < bias.w; ++j) {
          const std::int64_t place = n * x.outer + c * x.channel + i * x.row + j * x.column;
          at(y, place) = at(in[0], place) + at(in[1], c);
        }
  return {y};
}

inline Tensors brute_force(const Convert& convert, const Tensors& in) {
  const Strides x = strides_of(convert.from, convert.c, convert.h, convert.w);
  const Strides y = strides_of(convert.to, convert.c, convert.h, convert.w);
  std::vector<double> result(in[0].size());
  for (std::int64_t n = 0; n < convert.n; ++n)
    for (std::int64_t c = 0; c < convert.c; ++c)
      for (std::int64_t i = 0; i < convert.h; ++i)
        for (std::int64_t j = 0; j < convert.w; ++j) {
          at(result, n * y.outer + c * y.channel + i * y.row + j * y.column) =
              at(in[0], n * x.outer + c * x.channel + i * x.row + j * x.column);
        }
  return {result};
}

inline Tensors brute_force(const Embedding& embedding, const Tensors& in) {
  const bool forward = embedding.pass == Pass::forward;
  std::vector<double> result = tensor((forward ? embedding.count : embedding.rows) * embedding.columns);
  for (std::int64_t i = 0; i < embedding.count; ++i) {
    const auto row = static_cast<std::int64_t>(at(in[forward ? 0 : 1], i));
    for (std::int64_t c = 0; c < embedding.columns; ++c) {
      const std::int64_t in_table = row * embedding.columns + c, in_rows = i * embedding.columns + c;
      forward ? at(result, in_rows) = at(in[1], in_table) : at(result, in_table) += at(in[0], in_rows);
    }
  }
  return {result};
}

inline Tensors brute_force(const OptimizerStep& step, const Tensors& in) {
  Tensors out(in.size() - 1);
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const double p = in[0][i], g = in[1][i];
    if (step.kind == OptimizerKind::sgd) out[0].push_back(p - g / 100);
    if (step.kind == OptimizerKind::momentum) {
      out[1].push_back(0.9 * in[2][i] + g);
      out[0].push_back(p - out[1].back() / 100);
    }
    if (step.kind < OptimizerKind::adam) continue;
    out[1].push_back(0.9 * in[2][i] + 0.1 * g);
    out[2].push_back(0.999 * in[3][i] + 0.001 * g * g);
    const double change = 0.01 * (out[1].back() / 0.1) / (std::sqrt(out[2].back() / 0.001) + 1e-8);
    out[0].push_back((step.kind == OptimizerKind::adamw ? p - 0.0001 * p : p) - change);
  }
  return out;
}

/// One head at a time, by whole matrices of scores.
inline Tensors brute_force(const Attention& a, const Tensors& in) {
  const bool forward = a.pass == Pass::forward;
  const std::size_t q = forward ? 0 : 1, k = q + 1, v = q + 2;
  Tensors out;
  for (const Operand& operand : Operation(a).operands()) {
    if (operand.role == OperandRole::output) out.push_back(tensor(operand.count));
  }
  const double scale = std::pow(static_cast<double>(a.dim), -0.5);
  const std::int64_t kv_heads = a.kv_heads == 0 ? a.heads : a.kv_heads;
  // Where a row of that head begins, by strides.
  const auto begin_of = [&](std::int64_t row, std::int64_t length, std::int64_t heads) {
    std::array<std::int64_t, 3> strides = {heads * length, length, 1};  // batch, heads, sequence
    if (a.layout == HeadLayout::bshd) strides = {length * heads, 1, heads};
    if (a.layout == HeadLayout::sbhd) strides = {heads, 1, a.batch * heads};
    const std::int64_t outer = row / length;
    return a.dim * (outer / heads * strides[0] + outer % heads * strides[1] + row % length * strides[2]);
  };
  const auto query_begin = [&](std::int64_t row) { return begin_of(row, a.queries, a.heads); };
  const auto key_begin = [&](std::int64_t row) { return begin_of(row, a.keys, kv_heads); };
  for (std::int64_t head = 0; head < a.batch * a.heads; ++head) {
    // As torch's repeat_interleave would copy keys: 0 0 1 1 for two heads of them and four of queries.
    const std::int64_t key_head = head / a.heads * kv_heads + head % a.heads * kv_heads / a.heads;
    for (std::int64_t i = head * a.queries; i < (head + 1) * a.queries; ++i) {
      const auto product = [&](std::size_t left, std::size_t right, std::int64_t right_begin) {
        double sum = 0.0;
        for (std::int64_t d = 0; d < a.dim; ++d)
          sum += at(in[left], query_begin(i) + d) * at(in[right], right_begin + d);
        return sum;
      };
      const auto visible = [&](std::int64_t j) {
        return !a.causal || j - key_head * a.keys <= i - head * a.queries;
      };
      const auto weight = [&](std::int64_t j) {
        return visible(j) ? std::exp(scale * product(q, k, key_begin(j))) : 0.0;
      };
      const std::int64_t first = key_head * a.keys, last = first + a.keys;
      double total = 0.0;
      for (std::int64_t j = first; j < last; ++j) total += weight(j);
      if (forward) at(out[1], i) = std::log(total);
      for (std::int64_t j = first; j < last; ++j) {
        const double p = forward ? weight(j) / total : weight(j) / std::exp(at(in[5], i));
        const double ds =
            forward ? 0.0 : p * (product(0, v, key_begin(j)) - product(0, 4, query_begin(i))) * scale;
        for (std::int64_t d = 0; d < a.dim; ++d) {
          const std::int64_t query = query_begin(i) + d, key = key_begin(j) + d;
          if (forward) {
            at(out[0], query) += p * at(in[v], key);
            continue;
          }
          at(out[0], query) += ds * at(in[k], key);
          at(out[1], key) += ds * at(in[q], query);
          at(out[2], key) += p * at(in[0], query);
        }
      }
    }
  }
  return out;
}

}  // namespace jitterscope::testing
