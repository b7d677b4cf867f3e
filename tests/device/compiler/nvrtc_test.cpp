// Kernels of one's own, compiled by the NVRTC of the toolkit that this was built with. No GPU is needed.
#include "device/compiler/nvrtc.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>  // setenv

#include <filesystem>
#include <fstream>
#include <set>

#include "device/compiler/user_kernel.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

constexpr const char* kSource = R"(
extern "C" __global__ void plain(float* x) { x[0] = 1; }
namespace ns {
template <class T, int N>
__global__ void __launch_bounds__(256) scale(T* x, T a) { x[threadIdx.x] *= a * T(N); }
}
__global__ void overflow(float* x, const float* y) {
  float kept[96];
  for (int i = 0; i < 96; ++i) kept[i] = y[threadIdx.x + 64 * i];
  for (int k = 0; k < 100; ++k) for (int i = 0; i < 96; ++i) kept[i] = kept[i] * kept[(i + 1) % 96] + y[k];
  for (int i = 0; i < 96; ++i) x[threadIdx.x + 64 * i] = sinf(kept[i]) / y[i];
}
)";

class NvrtcTest : public testing::Test {
 protected:
  // The toolkit's, whatever else is installed.
  static void SetUpTestSuite() { ::setenv("JITTERSCOPE_LIBRARY_PATH", JITTERSCOPE_NVRTC_FOLDER, 1); }
  static CompileRequest request(const char* kernel, std::string source = kSource) {
    return {.source = std::move(source), .file = "folder/mine.cu", .kernel = kernel, .architecture = 90};
  }
  static auto compiling(const CompileRequest& asked) {
    return [asked] { compile_kernel(asked); };
  }
};

TEST_F(NvrtcTest, IsListedWithItsVersion) {
  const LibraryInfo library = nvrtc_library();
  EXPECT_EQ(library.problem, "");
  EXPECT_THAT(library.version, testing::MatchesRegex("[0-9]+\\.[0-9]+"));
  EXPECT_THAT(library.path, HasSubstr("nvrtc"));
}

TEST_F(NvrtcTest, AKernelIsFoundByTheNameThatCppGivesIt) {
  EXPECT_EQ(compile_kernel(request("plain")).symbol, "plain");
  const CompiledKernel instance = compile_kernel(request("ns::scale<float, 3>"));
  EXPECT_THAT(instance.symbol, AllOf(StartsWith("_ZN2ns5scale"), HasSubstr("Li3E")));
  EXPECT_THAT(instance.image, StartsWith("\x7f"
                                         "ELF"));
  EXPECT_THAT(instance.image, HasSubstr(instance.symbol));
}

TEST_F(NvrtcTest, ErrorsNameTheFileAndTheLine) {
  EXPECT_THAT(
      compiling(request("f", "__global__ void f(float* x) {\n  x[0] = a;\n  wrong();\n}\n")),
      ThrowsMessage<UsageError>(AllOf(
          HasSubstr(
              "folder/mine.cu does not compile: folder/mine.cu(2): error: identifier \"a\" is undefined"),
          HasSubstr("; folder/mine.cu(3): error: identifier \"wrong\""), Not(HasSubstr("\n")))));
  std::string many = "__global__ void f() {\n";
  for (int i = 0; i < 9; ++i) many += "a" + std::to_string(i) + "();\n";
  EXPECT_THAT(compiling(request("f", many + "}")), ThrowsMessage<UsageError>(HasSubstr("and 4 more errors")));
}

TEST_F(NvrtcTest, AnUnknownKernelIsAnsweredWithThoseThatThereAre) {
  EXPECT_THAT(compiling(request("plane")),
              ThrowsMessage<UsageError>(HasSubstr(
                  "folder/mine.cu has no kernel plane; it has plain, ns::scale, overflow (a template "
                  "needs its arguments, as ns::scale<float>)")));
  EXPECT_THAT(compiling(request("f", "struct None {};")),
              ThrowsMessage<UsageError>(HasSubstr("is __global__")));
}

