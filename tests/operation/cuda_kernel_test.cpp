// The text of kernels of one's own, and what they read and write.
#include <gmock/gmock.h>

#include "base/random.hpp"
#include "jitterscope/operation.hpp"
#include "operation/usage_message.hpp"

namespace jitterscope {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::usage_message;
using Argument = KernelArgument;

constexpr const char* kSaxpy = "cuda:k.cu:saxpy,grid=4096,block=256,x=f32[1Mi],y=out:f32[1Mi],n=1Mi,a=2.5";

std::string printed(std::string_view text) { return Operation::parse(text).text(); }
std::string refusal(const std::string& text) {
  return usage_message([&] { Operation::parse(text); });
}
// Of a launch with these arguments.
std::string refusal_with(const std::string& arguments) {
  return refusal("cuda:k.cu:f,grid=1,block=1," + arguments);
}
CudaKernel kernel_of(std::string_view text) {
  return std::get<CudaKernel>(Operation::parse(text).parameters());
}

class RandomKernel {
 public:
  explicit RandomKernel(std::uint64_t seed) : random_(seed) {}

  CudaKernel next() {
    CudaKernel kernel;
    kernel.file = pick({"k.cu", "../my kernels/größe.cu", "@saxpy", "a=b"});
    kernel.kernel = pick({"f", "ns::scale<float, 4>", "g<h<int>,(2)>"});
    for (std::size_t i = 0; i < 3; ++i) kernel.grid[i] = flag() ? 1 : number(60000);
    kernel.block = {number(32), flag() ? 1 : number(4), flag() ? 1 : number(8)};
    if (flag()) kernel.shared = number(100'000);
    if (flag()) kernel.registers = number(255);
    kernel.fast_math = flag();
    if (flag()) kernel.optimize = number(4) - 1;
    if (kernel.registers == 0 && flag()) kernel.min_blocks = number(32);
    if (flag()) kernel.architecture = 19 + number(101);
    if (flag()) kernel.reference = pick({"f_reference", "ns::scale<double, 4>"});
    for (std::uint64_t i = random_.below(6); i > 0; --i) kernel.arguments.push_back(argument(i));
    return kernel;
  }

 private:
  const char* pick(std::initializer_list<const char*> values) {
    return *std::next(values.begin(), static_cast<std::ptrdiff_t>(random_.below(values.size())));
  }
  bool flag() { return random_.below(2) == 1; }
  std::int64_t number(std::int64_t largest) {
    return 1 + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(largest)));
  }
  Argument argument(std::uint64_t index) {
    Argument argument;
    argument.name = "a" + std::to_string(index);
    argument.kind = static_cast<Argument::Kind>(random_.below(4));
    constexpr DataType kTypes[] = {DataType::f64,  DataType::f32, DataType::f16,
                                   DataType::bf16, DataType::i64, DataType::i32};
    argument.dtype = kTypes[random_.below(std::size(kTypes))];
    argument.count = number(1 << 20);
    using enum Argument::NumberType;
    argument.number_type = static_cast<Argument::NumberType>(random_.below(12));
    const bool is_short = argument.number_type <= u16;
    const bool is_signed = argument.number_type == i8 || argument.number_type == i16 ||
                           argument.number_type == i32 || argument.number_type == i64;
    argument.integer = number(is_short ? 127 : 1'000'000) * (flag() && is_signed ? -1 : 1);
    argument.real = flag() ? static_cast<double>(number(50'000)) : random_.normal() * 1e-6;
    return argument;
  }

  Random random_;
};

TEST(CudaKernelText, ParsingGivesBackEveryRandomKernel) {
  RandomKernel random(13);
  for (int i = 0; i < 5000; ++i) {
    const Operation operation(random.next());
    const Operation again = Operation::parse(operation.text());
    ASSERT_EQ(again, operation) << operation.text();
    ASSERT_EQ(again.text(), operation.text());
  }
}

TEST(CudaKernelText, ArgumentsKeepTheirOrderAndWordsOfTheLaunchStandFirst) {
  EXPECT_EQ(printed(" cuda: k.cu : saxpy , x = f32[1Mi], grid=4Ki,block=256, y=out: f32[ 1Mi ],n=1Mi,a=2.5"),
            "cuda:k.cu:saxpy,grid=4096,block=256,x=f32[1048576],y=out:f32[1048576],n=1048576,a=2.5");
  EXPECT_EQ(printed("cuda:k.cu:f,a=1,block=32x8x1,b=-2,grid=1x2x3,fast_math=true,registers=64,shared=48KiB"),
            "cuda:k.cu:f,grid=1x2x3,block=32x8,shared=49152,registers=64,fast_math=1,a=1,b=-2");
  EXPECT_EQ(printed("cuda:k.cu:f,grid=1,block=1,architecture=80,a=1,min_blocks=4,optimize=0,reference=g"),
            "cuda:k.cu:f,grid=1,block=1,optimize=0,min_blocks=4,architecture=80,reference=g,a=1");
  EXPECT_EQ(printed("cuda:k.cu:f,grid=1,block=1,shared=0,registers=0,fast_math=0,optimize=3,min_blocks=0,"
                    "architecture=0,reference=none"),
            "cuda:k.cu:f,grid=1,block=1");
}

TEST(CudaKernelText, ANumberHasTheTypeThatItLooksLikeOrNames) {
  const CudaKernel kernel = kernel_of(
      "cuda:k.cu:f,grid=1,block=1,a=1k,b=2.5,c=1e-3,d=1e3,e=i64:5Gi,f=u32:4294967295,g=f64:2,h=f16:0.5,i=i32:-1,"
      "j=f32:3,k=-0.5,l=u64:1Mi,m=i8:-128,n=u8:255,o=i16:-32768,p=u16:65535,q=bf16:0.25,r=u64:9223372036854775807");
  using enum Argument::NumberType;
  const std::vector<std::pair<Argument::NumberType, double>> expected = {
      {i32, 1000},         {f32, 2.5},     {f32, 1e-3},  {i32, 1000}, {i64, 5.0 * (1 << 30)},
      {u32, 4294967295.0}, {f64, 2},       {f16, 0.5},   {i32, -1},   {f32, 3},
      {f32, -0.5},         {u64, 1 << 20}, {i8, -128},   {u8, 255},   {i16, -32768},
      {u16, 65535},        {bf16, 0.25},   {u64, 0x1p63}};
  ASSERT_EQ(kernel.arguments.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Argument& argument = kernel.arguments[i];
    EXPECT_EQ(argument.number_type, expected[i].first) << argument.name;
    EXPECT_EQ(argument.real + static_cast<double>(argument.integer), expected[i].second) << argument.name;
  }
  EXPECT_EQ(printed("cuda:k.cu:f,grid=1,block=1,j=f32:3,k=i32:3"), "cuda:k.cu:f,grid=1,block=1,j=3.0,k=3");
  EXPECT_EQ(printed("cuda:k.cu:f,grid=1,block=1,n=u64:1Mi,h=bf16:1"),
            "cuda:k.cu:f,grid=1,block=1,n=u64:1048576,h=bf16:1.0");
}

TEST(CudaKernelText, SizesFollowFromIntegerArgumentsRoundedUp) {
  const CudaKernel kernel =
      kernel_of("cuda:k.cu:f,grid=n/blockxnx/16x2,block=32x8,n=1000,nx=i64:100,x=f32[n*4],y=out:f32[nx*n/3]");
  EXPECT_THAT(kernel.grid, ElementsAre(4, 7, 2));
  EXPECT_EQ(kernel.arguments[2].count, 4000);
  EXPECT_EQ(kernel.arguments[3].count, 33334);
  // Also of what stands behind them, of every integer type, and in the block.
  const CudaKernel later =
      kernel_of("cuda:k.cu:f,x=f32[n*w],grid=n/block,block=wx2,n=u64:1000,w=u8:64,y=f32[n/block]");
  EXPECT_THAT(later.block, ElementsAre(64, 2, 1));
  EXPECT_THAT(later.grid, ElementsAre(8, 1, 1));
  EXPECT_EQ(later.arguments[0].count, 64000);
  EXPECT_EQ(later.arguments[3].count, 8);
  EXPECT_THAT(refusal_with("x=f32[m]"), AllOf(HasSubstr("x: 'm' is not a size"), HasSubstr("n/block")));
  EXPECT_THAT(refusal_with("m=2.5,x=f32[4*m]"), AllOf(HasSubstr("is not a size"), HasSubstr("; m is 2.5")));
  EXPECT_THAT(refusal_with("m=-3,x=f32[m]"), HasSubstr("; m is -3"));
  EXPECT_THAT(refusal_with("m=f32[4],x=f32[m]"), HasSubstr("; m is a buffer"));
  EXPECT_THAT(refusal_with("m=0,x=f32[1/m]"), HasSubstr("is not a size"));
  EXPECT_THAT(refusal_with("x=f32[1Ti*1Ti*1Ti]"), HasSubstr("is not a size"));
}

TEST(CudaKernelText, BracketsHoldCommas) {
  const CudaKernel kernel =
      kernel_of("cuda:k.cu:scale<float,4>,grid=1,block=1,reference=scale<double,4>,x=f32[4]");
  EXPECT_EQ(kernel.kernel, "scale<float,4>");
  EXPECT_EQ(kernel.reference, "scale<double,4>");
  EXPECT_EQ(kernel.arguments.size(), 1u);
  EXPECT_EQ(kernel_of("cuda:k.cu:ns::f,grid=1,block=1").kernel, "ns::f");
}

TEST(CudaKernelText, SweepsGoOverAllWords) {
  const auto texts = [](std::string_view text) {
    std::vector<std::string> result;
    for (const Operation& operation : parse_sweep(text)) result.push_back(operation.text());
    return result;
  };
  EXPECT_THAT(texts("cuda:../k.cu:f<int,2>,block=128,256,grid=n/block,n=1Ki..2Ki*2,x=f32[n]"),
              ElementsAre("cuda:../k.cu:f<int,2>,grid=8,block=128,n=1024,x=f32[1024]",
                          "cuda:../k.cu:f<int,2>,grid=16,block=128,n=2048,x=f32[2048]",
                          "cuda:../k.cu:f<int,2>,grid=4,block=256,n=1024,x=f32[1024]",
                          "cuda:../k.cu:f<int,2>,grid=8,block=256,n=2048,x=f32[2048]"));
  EXPECT_THAT(texts("cuda:k.cu:f,grid=1,block=1,x=f32[4],f16[4]").size(), 2u);
  EXPECT_THAT(usage_message([&] { texts("cuda:k.cu:f,grid=1,block=128,2048"); }),
              AllOf(HasSubstr("block=2048"), HasSubstr("cuda:k.cu:f,grid=1,block=2048")));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=128,256"), HasSubstr("is a list"));
}

TEST(CudaKernelText, OperandsAreTheBuffersInputsFirst) {
  const Operation operation =
      Operation::parse("cuda:k.cu:f,grid=1,block=1,y=out:f16[8],n=8,h=inout:i32[4],x=f64[16],i=i64[16]");
  const std::vector<Operand> operands = operation.operands();
  ASSERT_EQ(operands.size(), 4u);
  EXPECT_EQ(operands[0].name, "h");
  EXPECT_EQ(operands[0].role, OperandRole::input);
  EXPECT_EQ(operands[0].index_limit, 4);  // so that indices fit the smallest buffer
  EXPECT_EQ(operands[1].name, "x");
  EXPECT_EQ(operands[2].index_limit, 4);
  EXPECT_EQ(operands[3].name, "y");
  EXPECT_EQ(operands[3].role, OperandRole::output);
  EXPECT_EQ(operands[3].bytes(), Bytes(16));
  EXPECT_EQ(operation.bytes(), Bytes(2 * 16 + 128 + 128 + 16));
  EXPECT_EQ(operation.flops(), 0.0);
  EXPECT_EQ(operation.kind(), "cuda");
  EXPECT_EQ(operation.with_dtype(DataType::f16), operation);
}

TEST(CudaKernelText, FieldsOfOtherKindsDoNotTellKernelsApart) {
  CudaKernel kernel = kernel_of(kSaxpy), other = kernel;
  other.arguments[0].integer = 3;
  other.arguments[2].count = 3;
  other.arguments[2].real = 3;
  EXPECT_NE(kernel, other);
  EXPECT_EQ(Operation(kernel), Operation(other));
}

TEST(CudaKernelText, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(refusal("cuda"), HasSubstr("FILE.cu:KERNEL"));
  EXPECT_THAT(refusal("cuda:k.cu,grid=1,block=1"),
              AllOf(HasSubstr("'k.cu' names no kernel"), HasSubstr("comma")));
  EXPECT_THAT(refusal("cuda:a,b.cu:f,grid=1,block=1"), HasSubstr("'a' names no kernel"));
  EXPECT_THAT(refusal("cuda:k.cu:f"), HasSubstr("grid is missing"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1"), HasSubstr("block is missing"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1x1x1x1,block=1"), HasSubstr("three sizes"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=0"), HasSubstr("block=0 is impossible"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=64x32"),
              AllOf(HasSubstr("64x32x1"), HasSubstr("1024 threads")));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1x70000,block=1"), HasSubstr("grid=70000"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=1,registers=256"), HasSubstr("registers=256"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=1,shared=2Mi"), HasSubstr("shared=2097152"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=1,shared=x"), HasSubstr("shared: 'x'"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=1,fast_math=2"), HasSubstr("fast_math: '2'"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=1,optimize=4"), HasSubstr("optimize=4 is impossible"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=1,min_blocks=33"), HasSubstr("min_blocks=33 is impossible"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=1,architecture=8.0"),
              HasSubstr("write 80 for compute capability 8.0"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=1,architecture=-1"), HasSubstr("architecture"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=1,block=1,registers=64,min_blocks=2"),
              AllOf(HasSubstr("registers and min_blocks"), HasSubstr("leave one out")));
  EXPECT_THAT(refusal_with("x=f33[4]"),
              AllOf(HasSubstr("x: 'f33[4]' is not a buffer"), HasSubstr("inout:f32[COUNT]")));
  EXPECT_THAT(refusal_with("x=tf32[4]"), HasSubstr("is not a buffer"));
  EXPECT_THAT(refusal_with("x=f32[4"), HasSubstr("is not a buffer"));
  EXPECT_THAT(refusal_with("x=f32[0]"), HasSubstr("x=0 is impossible"));
  EXPECT_THAT(refusal_with("x=in:f32[4]"), HasSubstr("is not a buffer"));
  EXPECT_THAT(refusal_with("n=many"), AllOf(HasSubstr("n: 'many' is not an argument"), HasSubstr("i64:5")));
  EXPECT_THAT(refusal_with("n=i32:2.5"), HasSubstr("is not an argument"));
  EXPECT_THAT(refusal_with("n=inf"), HasSubstr("is not an argument"));
  EXPECT_THAT(refusal_with("n=5Gi"), AllOf(HasSubstr("does not fit into an int"), HasSubstr("i64:5Gi")));
  EXPECT_THAT(refusal_with("n=u32:-1"),
              HasSubstr("n: -1 does not fit into u32, which holds 0 to 4294967295 here; write n=i64:"));
  EXPECT_THAT(refusal_with("n=i8:128"), HasSubstr("into i8, which holds -128 to 127"));
  EXPECT_THAT(refusal_with("n=u16:64Ki"), HasSubstr("into u16, which holds 0 to 65535"));
  EXPECT_THAT(refusal_with("n=u64:-1"), HasSubstr("into u64, which holds 0 to 9223372036854775807"));
  EXPECT_THAT(refusal_with("n=bf16:1e39"), AllOf(HasSubstr("does not fit into bf16"), HasSubstr("n=f64:")));
  EXPECT_THAT(refusal_with("n=f16:70000"), AllOf(HasSubstr("does not fit"), HasSubstr("n=f64:")));
  EXPECT_THAT(refusal_with("n="), HasSubstr("n has no value"));
  EXPECT_THAT(refusal_with("n=1,n=2"), HasSubstr("n is given twice"));
  EXPECT_THAT(refusal_with("2n=1"), HasSubstr("'2n' is not an argument's name"));
  EXPECT_THAT(refusal_with(
                  "x=f64[1Ti],y=f64[1Ti],z=f64[1Ti],u=f64[1Ti],v=f64[1Ti],w=f64[1Ti],q=f64[1Ti],r=f64[1Ti],s="
                  "f64[1Ti]"),
              HasSubstr("64 TiB"));
}

