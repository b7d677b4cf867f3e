// The kernels of embedding, run on the CPU, against the float64 reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "layer_checks.hpp"

namespace jitterscope {
namespace {

using emulation::expect_output;
using emulation::expect_right;
using emulation::expect_right_in_each_type;
using emulation::kResident;

TEST(LayerKernels, Embedding) {
  for (const char* shape : {"count=50,rows=20,columns=16", "count=300,rows=7,columns=5",
                            "count=9,rows=4,columns=1101", "count=3,rows=2000,columns=12"}) {
    for (const char* pass : {"forward", "backward"}) {
      expect_right_in_each_type(std::string("embedding:") + shape + ",pass=" + pass);
    }
  }
}

// All indices equal; two rows with more of them than one thread takes; rows that none names. Twice, since
// each run leaves its counts and sums to the next.
TEST(LayerKernels, EmbeddingGradientsOfRowsThatManyIndicesName) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    for (const int columns : {5, 24}) {
      for (const bool equal : {true, false}) {
        const Operation operation = Operation::parse(
            fmt::format("embedding:count=1500,rows=40,columns={},dtype={},pass=backward", columns, dtype));
        emulation::EmulatedPlan plan(operation, kResident);
        std::vector<double> indices(1500);
        for (std::size_t i = 0; i < indices.size(); ++i) {
          indices[i] = equal ? 7.0 : i % 3 == 0 ? static_cast<double>(i % 37) : i % 3 == 1 ? 38.0 : 3.0;
        }
        plan.write(1, indices);
        emulation::plan_layer(plan, operation);
        for (int run = 0; run < 2; ++run) {
          plan.run();
          expect_output(operation, plan, 0);
        }
      }
    }
  }
}

/// Index i of a list. Of kRows rows, which are as few as have bins; some of them are named by none.
using Indices = std::function<std::int64_t(std::int64_t)>;
constexpr std::int64_t kRows = 4096;

void expect_right_twice(const Operation& operation, const Indices& index) {
  const auto& shape = std::get<Embedding>(operation.parameters());
  emulation::EmulatedPlan plan(operation, kResident);
  if (index) {
    std::vector<double> indices;
    for (std::int64_t i = 0; i < shape.count; ++i) indices.push_back(static_cast<double>(index(i)));
    plan.write(shape.pass == Pass::backward ? 1 : 0, indices);
  }
  emulation::plan_layer(plan, operation);
  ASSERT_EQ(plan.steps().front().kernel.name, "embedding_bin_i64");
  for (int run = 0; run < 2; ++run) {
    plan.run();
    expect_output(operation, plan, 0);
    plan.forget_outputs();
  }
}

void expect_right_in_bins(const std::string& dtype, int columns, const Indices& index) {
  for (const char* pass : {"forward", "backward"}) {
    const Operation operation = Operation::parse(
        fmt::format("embedding:count=8201,rows={},columns={},dtype={},pass={}", kRows, columns, dtype, pass));
    SCOPED_TRACE(operation.text());
    expect_right_twice(operation, index);
  }
}

// Three rows that many indices name, mixed with each other in what is left over, and one that is named by one
// index more than a bin holds.
TEST(LayerKernels, EmbeddingsWithFullBins) {
  const Indices full = [](std::int64_t i) { return i < 32 ? kRows - 1 : i % 2 == 0 ? i % 1000 : i % 3; };
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) expect_right_in_bins(dtype, 520, full);
  for (const char* dtype : {"f64", "bf16"}) expect_right_in_bins(dtype, 231, full);
}

TEST(LayerKernels, EmbeddingsWithBins) {
  expect_right_in_bins("f32", 192, nullptr);  // random
  expect_right_in_bins("f16", 776, [](std::int64_t) { return 7; });
}

}  // namespace
}  // namespace jitterscope
