// conv2d, matmul and linear in double precision, for dtype=f64 and as the reference of every device: plain
// sums in index order, no blocking, no fused library.
#include <algorithm>

#include "device/cpu/operations/prepare.hpp"
#include "device/cpu/operations/shapes.hpp"

namespace jitterscope::cpu {
namespace {

class DoubleMatmul final : public CpuOperation {
 public:
  DoubleMatmul(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs), matmul_(as_matmul(operation)) {}

  void run(NativeQueue) override {
    const Matmul& m = matmul_;
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t batch = 0; batch < m.batch; ++batch) {
      for (std::int64_t row = 0; row < m.m; ++row) compute(batch, row, 0, m.n);
    }
  }

  bool compute_element(std::size_t, std::int64_t index) override {
    const std::int64_t column = index % matmul_.n, row = index / matmul_.n;
    compute(row / matmul_.m, row % matmul_.m, column, column + 1);
    return true;
  }

 private:
  void compute(std::int64_t batch, std::int64_t row, std::int64_t first, std::int64_t end) const {
    const Matmul& m = matmul_;
    const double* a = data<double>(0) + batch * m.m * m.k + row * (m.transpose_a ? 1 : m.k);
    const double* b = data<double>(1) + batch * m.k * m.n;
    const std::int64_t a_step = m.transpose_a ? m.m : 1;
    const std::int64_t b_inner = m.transpose_b ? 1 : m.n, b_outer = m.transpose_b ? m.k : 1;
    double* c = data<double>(m.bias ? 3 : 2) + (batch * m.m + row) * m.n;
    for (std::int64_t column = first; column < end; ++column) {
      double sum = m.bias ? data<double>(2)[column] : 0.0;
      for (std::int64_t i = 0; i < m.k; ++i) sum += a[i * a_step] * b[i * b_inner + column * b_outer];
      c[column] = sum;
    }
  }

  Matmul matmul_;
};

// Each output element gathers its sum, so that any number of threads gives the same bits.
class DoubleConvolution final : public CpuOperation {
 public:
  DoubleConvolution(const Operation& operation, const InputTable& inputs)
      : CpuOperation(operation, inputs),
        conv_(std::get<Conv2d>(operation.parameters())),
        x_(strides(conv_.c, conv_.h, conv_.w, conv_.layout)),
        w_(strides(conv_.c / conv_.groups, conv_.r, conv_.s, conv_.layout)),
        y_(strides(conv_.k, conv_.out_h(), conv_.out_w(), conv_.layout)) {}

  void run(NativeQueue) override {
    switch (conv_.direction) {
      case Direction::fprop: return fprop(data<double>(0), data<double>(1), data<double>(2));
      case Direction::dgrad: return dgrad(data<double>(0), data<double>(1), data<double>(2));
      case Direction::wgrad: return wgrad(data<double>(0), data<double>(1), data<double>(2));
    }
  }

  bool compute_element(std::size_t, std::int64_t index) override {
    const double *first = data<double>(0), *second = data<double>(1);
    double& element = data<double>(2)[index];
    switch (conv_.direction) {
      case Direction::fprop: {
        const auto [n, k, p, q] = position(index, conv_.k, conv_.out_h(), conv_.out_w(), conv_.layout);
        element = output_sum(first, second, n, k, p, q);
        break;
      }
      case Direction::dgrad: {
        const auto [n, c, h, w] = position(index, conv_.c, conv_.h, conv_.w, conv_.layout);
        element = input_sum(first, second, n, c, h, w);
        break;
      }
      case Direction::wgrad: {
        const auto [k, c, r, s] = position(index, group_inputs(), conv_.r, conv_.s, conv_.layout);
        element = weight_sum(first, second, k, c, r, s);
        break;
      }
    }
    return true;
  }

 private:
  std::int64_t group_inputs() const { return conv_.c / conv_.groups; }
  std::int64_t group_outputs() const { return conv_.k / conv_.groups; }

  void fprop(const double* x, const double* w, double* y) const {
    const std::int64_t rows = conv_.out_h(), columns = conv_.out_w();
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t n = 0; n < conv_.n; ++n) {
      for (std::int64_t k = 0; k < conv_.k; ++k) {
        for (std::int64_t p = 0; p < rows; ++p) {
          for (std::int64_t q = 0; q < columns; ++q) y[y_.at(n, k, p, q)] = output_sum(x, w, n, k, p, q);
        }
      }
    }
  }

