// The kernels of layers, run on the CPU, against the float64 reference: every kind, data type, layout and
// pass.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "device/cpu/reference.hpp"
#include "layer_checks.hpp"

namespace jitterscope {
namespace {

using emulation::expect_right;
using emulation::expect_right_in_each_layout;
using emulation::expect_right_in_each_type;
using emulation::kResident;

// Less than a vector; vectors and a rest; whole blocks and a rest; more than two blocks take at once.
TEST(LayerKernels, Elementwise) {
  for (const char* kind :
       {"fill", "add", "mul", "relu", "relu6", "sigmoid", "tanh", "silu", "gelu", "relu_backward",
        "relu6_backward", "sigmoid_backward", "tanh_backward", "silu_backward", "gelu_backward"}) {
    for (const char* count : {"1", "131", "8195", "9001"}) {
      expect_right_in_each_type(std::string(kind) + ":count=" + count);
    }
  }
}

TEST(LayerKernels, ReluGradientsPassWhereNaNWasKept) {
  for (const char* kind : {"relu_backward", "relu6_backward"}) {
    for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
      const Operation operation = Operation::parse(std::string(kind) + ":count=9,dtype=" + dtype);
      emulation::EmulatedPlan plan(operation, kResident);
      plan.write(0, {1, 2, 3, 4, 5, 6, 7, 8, 9});
      plan.write(1, {NAN, -1, 1, 0, NAN, 2, -2, 3, NAN});
      emulation::plan_layer(plan, operation);
      plan.run();
      EXPECT_EQ(plan.read(2), (std::vector<double>{1, 0, 3, 0, 5, 6, 0, 8, 9})) << operation.text();
    }
  }
}

TEST(LayerKernels, OptimizerSteps) {
  for (const char* kind : {"sgd", "momentum", "adam", "adamw"}) {
    for (const char* count : {"3", "5003"}) {
      expect_right_in_each_type(std::string(kind) + ":count=" + count);
    }
  }
}

// Whole vectors of channels and not; windows that have tiles, others, gaps between windows, padding, whole
// planes, staged or in groups of 32 and 256 threads, and a stride to which nothing can be added in 32 bits.
TEST(LayerKernels, Pools) {
  for (const char* kind : {"max_pool", "avg_pool"}) {
    for (const char* shape :
         {"n=2,c=8,hw=9,window=3,stride=2,pad=1", "n=1,c=16,h=7,w=10,window=2,stride=2",
          "n=2,c=3,h=11,w=6,window=3x2,stride=2x1,pad=1x0", "n=1,c=5,h=8,w=9,window=1x2,stride=3x4",
          "n=1,c=8,hw=5,window=5,stride=1,pad=2", "n=1,c=2,hw=13,window=3,stride=3",
          "n=2,c=4,h=9,w=11,window=3,stride=2", "n=1,c=6,h=10,w=7,window=3,stride=1,pad=1",
          "n=1,c=4,h=9,w=12,window=3,stride=2,pad=1x0", "n=2,c=3,h=7,w=16,window=3,stride=2,pad=1",
          "n=2,c=3,h=7,w=8,window=2,stride=2", "n=1,c=3,h=6,w=24,window=3,stride=1,pad=1",
          "n=1,c=16,h=9,w=6,window=3,stride=2,pad=1", "n=2,c=35,h=6,w=5,window=6x5", "n=3,c=97,hw=7,window=7",
          "n=3,c=7,h=9,w=31,window=9x31", "n=1,c=3,h=40,w=61,window=40x61",
          "n=1,c=2,hw=7,window=3,stride=2147483647"}) {
      for (const char* pass : {"forward", "backward"}) {
        expect_right_in_each_layout(std::string(kind) + ":" + shape + ",pass=" + pass);
      }
    }
  }
}

// One size for each group of threads, with rows that begin inside a vector; rows in shared memory, two of
// them or one; rows that are streamed.
TEST(LayerKernels, Softmax) {
  for (const char* kind : {"softmax", "log_softmax"}) {
    for (const char* shape :
         {"rows=37,columns=8", "rows=5,columns=31", "rows=33,columns=128", "rows=11,columns=200",
          "rows=9,columns=503", "rows=3,columns=1001", "rows=2,columns=2050", "rows=2,columns=4099",
          "rows=2,columns=8192", "rows=1,columns=20003", "rows=4,columns=20003", "rows=5,columns=20003",
          "rows=3,columns=40001", "rows=4,columns=50257", "rows=5,columns=60003"}) {
      for (const char* pass : {"forward", "backward"}) {
        expect_right_in_each_type(std::string(kind) + ":" + shape + ",pass=" + pass);
      }
    }
  }
}

// Rows that are fetched ahead: many for each block, and of a length for each kernel.
TEST(LayerKernels, SoftmaxOfManyLongRows) {
  struct {
    const char* shape;
    const char* kernel;
  } const cases[] = {{"rows=23,columns=30001,dtype=f16", "softmax_forward_shared_512x8_f16"},
                     {"rows=24,columns=20481,dtype=f16", "softmax_forward_shared_512x8_f16"},
                     {"rows=24,columns=20489,dtype=f16", "softmax_forward_ahead_512x7_f16"},
                     {"rows=25,columns=12003,dtype=f32", "softmax_forward_ahead_512x7_f32"},
                     {"rows=24,columns=30522,dtype=bf16", "softmax_forward_ahead_1024x4_bf16"},
                     {"rows=27,columns=50257,dtype=f16", "softmax_forward_ahead_1024x7_f16"},
                     {"rows=24,columns=60001,dtype=bf16", "softmax_forward_shared_512x28_bf16"}};
  for (const auto& each : cases) {
    const Operation operation = Operation::parse(fmt::format("softmax:{}", each.shape));
    emulation::EmulatedPlan plan(operation, kResident);
    emulation::plan_layer(plan, operation);
    EXPECT_EQ(plan.steps().front().kernel.name, each.kernel) << each.shape;
    expect_right(operation);
  }
}

// Emulated blocks run one after the other, so that each is its own cluster; the exchange runs on GPUs alone.
TEST(LayerKernels, SoftmaxByClusters) {
  for (const char* dtype : {"f32", "f16", "bf16"}) {
    const Operation operation = Operation::parse(fmt::format("softmax:rows=3,columns=1001,dtype={}", dtype));
    emulation::EmulatedPlan plan(operation, kResident);
    plan.add(cuda::KernelName(cuda::KernelFile::softmax_cluster, "softmax_forward_cluster_256x4",
                              operation.dtype()),
             3, 256, plan.operand(1), plan.operand(0), std::uint64_t{3}, std::uint64_t{1001}, false);
    plan.run();
    const std::vector<std::vector<double>> inputs = {plan.read(0)};
    Reference reference(operation, inputs);
    const std::vector<double> y = plan.read(1);
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], reference.element(0, static_cast<std::int64_t>(i)), 1e-3) << operation.text();
    }
  }
}

