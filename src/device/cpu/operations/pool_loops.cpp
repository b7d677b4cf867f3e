#include <algorithm>
#include <cmath>

#include "device/cpu/operations/loops.hpp"
#include "device/cpu/operations/prepare.hpp"
#include "device/cpu/operations/shapes.hpp"

namespace jitterscope::cpu {
namespace {

// First and one past the last.
struct Span {
  std::int64_t first, end;
};

// The part of a window that lies on the input.
Span under(std::int64_t out, std::int64_t window, std::int64_t stride, std::int64_t pad, std::int64_t size) {
  const std::int64_t first = out * stride - pad;
  return {std::max<std::int64_t>(first, 0), std::min(first + window, size)};
}

// The windows over an input position.
Span over(std::int64_t in, std::int64_t window, std::int64_t stride, std::int64_t pad,
          std::int64_t out_size) {
  const std::int64_t shifted = in + pad;
  return {shifted < window ? 0 : (shifted - window) / stride + 1, std::min(shifted / stride + 1, out_size)};
}

template <class Format>
class PoolLoops final : public CpuOperation {
 public:
  PoolLoops(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        pool_(std::get<Pool2d>(operation.parameters())),
        x_(strides(pool_.c, pool_.h, pool_.w, pool_.layout)),
        y_(strides(pool_.c, pool_.out_h(), pool_.out_w(), pool_.layout)) {}

  // Rows of the output, each channel by itself: neighbours in memory for either layout.
  void run(NativeQueue) override {
    const bool backward = pool_.pass == Pass::backward;
    const std::int64_t rows = backward ? pool_.h : pool_.out_h();
    const std::int64_t elements = pool_.n * pool_.c * rows * (backward ? pool_.w : pool_.out_w());
#pragma omp parallel for collapse(2) schedule(static) if (elements > kParallel)
    for (std::int64_t n = 0; n < pool_.n; ++n) {
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t c = 0; c < pool_.c; ++c)
          backward ? backward_row(n, c, row) : forward_row(n, c, row);
      }
    }
  }

 private:
  using Stored = typename Format::Stored;

  void forward_row(std::int64_t n, std::int64_t c, std::int64_t p) const {
    const Span rows = under(p, pool_.window_h, pool_.stride_h, pool_.pad_h, pool_.h);
    for (std::int64_t q = 0; q < pool_.out_w(); ++q) {
      const Span columns = under(q, pool_.window_w, pool_.stride_w, pool_.pad_w, pool_.w);
      const std::int64_t y = y_.at(n, c, p, q);
      pool_.kind == PoolKind::max ? largest(n, c, rows, columns, y) : average(n, c, rows, columns, y);
    }
  }

  // Of equal elements the first counts, and of NaN the last, as in PyTorch.
  void largest(std::int64_t n, std::int64_t c, Span rows, Span columns, std::int64_t y) const {
    const auto* x = data<const Stored>(0);
    std::int64_t best = rows.first * pool_.w + columns.first;
    Stored found = x[x_.at(n, c, rows.first, columns.first)];
    for (std::int64_t i = rows.first; i < rows.end; ++i) {
      for (std::int64_t j = columns.first; j < columns.end; ++j) {
        const Stored candidate = x[x_.at(n, c, i, j)];
        if (!(Format::read(candidate) > Format::read(found) || std::isnan(Format::read(candidate)))) continue;
        found = candidate;
        best = i * pool_.w + j;
      }
    }
    data<Stored>(1)[y] = found;
    data<std::int64_t>(2)[y] = best;
  }

  void average(std::int64_t n, std::int64_t c, Span rows, Span columns, std::int64_t y) const {
    double sum = 0.0;
    for (std::int64_t i = rows.first; i < rows.end; ++i) {
      for (std::int64_t j = columns.first; j < columns.end; ++j) {
        sum += wide<Format>(data<const Stored>(0)[x_.at(n, c, i, j)]);
      }
    }
    data<Stored>(1)[y] = narrow<Format>(sum / static_cast<double>(pool_.window_h * pool_.window_w));
  }

  // Gathered, so that sums are rounded once and threads never meet.
  void backward_row(std::int64_t n, std::int64_t c, std::int64_t i) const {
    const bool max = pool_.kind == PoolKind::max;
    const Span rows = over(i, pool_.window_h, pool_.stride_h, pool_.pad_h, pool_.out_h());
    for (std::int64_t j = 0; j < pool_.w; ++j) {
      const Span columns = over(j, pool_.window_w, pool_.stride_w, pool_.pad_w, pool_.out_w());
      double sum = 0.0;
      for (std::int64_t p = rows.first; p < rows.end; ++p) {
        for (std::int64_t q = columns.first; q < columns.end; ++q) {
          const std::int64_t y = y_.at(n, c, p, q);
          if (max && data<const std::int64_t>(1)[y] != i * pool_.w + j) continue;
          sum += wide<Format>(data<const Stored>(0)[y]);
        }
      }
      if (!max) sum /= static_cast<double>(pool_.window_h * pool_.window_w);
      data<Stored>(max ? 2 : 1)[x_.at(n, c, i, j)] = narrow<Format>(sum);
    }
  }

  Pool2d pool_;
  Strides x_, y_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_pool_loops(const Operation& operation, const InputTable& inputs) {
  return prepare_loops<PoolLoops>(operation, inputs);
}

}  // namespace jitterscope::cpu
