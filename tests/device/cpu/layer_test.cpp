// conv2d, matmul and linear against sums written out here: each product is scattered into the output that
// it belongs to, where the device gathers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/cpu/cpu_device.hpp"

namespace jitterscope {
namespace {

Device& device() {
  static const std::unique_ptr<Device> kDevice = open_cpu_device();
  return *kDevice;
}

using Values = std::vector<double>;

std::size_t index(std::int64_t i, std::int64_t j, std::int64_t h, std::int64_t w, std::int64_t channels,
                  std::int64_t height, std::int64_t width, Layout layout) {
  const std::int64_t at = layout == Layout::nchw ? ((i * channels + j) * height + h) * width + w
                                                 : ((i * height + h) * width + w) * channels + j;
  return static_cast<std::size_t>(at);
}

// Calls visit(x, w, y) with the indices of each product of a convolution.
template <class Visit>
void each_product(const Conv2d& conv, const Visit& visit) {
  const std::int64_t group_c = conv.c / conv.groups, group_k = conv.k / conv.groups;
  for (std::int64_t n = 0; n < conv.n; ++n)
    for (std::int64_t k = 0; k < conv.k; ++k)
      for (std::int64_t p = 0; p < conv.out_h(); ++p)
        for (std::int64_t q = 0; q < conv.out_w(); ++q)
          for (std::int64_t c = 0; c < group_c; ++c)
            for (std::int64_t r = 0; r < conv.r; ++r)
              for (std::int64_t s = 0; s < conv.s; ++s) {
                const std::int64_t h = p * conv.stride_h - conv.pad_h + r * conv.dilation_h;
                const std::int64_t w = q * conv.stride_w - conv.pad_w + s * conv.dilation_w;
                if (h < 0 || h >= conv.h || w < 0 || w >= conv.w) continue;
                const std::int64_t channel = k / group_k * group_c + c;
                visit(index(n, channel, h, w, conv.c, conv.h, conv.w, conv.layout),
                      index(k, c, r, s, group_c, conv.r, conv.s, conv.layout),
                      index(n, k, p, q, conv.k, conv.out_h(), conv.out_w(), conv.layout));
              }
}

Values expected(const Conv2d& conv, const Values& first, const Values& second, std::size_t outputs) {
  Values result(outputs);
  each_product(conv, [&](std::size_t x, std::size_t w, std::size_t y) {
    switch (conv.direction) {
      case Direction::fprop: result[y] += first[x] * second[w]; break;
      case Direction::dgrad: result[x] += first[y] * second[w]; break;
      case Direction::wgrad: result[w] += first[x] * second[y]; break;
    }
  });
  return result;
}

Values expected(const Matmul& shape, const Values& a, const Values& b, const Values& bias) {
  Values c(static_cast<std::size_t>(shape.batch * shape.m * shape.n));
  for (std::int64_t batch = 0; batch < shape.batch; ++batch)
    for (std::int64_t i = 0; i < shape.m; ++i)
      for (std::int64_t j = 0; j < shape.n; ++j) {
        double& sum = c[static_cast<std::size_t>((batch * shape.m + i) * shape.n + j)];
        sum = bias.empty() ? 0.0 : bias[static_cast<std::size_t>(j)];
        for (std::int64_t l = 0; l < shape.k; ++l) {
          const std::int64_t in_a = shape.transpose_a ? l * shape.m + i : i * shape.k + l;
          const std::int64_t in_b = shape.transpose_b ? j * shape.k + l : l * shape.n + j;
          sum += a[static_cast<std::size_t>(batch * shape.m * shape.k + in_a)] *
                 b[static_cast<std::size_t>(batch * shape.k * shape.n + in_b)];
        }
      }
  return c;
}

Values expected(const Operation& operation, PreparedOperation& prepared) {
  const std::vector<Operand> operands = operation.operands();
  const Values first = prepared.read_operand(0), second = prepared.read_operand(1);
  if (const auto* conv = std::get_if<Conv2d>(&operation.parameters())) {
    return expected(*conv, first, second, static_cast<std::size_t>(operands[2].count));
  }
  const Values bias = operands.size() == 4 ? prepared.read_operand(2) : Values();
  if (const auto* matmul = std::get_if<Matmul>(&operation.parameters())) {
    return expected(*matmul, first, second, bias);
  }
  const Linear& linear = std::get<Linear>(operation.parameters());
  return expected(Matmul{.m = linear.n, .n = linear.out, .k = linear.in, .transpose_b = true}, first, second,
                  bias);
}

double relative_error(const Values& actual, const Values& reference) {
  double difference = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    difference += (actual[i] - reference[i]) * (actual[i] - reference[i]);
    norm += reference[i] * reference[i];
  }
  return std::sqrt(difference / norm);
}

// bf16 rounds the result to 8 bits of mantissa: 2^-9 at most, relative to each element.
double tolerance(DataType dtype) {
  if (dtype == DataType::f64) return 1e-14;
  return dtype == DataType::f32 ? 1e-6 : 3e-3;
}

class LayerTest : public ::testing::TestWithParam<const char*> {};

TEST_P(LayerTest, AgreesWithSumsWrittenOut) {
  const std::vector<DataType> available = device().describe().data_types;
  for (const DataType dtype : {DataType::f64, DataType::f32, DataType::bf16}) {
    if (std::find(available.begin(), available.end(), dtype) == available.end()) continue;
    const Operation operation = Operation::parse(GetParam()).with_dtype(dtype);
    SCOPED_TRACE(operation.text());
    const auto prepared = device().prepare(operation, {});
    const std::size_t output = operation.operands().size() - 1;
    EXPECT_TRUE(std::isnan(prepared->read_operand(output).front())) << "outputs begin poisoned";
    // Twice: a second launch must not add to the first one's result.
    prepared->run(nullptr);
    prepared->run(nullptr);
    EXPECT_LT(relative_error(prepared->read_operand(output), expected(operation, *prepared)),
              tolerance(dtype));
    EXPECT_EQ(prepared->provider(), dtype == DataType::f64 ? "builtin" : "onednn");
    prepared->poison_outputs();
    EXPECT_TRUE(std::isnan(prepared->read_operand(output).back()));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Convolutions, LayerTest,
    ::testing::Values(
        "conv2d:n=2,c=3,h=11,w=9,k=16,rs=3,pad=1", "conv2d:n=2,c=3,h=11,w=9,k=16,rs=3,pad=1,layout=nhwc",
        "conv2d:n=1,c=16,hw=9,k=32,rs=1,stride=2", "conv2d:n=1,c=16,hw=9,k=32,rs=1,stride=2,layout=nhwc",
        "conv2d:n=2,c=16,h=10,w=13,k=8,r=3,s=5,stride=2,pad=2,dilation=2,direction=fprop",
        "conv2d:n=2,c=16,h=10,w=13,k=8,r=3,s=5,stride=2,pad=2,dilation=2,direction=dgrad",
        "conv2d:n=2,c=16,h=10,w=13,k=8,r=3,s=5,stride=2,pad=2,dilation=2,direction=wgrad",
        "conv2d:n=2,c=16,h=10,w=13,k=8,r=3,s=5,stride=2,pad=2,dilation=2,layout=nhwc,direction=dgrad",
        "conv2d:n=2,c=16,h=10,w=13,k=8,r=3,s=5,stride=2,pad=2,dilation=2,layout=nhwc,direction=wgrad",
        "conv2d:n=2,c=12,hw=8,k=6,rs=3,pad=1,groups=3,direction=fprop",
        "conv2d:n=2,c=12,hw=8,k=6,rs=3,pad=1,groups=3,direction=dgrad",
        "conv2d:n=2,c=12,hw=8,k=6,rs=3,pad=1,groups=3,direction=wgrad",
        "conv2d:n=2,c=12,hw=8,k=6,rs=3,pad=1,groups=3,layout=nhwc,direction=fprop",
        "conv2d:n=2,c=12,hw=8,k=6,rs=3,pad=1,groups=3,layout=nhwc,direction=dgrad",
        "conv2d:n=2,c=12,hw=8,k=6,rs=3,pad=1,groups=3,layout=nhwc,direction=wgrad",
        "conv2d:n=1,c=8,hw=7,k=8,rs=3,pad=1,groups=8,layout=nhwc"));

INSTANTIATE_TEST_SUITE_P(MatrixProducts, LayerTest,
                         ::testing::Values("matmul:m=7,n=13,k=9", "matmul:m=7,n=13,k=9,ta=1",
                                           "matmul:m=7,n=13,k=9,tb=1", "matmul:m=7,n=13,k=9,ta=1,tb=1",
                                           "matmul:m=7,n=13,k=9,bias=1", "matmul:m=7,n=13,k=9,batch=3",
                                           "matmul:m=64,n=32,k=48,batch=2,ta=1,bias=1",
                                           "matmul:m=5,n=6,k=7,batch=2,tb=1,bias=1",
                                           "linear:n=5,in=33,out=17", "linear:n=5,in=33,out=17,bias=0"));

}  // namespace
}  // namespace jitterscope
