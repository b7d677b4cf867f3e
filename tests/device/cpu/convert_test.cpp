// Conversions of layouts and types on the CPU, element by element.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "device/cpu/brute_force_layers.hpp"
#include "device/cpu/cpu_device.hpp"
#include "jitterscope/error.hpp"
#include "measure/verify.hpp"

namespace jitterscope {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Device& converting_device() {
  static const std::unique_ptr<Device> device = open_cpu_device();
  return *device;
}

double relative_rounding(const std::string& type) {
  if (type == "bf16") return 0x1p-8;
  return type == "f16" ? 0x1p-11 : type == "f32" ? 0x1p-24 : 0.0;
}

void expect_converted(const std::string& text, const std::string& type, const std::string& to_type) {
  const Operation operation = Operation::parse(fmt::format("{},dtype={},to_dtype={}", text, type, to_type));
  const auto prepared = converting_device().prepare(operation, {});
  prepared->run(nullptr);
  const std::vector<double> x = prepared->read_operand(0), y = prepared->read_operand(1);
  const std::vector<double> expected =
      testing::brute_force(std::get<Convert>(operation.parameters()), {x}).front();
  for (std::size_t i = 0; i < y.size(); ++i) {
    // The smallest numbers of f16 are 2^-24 apart.
    const double error =
        std::abs(expected[i]) * relative_rounding(to_type) + (to_type == "f16" ? 0x1p-25 : 0);
    ASSERT_NEAR(y[i], expected[i], error) << operation.text() << " at " << i;
  }
}

// One pixel, one channel, one image; tiles that are whole, and that are not; many enough for several threads.
TEST(CpuConvert, MovesEachElementToItsPlace) {
  for (const char* shape : {"n=1,c=1,hw=1", "n=1,c=3,hw=7", "n=2,c=3,h=5,w=9", "n=1,c=64,hw=1",
                            "n=3,c=1,hw=8", "n=2,c=64,hw=8", "n=1,c=33,h=31,w=2", "n=2,c=70,hw=37"}) {
    for (const char* order : {"from=nchw,to=nhwc", "from=nhwc,to=nchw"}) {
      for (const char* type : {"f64", "f32", "f16", "bf16"}) {
        for (const char* to_type : {"f64", "f32", "f16", "bf16"}) {
          expect_converted(fmt::format("convert:{},{}", shape, order), type, to_type);
        }
      }
    }
  }
}

TEST(CpuConvert, ChangesTheTypeAlone) {
  for (const char* type : {"f64", "f32", "f16", "bf16"}) {
    for (const char* to_type : {"f64", "f32", "f16", "bf16"}) {
      if (std::string_view(type) == to_type) continue;
      for (const char* count : {"1", "7", "100003"}) {
        expect_converted(std::string("convert:count=") + count, type, to_type);
      }
    }
  }
}

TEST(CpuConvert, IsVerified) {
  const auto queue = converting_device().make_queue();
  for (const char* text : {"convert:n=2,c=3,hw=7,to=nhwc,dtype=f16", "convert:count=1000,to_dtype=bf16",
                           "convert:n=2,c=3,hw=7,from=nhwc,to=nchw,dtype=f64,to_dtype=f32"}) {
    const auto prepared = converting_device().prepare(Operation::parse(text), {});
    const Verification verification = verify(*queue, *prepared);
    EXPECT_TRUE(verification.passed) << text << ": " << verification.relative_error;
    EXPECT_EQ(verification.checked, verification.total) << text;
  }
}

TEST(CpuConvert, NeedsBothTypes) {
  EXPECT_THAT(
      [] { converting_device().prepare(Operation::parse("convert:count=8,dtype=tf32,to_dtype=f16"), {}); },
      ThrowsMessage<UsageError>(HasSubstr("cpu has no tf32 for convert; write dtype= with one of")));
  EXPECT_THAT(
      [] { converting_device().prepare(Operation::parse("convert:count=8,dtype=f16,to_dtype=tf32"), {}); },
      ThrowsMessage<UsageError>(HasSubstr("write to_dtype= with one of")));
}

}  // namespace
}  // namespace jitterscope
