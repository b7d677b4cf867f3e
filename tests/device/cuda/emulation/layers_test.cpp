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

// Less than a vector; vectors and a rest; whole blocks and a rest.
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
      emulation::EmulatedPlan plan(operation);
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

// Windows that overlap, that touch and that leave gaps, padding, whole planes, windows that a warp shares,
// and a stride to which nothing can be added in 32 bits.
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

// Rows of less than a warp, of one, of several, and of more than a block takes at once; of whole vectors and
// not.
TEST(LayerKernels, Softmax) {
  for (const char* kind : {"softmax", "log_softmax"}) {
    for (const char* shape :
         {"rows=37,columns=8", "rows=5,columns=31", "rows=33,columns=128", "rows=11,columns=200",
          "rows=9,columns=503", "rows=3,columns=1001", "rows=2,columns=4099", "rows=2,columns=8192",
          "rows=4,columns=1", "rows=1,columns=20003", "rows=4,columns=50257"}) {
      for (const char* pass : {"forward", "backward"}) {
        expect_right_in_each_type(std::string(kind) + ":" + shape + ",pass=" + pass);
      }
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
      emulation::EmulatedPlan plan(operation);
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
    emulation::EmulatedPlan plan(operation);
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
        "rows=9,columns=768", "rows=700,columns=40", "rows=7,columns=1536", "rows=4,columns=1",
        "rows=5,columns=4096", "rows=3,columns=1001", "rows=2,columns=17001"}) {
    for (const char* pass : {"forward", "backward"}) {
      expect_right_in_each_type(std::string("layer_norm:") + shape + ",pass=" + pass);
    }
  }
}

TEST(LayerKernels, BatchNorm) {
  for (const char* shape : {"n=3,c=16,hw=4", "n=4,c=5,hw=3", "n=2,c=70,h=5,w=7", "n=2,c=3,h=30,w=31",
                            "n=2,c=8,h=64,w=36", "n=9,c=35,hw=1", "n=1,c=1,hw=1"}) {
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
      emulation::EmulatedPlan plan(operation);
      cuda::plan_bias_broadcast(plan, std::get<Matmul>(operation.parameters()));
      plan.run();
      const std::vector<double> bias = plan.read(2), c = plan.read(3);
      for (std::size_t i = 0; i < c.size(); ++i) ASSERT_EQ(c[i], bias[i % bias.size()]) << text << " " << i;
    }
  }
}

// Nothing to move; less than a tile, whole tiles, and a rest of either side; tiles that are narrow for few
// channels.
TEST(LayerKernels, Convert) {
  for (const char* shape :
       {"n=1,c=1,hw=1", "n=3,c=70,hw=1", "n=3,c=1,hw=9", "n=1,c=3,hw=7", "n=2,c=3,h=30,w=41", "n=2,c=64,hw=8",
        "n=1,c=130,h=9,w=11", "n=2,c=2,hw=2", "n=2,c=300,h=1,w=5"}) {
    for (const char* order : {"from=nchw,to=nhwc", "from=nhwc,to=nchw"}) {
      for (const char* type : {"f64", "f32", "f16", "bf16"}) {
        expect_right_in_each_type(fmt::format("convert:{},{},to_dtype={}", shape, order, type));
      }
    }
  }
}

TEST(LayerKernels, ConvertTypesAlone) {
  for (const char* types : {"dtype=f64,to_dtype=f32", "dtype=f32,to_dtype=f16", "dtype=f32,to_dtype=bf16",
                            "dtype=f16,to_dtype=f32", "dtype=bf16,to_dtype=f16", "dtype=f16,to_dtype=f64"}) {
    for (const char* count : {"1", "7", "131", "9001"}) {
      expect_right(Operation::parse(fmt::format("convert:count={},{}", count, types)));
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
