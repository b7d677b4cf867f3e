// Operands that lie in another operation's memory, on devices that hold them, and how weights are drawn.
#include "device/operands.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

namespace jitterscope {
namespace {

std::unique_ptr<PreparedOperation> prepare(Device& device, const char* text,
                                           std::vector<SharedOperand> shared = {}, std::uint64_t seed = 1) {
  return device.prepare(Operation::parse(text), {.seed = seed, .shared = std::move(shared)});
}

TEST(SharedOperand, APartHoldsWhatTheOwnerWroteThere) {
  const auto device = open_device("cpu");
  const auto queue = device->make_queue();
  const auto whole = prepare(*device, "relu:count=192");
  const auto part = prepare(*device, "relu:count=64", {{0, whole.get(), 1, Bytes(256)}}, 2);
  queue->launch(*whole);
  queue->launch(*part);
  queue->wait();
  const std::vector<double> written = whole->read_operand(1);
  const std::vector<double> read = part->read_operand(0);
  EXPECT_EQ(read, std::vector<double>(written.begin() + 64, written.begin() + 128));
}

TEST(SharedOperand, APartOfAPartBeginsWhereBothSay) {
  const auto device = open_device("cpu");
  const auto whole = prepare(*device, "relu:count=192");
  const auto part = prepare(*device, "relu:count=128", {{0, whole.get(), 0, Bytes(256)}}, 2);
  const auto last = prepare(*device, "relu:count=64", {{0, part.get(), 0, Bytes(256)}}, 3);
  const std::vector<double> drawn = whole->read_operand(0);
  EXPECT_EQ(last->read_operand(0), std::vector<double>(drawn.begin() + 128, drawn.end()));
}

TEST(SharedOperand, WhatAnEarlierOneReadsIsNotFilledAnew) {
  const auto device = open_device("cpu");
  const auto first = prepare(*device, "linear:n=4,in=64,out=64");
  const std::vector<double> weight = first->read_operand(1);
  const auto second = prepare(*device, "matmul:m=4,n=64,k=64,tb=1", {{1, first.get(), 1}}, 2);
  EXPECT_EQ(second->read_operand(1), weight);
  EXPECT_EQ(first->read_operand(1), weight);
}

TEST(SharedOperand, WhatDoesNotFitOrIsNotAlignedGetsMemoryOfItsOwn) {
  for (const char* name : {"cpu", "virtual:h200"}) {
    const auto device = open_device(name);
    const auto whole = prepare(*device, "relu:count=192");
    EXPECT_TRUE(lies_within_owner({0, whole.get(), 1, Bytes(512)}, Bytes(256))) << name;
    EXPECT_FALSE(lies_within_owner({0, whole.get(), 1, Bytes(512)}, Bytes(257))) << name;
    EXPECT_FALSE(lies_within_owner({0, whole.get(), 1, Bytes(-256)}, Bytes(256))) << name;
    EXPECT_FALSE(lies_within_owner({0, whole.get(), 1, Bytes(128)}, Bytes(256))) << name;
    EXPECT_FALSE(lies_within_owner({0, whole.get(), 2, Bytes(0)}, Bytes(256))) << name;
    EXPECT_NO_THROW(prepare(*device, "relu:count=65", {{0, whole.get(), 1, Bytes(512)}})) << name;
  }
}

// Of one network: what goes through two layers keeps its size, whatever their width.
TEST(ScaledWeights, ASumOverManyProductsIsAsLargeAsWhatGoesIn) {
  const Operation products[] = {Operation::parse("matmul:m=4,n=64,k=4096"),
                                Operation::parse("linear:n=4,in=4096,out=64"),
                                Operation::parse("conv2d:n=1,c=512,hw=4,k=8,rs=3,pad=1")};
  for (const char* name : {"cpu", "virtual:h200"}) {
    const auto device = open_device(name);
    for (const Operation& operation : products) {
      const auto scaled = device->prepare(operation, {.scaled_weights = true});
      const std::vector<double> weight = scaled->read_operand(1);
      const double squares = std::inner_product(weight.begin(), weight.end(), weight.begin(), 0.0);
      const auto fan_in = static_cast<double>(operation.operands()[1].fan_in);
      EXPECT_NEAR(squares / static_cast<double>(weight.size()) * fan_in, 2.0, 0.1) << operation.text();
      const std::vector<double> data = device->prepare(operation, {})->read_operand(1);
      EXPECT_NEAR(data[7] * scale_of(operation.operands()[1], {.scaled_weights = true}), weight[7], 1e-6)
          << "alone they keep their data";
    }
  }
}

TEST(ScaledWeights, BothPassesOfAConvolutionDrawAlike) {
  const Operation forward = Operation::parse("conv2d:n=1,c=64,hw=8,k=8,rs=3,groups=2");
  const Operation backward = Operation::parse("conv2d:n=1,c=64,hw=8,k=8,rs=3,groups=2,direction=dgrad");
  EXPECT_EQ(forward.operands()[1].fan_in, 32 * 9);
  EXPECT_EQ(backward.operands()[1].fan_in, 32 * 9);
}

TEST(ScaledWeights, OnlyWhatIsDrawnAtRandomIsScaled) {
  const Operand weight = Operation::parse("matmul:m=4,n=4,k=50").operands()[1];
  EXPECT_DOUBLE_EQ(scale_of(weight, {.scaled_weights = true}), 0.2);
  EXPECT_EQ(scale_of(weight, {.kind = DataKind::ones, .scaled_weights = true}), 1.0);
  EXPECT_EQ(scale_of(weight, {}), 1.0);
}

}  // namespace
}  // namespace jitterscope
