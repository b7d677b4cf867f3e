#include "device/cuda/operations/product_call.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace jitterscope::cuda {
namespace {

Matmul product(const std::string& text) {
  return std::get<Matmul>(Operation::parse("matmul:" + text).parameters());
}
// As cuBLAS's logs name a call: transposes, sizes, leading dimensions.
std::string call(const std::string& text) {
  const ProductCall call = product_call(product(text));
  return fmt::format("{}{} {}x{}x{} ld {} {} {}{}", call.transpose_first ? 't' : 'n',
                     call.transpose_second ? 't' : 'n', call.m, call.n, call.k, call.first_leading,
                     call.second_leading, call.result_leading, call.swapped ? " swapped" : "");
}

TEST(ProductCall, SwapsTheFactorsOfWhatIsStoredByRows) {
  EXPECT_EQ(call("m=2,n=3,k=4"), "nn 3x2x4 ld 3 4 3 swapped");
  EXPECT_EQ(call("m=2,n=3,k=4,tb=1"), "tn 3x2x4 ld 4 4 3 swapped");
  EXPECT_EQ(call("m=2,n=3,k=4,ta=1"), "nt 3x2x4 ld 3 2 3 swapped");
  EXPECT_EQ(call("m=2,n=3,k=4,ta=1,tb=1,batch=5"), "tt 3x2x4 ld 4 2 3 swapped");
}

TEST(ProductCall, TakesAMatrixWithASizeOfOneAsItLies) {
  EXPECT_EQ(call("m=1000,n=512,k=1,ta=1"), "nn 512x1000x1 ld 512 1 512 swapped");  // a weight's gradient
  EXPECT_EQ(call("m=32,n=1,k=64,tb=1"), "nn 1x32x64 ld 1 64 1 swapped");
  EXPECT_EQ(call("m=1,n=8,k=64,ta=1"), "nn 8x1x64 ld 8 64 8 swapped");
  EXPECT_EQ(call("m=4,n=8,k=1,tb=1"), "nn 8x4x1 ld 8 1 8 swapped");
  EXPECT_EQ(call("m=1,n=8,k=64,tb=1"), "tn 8x1x64 ld 64 64 8 swapped");
}

TEST(ProductCall, LooksAtTheStridesWithinABatch) {
  EXPECT_EQ(call("m=1,n=8,k=64,ta=1,batch=2"), "nt 8x1x64 ld 8 1 8 swapped");
  EXPECT_EQ(call("m=4,n=8,k=1,tb=1,batch=2"), "tn 8x4x1 ld 1 1 8 swapped");
}

TEST(ProductCall, DoesNotSwapABatchOfSingleColumns) {
  EXPECT_EQ(call("m=512,n=1,k=64,batch=64"), "tt 512x1x64 ld 64 1 512");
  EXPECT_EQ(call("m=512,n=1,k=64,ta=1,batch=64"), "nt 512x1x64 ld 512 1 512");
  EXPECT_EQ(call("m=512,n=1,k=64,tb=1,batch=64"), "tn 512x1x64 ld 64 64 512");
  EXPECT_EQ(call("m=1,n=1,k=1,batch=64"), "nn 1x1x1 ld 1 1 1");
  EXPECT_EQ(call("m=512,n=1,k=64"), "nn 1x512x64 ld 1 64 1 swapped");
}

// Whatever is passed, it is the product: cuBLAS's definition, element by element.
class DefinitionOfCublas {
 public:
  explicit DefinitionOfCublas(const Matmul& shape, const RowStride& rows = {})
      : p_(shape),
        call_(product_call(shape, rows)),
        a_row_(rows.of(p_.transpose_a ? p_.m : p_.k)),
        b_row_(rows.of(p_.transpose_b ? p_.k : p_.n)),
        c_row_(rows.of(p_.n)) {
    for (std::int64_t i = 0; i < a_row_ * (p_.transpose_a ? p_.k : p_.m); ++i) {
      a_.push_back(static_cast<double>(i) + 1);
    }
    for (std::int64_t i = 0; i < b_row_ * (p_.transpose_b ? p_.n : p_.k); ++i) {
      b_.push_back(static_cast<double>(i * i) - 7);
    }
  }

  // A batch is one matrix behind the other.
  void expect_steps() const {
    EXPECT_EQ(call_.first_step, std::ssize(call_.swapped ? b_ : a_)) << Operation(p_).text();
    EXPECT_EQ(call_.second_step, std::ssize(call_.swapped ? a_ : b_)) << Operation(p_).text();
    EXPECT_EQ(call_.result_step, c_row_ * p_.m) << Operation(p_).text();
  }

  void expect_product() const {
    for (std::int64_t row = 0; row < p_.m; ++row) {
      for (std::int64_t column = 0; column < p_.n; ++column) expect_element(row, column);
    }
  }

 private:
  static double at(const std::vector<double>& numbers, std::int64_t index) {
    return numbers.at(static_cast<std::size_t>(index));
  }
  void expect_element(std::int64_t row, std::int64_t column) const {
    const std::int64_t i = call_.swapped ? column : row, j = call_.swapped ? row : column;
    const auto &first = call_.swapped ? b_ : a_, &second = call_.swapped ? a_ : b_;
    double expected = 0, computed = 0;
    for (std::int64_t l = 0; l < p_.k; ++l) {
      expected += at(a_, p_.transpose_a ? l * a_row_ + row : row * a_row_ + l) *
                  at(b_, p_.transpose_b ? column * b_row_ + l : l * b_row_ + column);
      computed +=
          at(first, call_.transpose_first ? l + i * call_.first_leading : i + l * call_.first_leading) *
          at(second, call_.transpose_second ? j + l * call_.second_leading : l + j * call_.second_leading);
    }
    EXPECT_EQ(computed, expected) << Operation(p_).text();
    EXPECT_EQ(i + j * call_.result_leading, row * c_row_ + column) << Operation(p_).text();
  }

  Matmul p_;
  ProductCall call_;
  std::int64_t a_row_, b_row_, c_row_;
  std::vector<double> a_, b_;
};

// A size of one or more in each direction, batches and transposes.
std::vector<Matmul> all_shapes() {
  std::vector<Matmul> shapes;
  for (int flags = 0; flags < 64; ++flags) {
    shapes.push_back({.m = (flags & 1) != 0 ? 3 : 1,
                      .n = (flags & 2) != 0 ? 4 : 1,
                      .k = (flags & 4) != 0 ? 5 : 1,
                      .batch = (flags & 8) != 0 ? 2 : 1,
                      .transpose_a = (flags & 16) != 0,
                      .transpose_b = (flags & 32) != 0});
  }
  return shapes;
}

TEST(ProductCall, ComputesTheProduct) {
  for (const Matmul& shape : all_shapes()) {
    DefinitionOfCublas(shape).expect_product();
    DefinitionOfCublas(shape).expect_steps();
  }
}

TEST(ProductCall, ComputesTheProductOfRowsThatLieApart) {
  for (const RowStride& rows : {RowStride{.padding = 2}, RowStride{.power_of_two = true}}) {
    for (const Matmul& shape : all_shapes()) {
      DefinitionOfCublas(shape, rows).expect_product();
      DefinitionOfCublas(shape, rows).expect_steps();
    }
  }
}

}  // namespace
}  // namespace jitterscope::cuda
