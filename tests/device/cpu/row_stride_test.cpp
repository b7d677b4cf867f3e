// Products whose matrices have rows that do not follow each other at once.
#include <gtest/gtest.h>

#include "device/cpu/cpu_device.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

class RowStrides : public ::testing::Test {
 protected:
  RowStrides() : device_(open_cpu_device()), queue_(device_->make_queue()) {}

  std::unique_ptr<PreparedOperation> prepare(const std::string& text, const RowStride& rows) {
    return device_->prepare(Operation::parse(text), {.seed = 7, .rows = rows});
  }
  std::vector<double> result(PreparedOperation& prepared) {
    queue_->launch(prepared);
    queue_->wait();
    return prepared.read_operand(prepared.operation().operands().size() - 1);
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Queue> queue_;
};

TEST_F(RowStrides, ChangeWhereTheValuesLieAndNothingElse) {
  for (const char* text :
       {"matmul:m=33,n=17,k=29", "matmul:m=33,n=17,k=29,ta=1,tb=1,bias=1", "matmul:m=5,n=6,k=7,batch=3,tb=1",
        "matmul:m=1,n=17,k=29,ta=1", "matmul:m=33,n=1,k=29", "linear:n=9,in=20,out=12"}) {
    const auto packed = prepare(text, {});
    const std::vector<double> expected = result(*packed);
    for (const RowStride& rows :
         {RowStride{.padding = 8}, RowStride{.padding = 64}, RowStride{.power_of_two = true}}) {
      const auto apart = prepare(text, rows);
      EXPECT_TRUE(apart->has_row_strides());
      for (std::size_t i = 0; i + 1 < apart->operation().operands().size(); ++i) {
        EXPECT_EQ(apart->read_operand(i), packed->read_operand(i)) << text << ", operand " << i;
      }
      const std::vector<double> values = result(*apart);
      ASSERT_EQ(values.size(), expected.size());
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-4) << text;
    }
  }
}

TEST_F(RowStrides, TakeMemoryBetweenTheRows) {
  const auto packed = prepare("matmul:m=64,n=64,k=64", {});
  const auto apart = prepare("matmul:m=64,n=64,k=64", {.power_of_two = true});
  EXPECT_EQ(packed->memory()[0].size, Bytes(64 * 64 * 4));
  EXPECT_EQ(apart->memory()[0].size, Bytes(64 * 128 * 4));
}

TEST_F(RowStrides, AreRefusedWhereNothingReadsThem) {
  for (const char* text :
       {"relu:count=100", "matmul:m=8,n=8,k=8,dtype=f64", "conv2d:n=1,c=8,hw=8,k=8,rs=3"}) {
    EXPECT_FALSE(prepare(text, {})->has_row_strides()) << text;
    EXPECT_THROW(prepare(text, {.padding = 8}), UsageError) << text;
  }
}

}  // namespace
}  // namespace jitterscope