// Nothing of a row but -inf, and nothing of what one warp has seen of it: also where exponentials of the rest
// around zero would be none.
void expect_minus_infinity_counts_nothing(double last) {
  for (const int columns : {5, 301, 4099, 40001}) {
    for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
      const Operation operation =
          Operation::parse(fmt::format("softmax:rows=2,columns={},dtype={}", columns, dtype));
      emulation::EmulatedPlan plan(operation, kResident);
      std::vector<double> x(static_cast<std::size_t>(2 * columns), -INFINITY);
      x.back() = last;
      plan.write(0, x);
      emulation::plan_layer(plan, operation);
      plan.run();
      const std::vector<double> y = plan.read(1);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (i < x.size() / 2) {
          ASSERT_TRUE(std::isnan(y[i])) << operation.text() << " at " << i;
        } else {
          ASSERT_EQ(y[i], i + 1 == x.size() ? 1.0 : 0.0) << operation.text() << " at " << i;
        }
      }
    }
  }
}

TEST(LayerKernels, SoftmaxOfMinusInfinity) {
  expect_minus_infinity_counts_nothing(3.0);
  expect_minus_infinity_counts_nothing(-300.0);
}

// The mean is 1000 times as large as what elements differ by.
TEST(LayerKernels, LayerNormFarFromZero) {
  for (const int columns : {31, 1000, 1001, 17001}) {
    const Operation operation =
        Operation::parse(fmt::format("layer_norm:rows=2,columns={},dtype=f32", columns));
    emulation::EmulatedPlan plan(operation, kResident);
    std::vector<double> x = plan.read(0);
    for (double& value : x) value += 1000.0;
    plan.write(0, x);
    emulation::plan_layer(plan, operation);
    plan.run();
    const std::vector<std::vector<double>> inputs = {plan.read(0), plan.read(1), plan.read(2)};
    Reference reference(operation, inputs);
    const std::vector<double> y = plan.read(3);
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], reference.element(0, static_cast<std::int64_t>(i)), 1e-3)
          << operation.text() << " at " << i;
    }
  }
}