TEST_F(NvrtcTest, HeadersBesideTheFileAndThoseOfCudaAreFound) {
  const auto folder = std::filesystem::temp_directory_path() / "jitterscope_nvrtc_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "own.cuh") << "__device__ float twice(float x) { return 2 * x; }\n";
  CompileRequest asked = request("f",
                                 "#include \"own.cuh\"\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
                                 "#include <cuda/std/limits>\n#include <cooperative_groups.h>\n"
                                 "__global__ void f(__half* x) { x[0] = __float2half(twice(2.0f)); }\n");
  asked.file = (folder / "mine.cu").string();
  EXPECT_NE(compile_kernel(asked).image, "");
  asked.file = "elsewhere/mine.cu";
  EXPECT_THAT(compiling(asked), ThrowsMessage<UsageError>(HasSubstr("own.cuh")));
  std::filesystem::remove_all(folder);
}

// As of files that nvcc compiles, with the host's part in them.
TEST_F(NvrtcTest, HeadersOfTheHostsLibraryAndItsFunctionsAreTaken) {
  const CompiledKernel compiled = compile_kernel(request(
      "f<float>",
      "#include <stddef.h>\n#include <stdint.h>\n#include <cstdint>\n#include <stdio.h>\n#include <cstdlib>\n"
      "#include <cuda_fp16.h>\n#include <cuda/std/cstdint>\n"
      "struct Pair { double a, b; };\n"
      "template <class T> __global__ void f(T* y, size_t n, uint32_t a, T b, __half h, Pair p, int8_t c) {\n"
      "  if (n > 0) { y[0] = b; printf(\"%d\", (int)a); }\n}\n"
      "int main() { printf(\"host\"); return 0; }\n"));
  EXPECT_THAT(compiled.parameter_sizes, testing::ElementsAre(8, 8, 4, 4, 2, 16, 1));
  EXPECT_THAT(compile_kernel(request("f", "__global__ void f() {}")).parameter_sizes, testing::IsEmpty());
}

TEST_F(NvrtcTest, ArgumentsAreHeldAgainstTheKernelsParameters) {
  const auto checking = [](const std::string& launch) {
    return [launch] {
      const auto kernel =
          std::get<CudaKernel>(Operation::parse("cuda:folder/mine.cu:" + launch).parameters());
      const CompileRequest asked = request(kernel.kernel.c_str());
      check_arguments(kernel, asked, compile_kernel(asked));
    };
  };
  checking("ns::scale<double, 3>,grid=1,block=1,x=inout:f64[8],a=f64:2.5")();
  EXPECT_THAT(checking("ns::scale<double, 3>,grid=1,block=1,x=inout:f64[8],a=2.5"),
              ThrowsMessage<UsageError>(HasSubstr("parameter 2 takes 8 bytes, and a has 4")));
  EXPECT_THAT(checking("plain,grid=1,block=1"),
              ThrowsMessage<UsageError>(HasSubstr("1 parameters, and 0 arguments")));
  EXPECT_THAT(checking("plain,grid=1,block=1,x=i64:5"),
              ThrowsMessage<UsageError>(HasSubstr("parameter 1, float* x, is a pointer, and x is a number")));
}

TEST_F(NvrtcTest, OptionsReachTheCompiler) {
  const CompileRequest asked = request("overflow");
  CompileRequest few = asked, fast = asked;
  few.registers = 32;
  fast.fast_math = true;
  const std::string usual = compile_kernel(asked).image;
  EXPECT_NE(compile_kernel(few).image, usual);
  EXPECT_NE(compile_kernel(fast).image, usual);
  EXPECT_EQ(compile_kernel(asked).image, usual);
  EXPECT_TRUE(asked < few || few < asked);
}

