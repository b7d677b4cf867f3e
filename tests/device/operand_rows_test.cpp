#include "device/operands.hpp"

#include <gtest/gtest.h>

namespace jitterscope {
namespace {

std::vector<std::int64_t> strides(const std::string& operation, const RowStride& stride) {
  std::vector<std::int64_t> found;
  for (const OperandRows& rows : operand_rows(Operation::parse(operation), stride))
    found.push_back(rows.stride);
  return found;
}

using Strides = std::vector<std::int64_t>;

TEST(RowStride, PadsOrGoesToTheNextPowerOfTwo) {
  EXPECT_EQ(RowStride().of(100), 100);
  EXPECT_EQ(RowStride{.padding = 8}.of(100), 108);
  EXPECT_EQ(RowStride{.power_of_two = true}.of(100), 128);
  EXPECT_EQ(RowStride{.power_of_two = true}.of(128), 256) << "else it would change nothing";
}

TEST(OperandRows, AreThoseOfTheMatricesAsTheyAreStored) {
  EXPECT_EQ(strides("matmul:m=2,n=3,k=4", {.padding = 10}), (Strides{14, 13, 13}));
  EXPECT_EQ(strides("matmul:m=2,n=3,k=4,ta=1,tb=1", {.padding = 10}), (Strides{12, 14, 13}));
  EXPECT_EQ(strides("matmul:m=2,n=3,k=4,bias=1", {.padding = 10}), (Strides{14, 13, 0, 13}));
  EXPECT_EQ(strides("linear:n=2,in=3,out=4", {.padding = 10}), (Strides{13, 13, 0, 14}));
  EXPECT_EQ(strides("linear:n=2,in=3,out=4,bias=0", {.power_of_two = true}), (Strides{4, 4, 8}));
  EXPECT_EQ(strides("relu:count=5", {.padding = 10}), (Strides{0, 0}));
  EXPECT_EQ(operand_rows(Operation::parse("matmul:m=2,n=3,k=4,batch=5"), {})[1].count, 20);
}

TEST(OperandRows, SayWhatTheyTake) {
  const Operation product = Operation::parse("matmul:m=2,n=3,k=4,batch=5,dtype=f16,bias=1");
  EXPECT_EQ(bytes_between_rows(product, {}), Bytes(0));
  EXPECT_EQ(bytes_between_rows(product, {.padding = 8}), Bytes((10 + 20 + 10) * 8 * 2));
  EXPECT_TRUE(has_matrices(product));
  EXPECT_FALSE(has_matrices(Operation::parse("conv2d:n=1,c=1,hw=3,k=1,rs=3")));
}

}  // namespace
}  // namespace jitterscope
