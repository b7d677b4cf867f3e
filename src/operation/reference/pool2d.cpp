#include <algorithm>
#include <cmath>
#include <limits>

#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {
namespace {

Shape x_shape(const Pool2d& pool) { return {pool.c, pool.h, pool.w, pool.layout}; }
Shape y_shape(const Pool2d& pool) { return {pool.c, pool.out_h(), pool.out_w(), pool.layout}; }
double window_size(const Pool2d& pool) {
  return static_cast<double>(pool.window_h) * static_cast<double>(pool.window_w);
}

// Calls the function with each position of x under the window, row by row.
template <class Function>
void for_window(const Pool2d& pool, const Position& y, const Function& visit) {
  for (std::int64_t r = 0; r < pool.window_h; ++r) {
    const std::int64_t row = y.row * pool.stride_h - pool.pad_h + r;
    if (!inside(row, pool.h)) continue;
    for (std::int64_t s = 0; s < pool.window_w; ++s) {
      const std::int64_t column = y.column * pool.stride_w - pool.pad_w + s;
      if (inside(column, pool.w)) visit(Position{y.outer, y.channel, row, column});
    }
  }
}

// Of equal elements the first counts, and of NaN the last, as in PyTorch.
double largest(const Pool2d& pool, const std::vector<double>& x, const Position& y, bool wants_index) {
  double best = -std::numeric_limits<double>::infinity();
  std::int64_t best_index = -1;
  for_window(pool, y, [&](const Position& position) {
    const double value = at(x, x_shape(pool).index(position));
    if (best_index >= 0 && !(value > best || std::isnan(value))) return;
    best = value;
    best_index = position.row * pool.w + position.column;
  });
  return wants_index ? static_cast<double>(best_index) : best;
}

double average(const Pool2d& pool, const std::vector<double>& x, const Position& y) {
  double sum = 0.0;
  for_window(pool, y, [&](const Position& position) { sum += at(x, x_shape(pool).index(position)); });
  return sum / window_size(pool);
}

struct Side {
  std::int64_t first, last;
};
// The windows over a position, along one side.
Side windows_over(std::int64_t position, std::int64_t window, std::int64_t stride, std::int64_t pad,
                  std::int64_t out_size) {
  const std::int64_t shifted = position + pad;
  const std::int64_t first = shifted < window ? 0 : (shifted - window) / stride + 1;
  return {first, std::min(shifted / stride, out_size - 1)};
}

// Of max, a window gives its gradient where its index points; an index outside of its window, which only
// made-up data have, gives it nowhere.
double gradient(const Pool2d& pool, const Inputs& inputs, const Position& x) {
  const Side rows = windows_over(x.row, pool.window_h, pool.stride_h, pool.pad_h, pool.out_h());
  const Side columns = windows_over(x.column, pool.window_w, pool.stride_w, pool.pad_w, pool.out_w());
  const auto place = static_cast<double>(x.row * pool.w + x.column);
  double sum = 0.0;
  for (std::int64_t p = rows.first; p <= rows.last; ++p) {
    for (std::int64_t q = columns.first; q <= columns.last; ++q) {
      const std::int64_t y = y_shape(pool).index({x.outer, x.channel, p, q});
      if (pool.kind == PoolKind::average || at(inputs[1], y) == place) sum += at(inputs[0], y);
    }
  }
  return pool.kind == PoolKind::average ? sum / window_size(pool) : sum;
}

}  // namespace

double element(const Pool2d& pool, const Inputs& inputs, std::size_t output, std::int64_t index) {
  if (pool.pass == Pass::backward) return gradient(pool, inputs, x_shape(pool).position(index));
  const Position y = y_shape(pool).position(index);
  if (pool.kind == PoolKind::average) return average(pool, inputs[0], y);
  return largest(pool, inputs[0], y, output == 1);
}

Terms terms(const Pool2d& pool, std::size_t) { return {window_size(pool), window_size(pool)}; }

}  // namespace jitterscope::reference