TEST_F(NvrtcTest, EachLevelOfOptimizationButTheSecondHasCodeOfItsOwn) {
  CompileRequest asked = request("overflow");
  std::set<std::size_t> sizes;
  for (const std::int64_t level : {0, 1, 3}) {
    asked.optimize = level;
    sizes.insert(compile_kernel(asked).image.size());
  }
  EXPECT_THAT(sizes, SizeIs(3));
  CompileRequest other = asked;
  other.optimize = 1;
  EXPECT_TRUE(asked < other || other < asked);
}

// What the compiler may give a thread, so that 4 blocks of 256 threads fit, are 64 registers.
TEST_F(NvrtcTest, LaunchBoundsTakeThePlaceOfThoseInTheSource) {
  CompileRequest asked = request("overflow");
  EXPECT_THAT(compile_kernel(asked).spills, StartsWith("0 bytes spill stores"));
  asked.bound_threads = 256;
  asked.min_blocks = 4;
  EXPECT_THAT(compile_kernel(asked).spills, ContainsRegex("^[1-9][0-9]+ bytes spill stores, [1-9]"));
  EXPECT_TRUE(asked < request("overflow") || request("overflow") < asked);
  asked = request("ns::scale<float, 3>");
  asked.older_architecture = 80;
  EXPECT_THAT(compile_kernel(asked).image, AllOf(HasSubstr(".maxntid 256"), Not(HasSubstr(".minnctapersm"))));
  asked.bound_threads = 128;
  asked.min_blocks = 2;
  EXPECT_THAT(compile_kernel(asked).image,
              AllOf(HasSubstr(".maxntid 128"), HasSubstr(".minnctapersm 2"), Not(HasSubstr(".maxntid 256"))));
  asked = request("f", "#include <cooperative_groups.h>\n__global__ void f(float* x) {\n  x[0] = a;\n}\n");
  asked.bound_threads = asked.min_blocks = 1;
  EXPECT_THAT(compiling(asked), ThrowsMessage<UsageError>(HasSubstr("folder/mine.cu(3): error")));
}

TEST_F(NvrtcTest, CodeForAnOlderGpuIsPtx) {
  CompileRequest asked = request("overflow");
  asked.older_architecture = 80;
  const CompiledKernel older = compile_kernel(asked);
  EXPECT_THAT(older.image, AllOf(HasSubstr(".target sm_80"), HasSubstr(".entry " + older.symbol)));
  EXPECT_EQ(older.spills, "") << "the driver's compiler knows";
  EXPECT_TRUE(asked < request("overflow") || request("overflow") < asked);
  asked.older_architecture = 34;
  EXPECT_THAT(compiling(asked),
              ThrowsMessage<UsageError>(AllOf(HasSubstr("does not compile for architecture=34; take one of"),
                                              HasSubstr(", 80, "), HasSubstr("another libnvrtc"))));
}

TEST_F(NvrtcTest, AGpuThatTheCompilerDoesNotKnowGetsPtxOfTheNewestBefore) {
  CompileRequest asked = request("plain");
  asked.architecture = 999;
  EXPECT_THAT(compile_kernel(asked).image, HasSubstr(".entry plain"));
  asked.architecture = 10;
  EXPECT_THAT(compiling(asked), ThrowsMessage<MissingError>(HasSubstr("compute capability 1.0")));
}

TEST_F(NvrtcTest, WhatTheProgramCarriesAreTheExamples) {
  for (const std::string name : {"saxpy", "bodies"}) {
    EXPECT_EQ(kernel_source("@" + name), kernel_source(JITTERSCOPE_EXAMPLES "/kernels/" + name + ".cu"));
  }
}

TEST_F(NvrtcTest, WhatTheProgramCarriesCompiles) {
  for (const auto& [file, kernel] :
       std::vector<std::pair<const char*, const char*>>{{"@saxpy", "saxpy"},
                                                        {"@saxpy", "saxpy_reference"},
                                                        {"@bodies", "bodies<float>"},
                                                        {"@bodies", "bodies<double>"}}) {
    CompileRequest asked = request(kernel, kernel_source(file));
    asked.file = file;
    EXPECT_NE(compile_kernel(asked).image, "") << kernel;
  }
}

}  // namespace
}  // namespace jitterscope