TEST(LayerKernels, LayerNorm) {
  for (const char* shape :
       {"rows=37,columns=8", "rows=5,columns=31", "rows=19,columns=256", "rows=21,columns=512",
        "rows=9,columns=768", "rows=35,columns=744", "rows=7,columns=1536", "rows=5,columns=2048",
        "rows=5,columns=4096", "rows=3,columns=8192", "rows=3,columns=1001", "rows=2,columns=17001"}) {
    for (const char* pass : {"forward", "backward"}) {
      expect_right_in_each_type(std::string("layer_norm:") + shape + ",pass=" + pass);
    }
  }
}

// A block's partial sums are 2.7 rows of 16 bits: few rows leave blocks idle, and each block takes as many as
// the others.
TEST(LayerKernels, LayerNormBackwardHasFewBlocksForFewRows) {
  struct {
    const char* shape;
    std::int64_t resident;
    unsigned blocks;
  } const cases[] = {{"rows=600,columns=4096,dtype=f16", 528, 300},
                     {"rows=600,columns=4096,dtype=f32", 264, 200},
                     {"rows=1,columns=4096,dtype=f16", 528, 1},
                     {"rows=600,columns=768,dtype=bf16", 528, 150},
                     {"rows=4096,columns=1024,dtype=f16", 64, 64}};
  for (const auto& each : cases) {
    const Operation operation = Operation::parse(fmt::format("layer_norm:{},pass=backward", each.shape));
    emulation::EmulatedPlan plan(operation, each.resident);
    emulation::plan_layer(plan, operation);
    EXPECT_EQ(plan.steps().front().blocks, each.blocks) << operation.text();
  }
}

TEST(LayerKernels, BatchNorm) {
  for (const char* shape :
       {"n=3,c=16,hw=4", "n=4,c=5,hw=3", "n=2,c=70,h=5,w=7", "n=2,c=3,h=30,w=31", "n=2,c=8,h=64,w=36"}) {
    for (const char* pass : {"forward", "backward", "inference"}) {
      const std::string text = std::string("batch_norm:") + shape + ",pass=" + pass;
      expect_right_in_each_layout(text);
      for (const char* type : {"dtype=f16,weights=f16", "dtype=bf16,weights=bf16,layout=nhwc"}) {
        expect_right(Operation::parse(text + "," + type));
      }
    }
  }
}

TEST(LayerKernels, ABiasInEveryRow) {
  for (const char* shape : {"m=700,n=1", "m=3,n=7", "m=90,n=16"}) {
    for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
      const std::string text = std::string("matmul:k=1,bias=1,") + shape + ",dtype=" + dtype;
      const Operation operation = Operation::parse(text);
      emulation::EmulatedPlan plan(operation, kResident);
      cuda::plan_bias_broadcast(plan, std::get<Matmul>(operation.parameters()));
      plan.run();
      const std::vector<double> bias = plan.read(2), c = plan.read(3);
      for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], bias[i % bias.size()]) << text << " " << i;
    }
  }
}

TEST(LayerKernels, BiasAdd) {
  for (const char* shape : {"n=2,c=16,hw=8", "n=3,c=5,h=3,w=7", "n=1,c=3,hw=1"}) {
    expect_right_in_each_layout(std::string("bias_add:") + shape);
  }
}

}  // namespace
}  // namespace jitterscope