  double output_sum(const double* x, const double* w, std::int64_t n, std::int64_t k, std::int64_t p,
                    std::int64_t q) const {
    const std::int64_t first = k / group_outputs() * group_inputs();
    double sum = 0.0;
    for (std::int64_t c = 0; c < group_inputs(); ++c) {
      for (std::int64_t r = 0; r < conv_.r; ++r) {
        const std::int64_t h = p * conv_.stride_h - conv_.pad_h + r * conv_.dilation_h;
        if (h < 0 || h >= conv_.h) continue;
        for (std::int64_t s = 0; s < conv_.s; ++s) {
          const std::int64_t column = q * conv_.stride_w - conv_.pad_w + s * conv_.dilation_w;
          if (column < 0 || column >= conv_.w) continue;
          sum += x[x_.at(n, first + c, h, column)] * w[w_.at(k, c, r, s)];
        }
      }
    }
    return sum;
  }

  void dgrad(const double* dy, const double* w, double* dx) const {
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t n = 0; n < conv_.n; ++n) {
      for (std::int64_t c = 0; c < conv_.c; ++c) {
        for (std::int64_t h = 0; h < conv_.h; ++h) {
          for (std::int64_t column = 0; column < conv_.w; ++column) {
            dx[x_.at(n, c, h, column)] = input_sum(dy, w, n, c, h, column);
          }
        }
      }
    }
  }

  double input_sum(const double* dy, const double* w, std::int64_t n, std::int64_t c, std::int64_t h,
                   std::int64_t column) const {
    const std::int64_t first = c / group_inputs() * group_outputs();
    double sum = 0.0;
    for (std::int64_t r = 0; r < conv_.r; ++r) {
      const std::int64_t down = h + conv_.pad_h - r * conv_.dilation_h;
      if (down < 0 || down % conv_.stride_h != 0 || down / conv_.stride_h >= conv_.out_h()) continue;
      for (std::int64_t s = 0; s < conv_.s; ++s) {
        const std::int64_t right = column + conv_.pad_w - s * conv_.dilation_w;
        if (right < 0 || right % conv_.stride_w != 0 || right / conv_.stride_w >= conv_.out_w()) continue;
        for (std::int64_t k = first; k < first + group_outputs(); ++k) {
          sum += dy[y_.at(n, k, down / conv_.stride_h, right / conv_.stride_w)] *
                 w[w_.at(k, c % group_inputs(), r, s)];
        }
      }
    }
    return sum;
  }

  void wgrad(const double* x, const double* dy, double* dw) const {
#pragma omp parallel for collapse(2) schedule(static)
    for (std::int64_t k = 0; k < conv_.k; ++k) {
      for (std::int64_t c = 0; c < group_inputs(); ++c) {
        for (std::int64_t r = 0; r < conv_.r; ++r) {
          for (std::int64_t s = 0; s < conv_.s; ++s) dw[w_.at(k, c, r, s)] = weight_sum(x, dy, k, c, r, s);
        }
      }
    }
  }

  double weight_sum(const double* x, const double* dy, std::int64_t k, std::int64_t c, std::int64_t r,
                    std::int64_t s) const {
    const std::int64_t channel = k / group_outputs() * group_inputs() + c;
    const std::int64_t rows = conv_.out_h(), columns = conv_.out_w();
    double sum = 0.0;
    for (std::int64_t n = 0; n < conv_.n; ++n) {
      for (std::int64_t p = 0; p < rows; ++p) {
        const std::int64_t h = p * conv_.stride_h - conv_.pad_h + r * conv_.dilation_h;
        if (h < 0 || h >= conv_.h) continue;
        for (std::int64_t q = 0; q < columns; ++q) {
          const std::int64_t column = q * conv_.stride_w - conv_.pad_w + s * conv_.dilation_w;
          if (column < 0 || column >= conv_.w) continue;
          sum += x[x_.at(n, channel, h, column)] * dy[y_.at(n, k, p, q)];
        }
      }
    }
    return sum;
  }

  Conv2d conv_;
  Strides x_, w_, y_;
};

}  // namespace

std::unique_ptr<PreparedOperation> prepare_double(const Operation& operation, const InputTable& inputs) {
  if (operation.kind() == "conv2d") return std::make_unique<DoubleConvolution>(operation, inputs);
  return std::make_unique<DoubleMatmul>(operation, inputs);
}

}  // namespace jitterscope::cpu
