// The kernels of embedding, run on the CPU, against the float64 reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "layer_checks.hpp"

namespace jitterscope {
namespace {

using emulation::expect_output;
using emulation::expect_right_in_each_type;

TEST(LayerKernels, Embedding) {
  for (const char* shape : {"count=50,rows=20,columns=16", "count=300,rows=7,columns=5",
                            "count=9,rows=4,columns=1101", "count=3,rows=2000,columns=12"}) {
    for (const char* pass : {"forward", "backward"}) {
      expect_right_in_each_type(std::string("embedding:") + shape + ",pass=" + pass);
    }
  }
}

// All indices equal; rows that many name and rows that none names. Twice, since each run must clear the sums
// of the one before.
TEST(LayerKernels, EmbeddingGradientsOfRowsThatManyIndicesName) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    for (const int columns : {5, 24}) {
      for (const bool equal : {true, false}) {
        const Operation operation = Operation::parse(
            fmt::format("embedding:count=1500,rows=40,columns={},dtype={},pass=backward", columns, dtype));
        SCOPED_TRACE(operation.text());
        emulation::EmulatedPlan plan(operation);
        std::vector<double> indices(1500);
        for (std::size_t i = 0; i < indices.size(); ++i) {
          indices[i] = equal ? 7.0 : i % 3 == 0 ? static_cast<double>(i % 37) : i % 3 == 1 ? 38.0 : 3.0;
        }
        plan.write(1, indices);
        emulation::plan_layer(plan, operation);
        for (int run = 0; run < 2; ++run) {
          plan.forget_outputs();
          plan.run();
          expect_output(operation, plan, 0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace jitterscope
