#include "device/cpu/cpu_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::Field;
using ::testing::HasSubstr;
using testing::IsEmpty;
using ::testing::Not;

std::string refusal(const char* operation) {
  const auto device = open_cpu_device();
  try {
    device->prepare(Operation::parse(operation), {});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(CpuDevice, RefusesTypesThatACpuLacks) {
  EXPECT_THAT(refusal("conv2d:n=1,c=8,hw=8,k=8,rs=3,dtype=tf32"),
              HasSubstr("cpu has no tf32 for conv2d; write dtype= with one of f64, f32"));
  EXPECT_THAT(refusal("matmul:m=8,n=8,k=8,dtype=f16"), HasSubstr("cpu has no f16 for matmul"));
  EXPECT_THAT(refusal("linear:n=8,in=8,out=8,dtype=tf32"), HasSubstr("cpu has no tf32 for linear"));
  EXPECT_THAT(refusal("add:count=8,dtype=tf32"), HasSubstr("cpu has no tf32 for add"));
  EXPECT_EQ(refusal("add:count=8,dtype=f16"), "accepted") << "loops take what products do not";
}

TEST(CpuDevice, RefusesWhatNeedsAGpu) {
  EXPECT_THAT(refusal("copy:bytes=1024,kind=h2d"), HasSubstr("no device memory"));
  EXPECT_THAT(refusal("spin:ns=1000,blocks=2"), HasSubstr("blocks=1"));
}

TEST(CpuDevice, SaysHowMuchMemoryIsNeededBeforeTakingIt) {
  EXPECT_THAT(refusal("add:count=400Gi,dtype=f32"),
              AllOf(HasSubstr("needs 4.69 TiB of memory, and cpu has"), HasSubstr("free; free some")));
  EXPECT_THAT(refusal("matmul:m=2000000,n=2000000,k=2,dtype=f32"), HasSubstr("make the shape smaller"));
}

TEST(CpuDevice, OperandsElsewhereGiveTheSameResults) {
  const auto device = open_cpu_device();
  for (const char* text : {"matmul:m=33,n=17,k=65", "softmax:rows=9,columns=100", "add:count=1001,dtype=f64",
                           "conv2d:n=1,c=8,hw=9,k=8,rs=3,pad=1"}) {
    const Operation operation = Operation::parse(text);
    const auto read = [&](Bytes offset) {
      const auto prepared = device->prepare(operation, {.offset = offset});
      prepared->run(nullptr);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(prepared->memory().front().address) % 64,
                static_cast<std::uintptr_t>(offset.value() % 64));
      return prepared->read_operand(operation.operands().size() - 1);
    };
    const std::vector<double> usual = read(Bytes(0));
    for (const std::int64_t bytes : {8, 16, 32, 64, 256})
      EXPECT_EQ(read(Bytes(bytes)), usual) << text << bytes;
    EXPECT_THROW(device->prepare(operation, {.offset = Bytes(4)}), UsageError);
  }
}

TEST(CpuDevice, SpinsForTheTimeAsked) {
  const auto device = open_cpu_device();
  const auto spin = device->prepare(Operation(Spin{.amount = 500'000}), {});
  const Nanoseconds begin = device->host_time();
  spin->run(nullptr);
  EXPECT_GE(device->host_time() - begin, Nanoseconds(500'000));
  EXPECT_THAT(spin->memory(), IsEmpty());
  EXPECT_TRUE(spin->produce_inputs(nullptr));
  EXPECT_NO_THROW(
      device->prepare(Operation(Spin{.unit = Spin::Unit::cycles, .amount = 100'001}), {})->run(nullptr));
}

TEST(CpuDevice, KnowsAllMemoryThatALayerTouches) {
  const auto device = open_cpu_device();
  const auto prepared = device->prepare(Operation::parse("conv2d:n=1,c=16,hw=8,k=16,rs=3,pad=1"), {});
  std::int64_t sum = 0;
  for (const MemoryRegion& region : prepared->memory()) sum += region.size.value();
  const std::int64_t operands = (16 * 64 * 2 + 16 * 16 * 9) * 4;
  // Regions are rounded up to whole lines.
  EXPECT_GE(sum, operands + prepared->workspace().value());
  EXPECT_LT(sum, operands + prepared->workspace().value() + 64 * 7);
  EXPECT_THAT(prepared->algorithm(), Not(IsEmpty()));
}

TEST(CpuDevice, DescribesItself) {
  const auto device = open_cpu_device();
  const DeviceDescription description = device->describe();
  EXPECT_EQ(description.id, "cpu");
  EXPECT_NE(description.name, "");
  EXPECT_GE(description.processors, 1);
  EXPECT_GT(description.memory_total, Bytes(0));
  EXPECT_LE(description.memory_free, description.memory_total);
  EXPECT_THAT(description.data_types, AllOf(Contains(DataType::f64), Contains(DataType::f32)));
  EXPECT_THAT(description.properties, Contains(Field(&Property::key, "clock_source")));
  EXPECT_EQ(list_cpu_device().name, description.name);
  ASSERT_EQ(description.libraries.size(), 2u);
  EXPECT_EQ(description.libraries[0].name, "onednn");
  EXPECT_THAT(description.libraries[0].version, ::testing::MatchesRegex("[23]\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(description.libraries[0].path, HasSubstr("dnnl"));
  EXPECT_EQ(description.libraries[1].name, "torch");
}

// Tests of bf16 do without it where the device says so: it must say so of no processor that has it.
TEST(CpuDevice, MultipliesInBf16WhereverOneDnnUsesAvx512) {
  const DeviceDescription description = open_cpu_device()->describe();
  const auto isa = std::ranges::find(description.properties, "isa", &Property::key);
  ASSERT_NE(isa, description.properties.end());
  const bool multiplies = std::ranges::count(description.data_types, DataType::bf16) > 0;
  const bool has_avx512 = isa->value.starts_with("avx512_core") || isa->value.starts_with("avx10");
  EXPECT_TRUE(multiplies || !has_avx512) << isa->value;
  EXPECT_EQ(std::ranges::count(description.further_types, DataType::bf16), multiplies ? 0 : 1);
  EXPECT_EQ(refusal("batch_norm:n=1,c=4,hw=4,dtype=bf16"), "accepted")
      << "by own loops, where oneDNN has none";
  if (!multiplies) {
    EXPECT_THAT(refusal("linear:n=8,in=8,out=8,dtype=bf16"),
                HasSubstr("cpu has no bf16 for linear; write dtype= with one of f64, f32"));
  }
}

TEST(CpuDevice, ChecksHaveASentenceAndLimitsARemedyOrAReason) {
  const auto device = open_cpu_device();
  const std::vector<Check> checks = device->check();
  EXPECT_THAT(checks, Contains(Field(&Check::subject, "onednn")));
  for (const Check& check : checks) EXPECT_NE(check.sentence, "") << check.subject;
}

TEST(CpuDevice, CannotLockItsClock) {
  const auto device = open_cpu_device();
  EXPECT_THROW(device->lock_clocks("base"), UsageError);
}

TEST(CpuDevice, IdlesAtLeastAsLongAsAsked) {
  const auto device = open_cpu_device();
  const Nanoseconds begin = device->host_time();
  device->idle(milliseconds(2));
  EXPECT_GE(device->host_time() - begin, milliseconds(2));
  EXPECT_NO_THROW(device->idle(Nanoseconds(-5)));
}

}  // namespace
}  // namespace jitterscope