TEST(CudaKernelText, WhatASizeIsMadeOfIsBlamedAndNotTheSize) {
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=n/block,block=2048,n=1Mi"),
              HasSubstr("block=2048 is impossible: block must be from 1 to 1024"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=n/block,block=64x32,n=1Mi"),
              AllOf(HasSubstr("block=64x32x1"), HasSubstr("1024 threads")));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=n/block,block=0,n=1Mi"), HasSubstr("block=0 is impossible"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=n/block,block=many,n=1Mi"), HasSubstr("block: 'many' is not up to"));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=n/block,block=64,n=2.5"),
              AllOf(HasSubstr("grid: 'n/block'"), HasSubstr("; n is 2.5")));
  EXPECT_THAT(refusal("cuda:k.cu:f,grid=n/block,block=64,n=size_t:5"),
              AllOf(HasSubstr("n: 'size_t:5' has no type that is known"),
                    HasSubstr("i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64")));
}

TEST(CudaKernelText, NamesThatWouldNotReadBackAreRefused) {
  CudaKernel kernel = kernel_of(kSaxpy);
  for (const char* file : {"", "a,b.cu", "a:b.cu", " a.cu", "a\n.cu", "a\xff.cu", "a<b.cu", "\xed\xa0\x80"}) {
    kernel.file = file;
    EXPECT_THAT(usage_message([&] { Operation{kernel}; }), HasSubstr("file")) << file;
  }
  kernel = kernel_of(kSaxpy);
  for (const char* name : {"", "f,g", "f<", "f>", "f<a)>", "f g", "2f", "f(1)", "f\n"}) {
    kernel.kernel = name;
    EXPECT_THAT(usage_message([&] { Operation{kernel}; }), HasSubstr("not a kernel's name")) << name;
  }
  kernel = kernel_of(kSaxpy);
  kernel.arguments[0].name = "grid";
  EXPECT_THAT(usage_message([&] { Operation{kernel}; }), HasSubstr("a word of the launch"));
}

}  // namespace
}  // namespace jitterscope
