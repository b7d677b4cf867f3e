#include "operation/reference/positions.hpp"
#include "operation/reference/references.hpp"

namespace jitterscope::reference {

double element(const Matmul& matmul, const Inputs& inputs, std::size_t, std::int64_t index) {
  const std::int64_t column = index % matmul.n, row = index / matmul.n % matmul.m;
  const std::int64_t batch = index / matmul.n / matmul.m;
  double sum = matmul.bias ? at(inputs[2], column) : 0.0;
  for (std::int64_t k = 0; k < matmul.k; ++k) {
    const std::int64_t a = matmul.transpose_a ? k * matmul.m + row : row * matmul.k + k;
    const std::int64_t b = matmul.transpose_b ? column * matmul.k + k : k * matmul.n + column;
    sum += at(inputs[0], batch * matmul.m * matmul.k + a) * at(inputs[1], batch * matmul.k * matmul.n + b);
  }
  return sum;
}

double element(const Linear& linear, const Inputs& inputs, std::size_t, std::int64_t index) {
  Matmul same{.m = linear.n, .n = linear.out, .k = linear.in};
  same.transpose_b = true;
  same.bias = linear.bias;
  return element(same, inputs, 0, index);
}

Terms terms(const Matmul& matmul, std::size_t) { return alike(matmul.k); }
Terms terms(const Linear& linear, std::size_t) { return alike(linear.in); }

}  // namespace jitterscope::reference
