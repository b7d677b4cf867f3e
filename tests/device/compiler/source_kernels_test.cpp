// What a CUDA source's text says of its kernels, and whether arguments fit, where no compiler is there.
#include "device/compiler/user_kernel.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "base/files.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

std::vector<std::string> names_in(const std::string& source) {
  std::vector<std::string> names;
  for (const SourceKernel& kernel : kernels_in(source, "mine.cu").kernels) names.push_back(kernel.name);
  return names;
}

// A letter for each parameter: * of a pointer, 0 of a number, ? where only a compiler knows.
std::string kinds_of(const std::string& source, const std::string& name = "f") {
  std::string kinds;
  for (const SourceKernel& kernel : find_kernels(kernels_in(source, "mine.cu"), name)) {
    for (const KernelParameter& parameter : kernel.parameters) {
      using enum KernelParameter::Kind;
      kinds += parameter.kind == pointer ? '*' : parameter.kind == number ? '0' : '?';
    }
    kinds += ';';
  }
  return kinds;
}

TEST(SourceKernels, AreFoundWhereverTheyAreDeclared) {
  EXPECT_THAT(names_in(R"(
extern "C" __global__ void plain(float* x) { if (x) { x[0] = 1; } }
extern "C" { static __global__ void within(int n) {} }
void __global__ __launch_bounds__(256, 4) bounded(float* x) {}
__global__ void __attribute__((launch_bounds(32))) other(int) noexcept;
namespace app { inline namespace v1 { namespace { template <class T, int N = (1 + 2)> __global__ void inc(T* y) {} } } }
namespace a::b { __global__ void deep() {} }
template <> __global__ void app::inc<float>(float* y) {}
__global__ BOUNDS(64) void last(int a, int b) {}
)"),
              ElementsAre("plain", "within", "bounded", "other", "app::inc", "a::b::deep", "last"));
}

TEST(SourceKernels, InCommentsTextsAndDirectivesAreNone) {
  EXPECT_THAT(
      names_in(
          "// __global__ void a() {}\n/* __global__ void b() {} */ const char* t = \"__global__ void c() {}\";\n"
          "const char* r = R\"x(__global__ void d() {} )\" )x\"; char q = '\"'; int n = 1'000;\n"
          "// a line that goes on \\\n__global__ void e(int \\\n n) {}\n"),
      IsEmpty())
      << "a comment of one line goes on behind a backslash";
  const SourceKernels macros =
      kernels_in("#define KERNEL(name) __global__ void \\\n name() {}\nKERNEL(a)\n", "mine.cu");
  EXPECT_THAT(macros.kernels, IsEmpty());
  EXPECT_FALSE(macros.is_complete);
  EXPECT_TRUE(
      kernels_in("#define N 3\n#include <stddef.h>\n__global__ void a() {}\n", "mine.cu").is_complete);
}

TEST(SourceKernels, ParametersArePointersNumbersOrUnknown) {
  EXPECT_EQ(
      kinds_of(
          "__global__ void f(const float* __restrict__ x, float *const *y, int z[], unsigned long n, size_t, "
          "const __half h) {}"),
      "***000;");
  EXPECT_EQ(
      kinds_of(
          "template <class T> __global__ void f(T* x, T a, const Pair<int, float*> p, float (&r)[3], void (*g)(int)) {}"),
      "*????;");
  EXPECT_EQ(kinds_of("__global__ void f(void);"), ";");
  EXPECT_EQ(kinds_of("__global__ void f(int n = sizeof(float*)) {}"), "0;");
  EXPECT_EQ(
      kinds_of(
          "__global__ void f(int* x);\n__global__ void f(int* y) {}\n__global__ void f(int* x, int n) {}"),
      "*;*0;");
  EXPECT_TRUE(find_kernels(kernels_in("template <class... T> __global__ void f(int n, T... all) {}", "f.cu"),
                           "f<int>")
                  .at(0)
                  .has_pack);
}

TEST(SourceKernels, NamesMayGoWithoutANamespaceThatIsUsed) {
  const std::string source = "namespace app { __global__ void inc(int* y) {} }\n";
  EXPECT_EQ(kinds_of(source, "app::inc"), "*;");
  EXPECT_EQ(kinds_of(source, "::app::inc"), "*;");
  EXPECT_EQ(kinds_of(source, "inc"), "");
  EXPECT_EQ(kinds_of(source + "using namespace app;\n", "inc"), "*;");
}

