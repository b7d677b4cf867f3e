// Pooling's kernels, run on the CPU, on numbers that are equal, infinite or none.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/random.hpp"
#include "device/cpu/reference.hpp"
#include "emulated_plan.hpp"

namespace jitterscope::cuda {
namespace {

/// Many equal numbers, one of 20 NaN and three -inf.
std::vector<double> awkward_numbers(std::size_t count) {
  Random random(count);
  std::vector<double> numbers(count);
  for (double& number : numbers) {
    const std::uint64_t draw = random.below(20);
    number = static_cast<double>(draw % 5) - 2.0;
    if (draw == 0) number = std::numeric_limits<double>::quiet_NaN();
    if (draw > 16) number = -std::numeric_limits<double>::infinity();
  }
  return numbers;
}

/// Small enough to add up exactly in every type.
std::vector<double> small_numbers(std::size_t count) {
  Random random(count);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = static_cast<double>(random.below(9)) - 4.0;
  return numbers;
}

void expect_same(const Operation& operation, const emulation::EmulatedPlan& plan, std::size_t inputs) {
  std::vector<std::vector<double>> read;
  for (std::size_t i = 0; i < inputs; ++i) read.push_back(plan.read(i));
  Reference reference(operation, read);
  for (std::size_t i = inputs; i < operation.operands().size(); ++i) {
    const std::vector<double> output = plan.read(i);
    for (std::size_t j = 0; j < output.size(); ++j) {
      const double expected = reference.element(i - inputs, static_cast<std::int64_t>(j));
      if (std::isnan(expected) && std::isnan(output[j])) continue;
      ASSERT_EQ(output[j], expected) << operation.text() << " by " << plan.steps().front().kernel
                                     << ", output " << i << " at " << j;
    }
  }
}

/// Both passes of a maximum: the second gets the indices of the first.
void expect_exact(const std::string& text) {
  const Operation operation = Operation::parse(text);
  emulation::EmulatedPlan forward(operation);
  forward.write(0, awkward_numbers(forward.read(0).size()));
  auto pool = std::get<Pool2d>(operation.parameters());
  plan_pool(forward, pool);
  ASSERT_NO_THROW(forward.run()) << text;
  expect_same(operation, forward, 1);

  pool.pass = Pass::backward;
  emulation::EmulatedPlan backward{Operation(pool)};
  backward.write(0, small_numbers(backward.read(0).size()));
  backward.write(1, forward.read(2));
  plan_pool(backward, pool);
  ASSERT_NO_THROW(backward.run()) << text;
  expect_same(Operation(pool), backward, 2);
}

// Odd sizes and numbers of channels, and the padding of one side alone.
TEST(MaxPools, ChooseAmongTiesNaNAndInfinity) {
  for (const char* window : {"window=3,stride=2,pad=1", "window=2,stride=2", "window=3,stride=1,pad=1",
                             "window=3,stride=2", "window=3,stride=2,pad=1x0", "window=3,stride=1,pad=0x1",
                             "window=2,stride=2,pad=1", "window=3x2,stride=2"}) {
    for (const char* size : {"h=3,w=3", "h=3,w=10", "h=8,w=4", "h=17,w=7", "h=5,w=8", "h=9,w=24"}) {
      for (const char* channels : {"c=1", "c=2", "c=5", "c=6", "c=8"}) {
        for (const char* layout : {"nchw", "nhwc"}) {
          for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
            ASSERT_NO_FATAL_FAILURE(expect_exact(fmt::format("max_pool:n=2,{},{},{},layout={},dtype={}",
                                                             channels, size, window, layout, dtype)));
          }
        }
      }
    }
  }
}

TEST(MaxPools, PadASingleElement) {
  for (const char* stride : {"1", "2"}) {
    for (const char* layout : {"nchw", "nhwc"}) {
      expect_exact(fmt::format("max_pool:n=1,c=2,hw=1,window=3,stride={},pad=1,layout={}", stride, layout));
    }
  }
}

// More elements than 32 bits number, all but one of them padding.
TEST(AveragePools, DivideByWindowsOfAnySize) {
  const Operation operation = Operation::parse("avg_pool:n=1,c=1,hw=1,window=131072,stride=1,pad=65536");
  emulation::EmulatedPlan plan(operation);
  plan.write(0, {1.0});
  plan_pool(plan, std::get<Pool2d>(operation.parameters()));
  plan.run();
  EXPECT_EQ(plan.read(1), std::vector<double>(4, std::exp2(-34)));
}

/// Small numbers in, so that every sum is exact; a share of it is rounded as the reference's is, but by a
/// product in place of a division.
void expect_close(const std::string& text) {
  const Operation operation = Operation::parse(text);
  emulation::EmulatedPlan plan(operation);
  const std::vector<std::vector<double>> read = {small_numbers(plan.read(0).size())};
  plan.write(0, read.front());
  plan_pool(plan, std::get<Pool2d>(operation.parameters()));
  ASSERT_NO_THROW(plan.run()) << text;
  Reference reference(operation, read);
  const std::vector<double> output = plan.read(1);
  const DataType dtype = operation.operands()[0].dtype;
  const double part = dtype == DataType::bf16 ? 0x1p-7 : dtype == DataType::f16 ? 0x1p-10 : 0x1p-22;
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double expected = reference.element(0, static_cast<std::int64_t>(i));
    ASSERT_NEAR(output[i], expected, std::abs(expected) * part)
        << text << " by " << plan.steps().front().kernel << " at " << i;
  }
}

// Planes that a thread takes and that a warp shares.
TEST(AveragePools, OfWholePlanes) {
  for (const char* dtype : {"f64", "f32", "f16", "bf16"}) {
    for (const char* channels : {"c=1", "c=35", "c=64"}) {
      for (const char* size :
           {"h=1,w=1,window=1x1", "h=7,w=7,window=7", "h=3,w=5,window=3x5", "h=9,w=10,window=9x10"}) {
        for (const char* pass : {"forward", "backward"}) {
          for (const char* layout : {"nchw", "nhwc"}) {
            ASSERT_NO_FATAL_FAILURE(expect_close(fmt::format("avg_pool:n=2,{},{},layout={},dtype={},pass={}",
                                                             channels, size, layout, dtype, pass)));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace jitterscope::cuda
