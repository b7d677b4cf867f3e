// The kernels of embedding, run on the CPU, against the float64 reference.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
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
  expect_right(Operation::parse("embedding:count=131073,rows=131073,columns=4,dtype=f32"));  // no stripes
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
constexpr std::int64_t kRows = 4096, kCount = 8201;

/// One list after the other, since each run leaves its bins, counts and sums to the next.
void expect_right_in_bins(const std::string& dtype, int columns, const std::vector<Indices>& lists) {
  const Operation operation = Operation::parse(fmt::format(
      "embedding:count={},rows={},columns={},dtype={},pass=backward", kCount, kRows, columns, dtype));
  SCOPED_TRACE(operation.text());
  emulation::EmulatedPlan plan(operation, kResident);
  emulation::plan_layer(plan, operation);
  ASSERT_EQ(plan.steps().front().kernel.name, "embedding_bin_i64");
  for (const Indices& list : lists) {
    std::vector<double> indices;
    for (std::int64_t i = 0; i < kCount; ++i) indices.push_back(static_cast<double>(list(i)));
    plan.write(1, indices);
    plan.forget_outputs();
    ASSERT_NO_THROW(plan.run());
    expect_output(operation, plan, 0);
  }
}

// Three rows that many indices name, mixed with each other in what is left over, and one that is named by one
// index more than a bin holds; then as many full bins as there can be, with less left over.
TEST(LayerKernels, EmbeddingGradientsWithFullBins) {
  const std::vector<Indices> lists = {[](std::int64_t i) {
                                        return i < 32 ? kRows - 1 : i % 2 == 0 ? i % 1000 : i % 3;
                                      },
                                      [](std::int64_t i) { return i % 256; }};
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) expect_right_in_bins(dtype, 520, lists);
  for (const char* dtype : {"f64", "bf16"}) expect_right_in_bins(dtype, 231, lists);
}

TEST(LayerKernels, EmbeddingGradientsWithOneFullBinOrNone) {
  const Indices equal = [](std::int64_t) { return 7; };
  const Indices mixed = [](std::int64_t i) { return i * 2741 % 4093; };
  expect_right_in_bins("f16", 776, {equal, mixed});
  expect_right_in_bins("f32", 192, {mixed, equal});
}

}  // namespace
}  // namespace jitterscope