TEST(SourceKernels, HeadersBesideTheFileAreReadOnce) {
  const TemporaryFolder folder;
  std::ofstream(std::filesystem::path(folder.path()) / "ops.cuh")
      << "#include \"ops.cuh\"\n#include \"none.cuh\"\n__global__ void inside(int n) {}\n";
  const SourceKernels all = kernels_in("#include \"ops.cuh\"\n__global__ void f() {}\n",
                                       (std::filesystem::path(folder.path()) / "mine.cu").string());
  ASSERT_EQ(all.kernels.size(), 2u);
  EXPECT_EQ(all.kernels[0].name, "inside");
  EXPECT_TRUE(all.is_complete);
}

TEST(SourceKernels, OfWhatTheProgramCarriesAreAllFound) {
  EXPECT_EQ(kinds_of(kernel_source("@saxpy"), "saxpy"), "00**;");
  for (const auto& [file, kernel] :
       std::vector<std::pair<const char*, const char*>>{{"@saxpy", "saxpy_reference"},
                                                        {"@bodies", "bodies<float>"},
                                                        {"@access", "coalesced<float>"},
                                                        {"@tiling", "tiled<16>"},
                                                        {"@waves", "waves"}}) {
    EXPECT_THAT(find_kernels(kernels_in(kernel_source(file), file), kernel), Not(IsEmpty())) << kernel;
  }
}

class CheckSourceTest : public testing::Test {
 protected:
  // Of a source, as a device does that has no compiler.
  static auto checking(const std::string& source, const std::string& launch) {
    return [=] {
      const auto kernel = std::get<CudaKernel>(
          Operation::parse("cuda:mine.cu:" + launch + ",grid=64,block=256").parameters());
      check_source(kernel,
                   {.source = source, .file = "mine.cu", .kernel = kernel.kernel, .architecture = 90});
    };
  }
};

constexpr const char* kTwo =
    "__global__ void k(float* y, int n) {}\ntemplate <class T> __global__ void scale(T* y, T a) {}\n";

TEST_F(CheckSourceTest, WhatTheSourceHasIsTaken) {
  checking(kTwo, "k,y=inout:f32[4096],n=4096")();
  checking(kTwo, "scale<float>,reference=k,y=inout:f32[4096],n=4096")();
  checking("#define KERNEL extern \"C\" __global__\nKERNEL void hidden(int n) {}\n", "hidden,n=1")();
}

TEST_F(CheckSourceTest, AKernelThatIsNotThereIsAnsweredWithThoseThatAre) {
  EXPECT_THAT(checking(kTwo, "nokernel,y=inout:f32[4096],n=4096"),
              ThrowsMessage<UsageError>(HasSubstr("mine.cu has no kernel nokernel; it has k, scale")));
  EXPECT_THAT(checking(kTwo, "k,reference=nokernel,y=inout:f32[4096],n=4096"),
              ThrowsMessage<UsageError>(HasSubstr("mine.cu has no kernel nokernel")));
  EXPECT_THAT(checking("this is a letter, and no source", "k,n=4096"),
              ThrowsMessage<UsageError>(HasSubstr("mine.cu has no kernel: no function in it is __global__")));
  EXPECT_THAT(checking(kTwo, "scale,y=inout:f32[4096],n=4096"),
              ThrowsMessage<UsageError>(HasSubstr("write its arguments, as scale<float>")));
  EXPECT_THAT(checking(kTwo, "k<float>,y=inout:f32[4096],n=4096"),
              ThrowsMessage<UsageError>(HasSubstr("leave them out")));
}

TEST_F(CheckSourceTest, ArgumentsThatDoNotFitAreRefused) {
  EXPECT_THAT(checking(kTwo, "k,y=inout:f32[4096]"),
              ThrowsMessage<UsageError>(HasSubstr("it has 2 parameters, and 1 arguments are given")));
  EXPECT_THAT(checking(kTwo, "scale<float>,y=inout:f32[8],a=2.5,n=1"),
              ThrowsMessage<UsageError>(HasSubstr("it has 2 parameters, and 3 arguments are given")));
  EXPECT_THAT(checking(kTwo, "k,y=1,n=4096"),
              ThrowsMessage<UsageError>(HasSubstr("parameter 1, float* y, is a pointer, and y is a number")));
  EXPECT_THAT(checking(kTwo, "k,y=inout:f32[4096],n=f32[1]"),
              ThrowsMessage<UsageError>(HasSubstr("parameter 2, int n, is a number, and n is a buffer")));
}

}  // namespace
}  // namespace jitterscope
