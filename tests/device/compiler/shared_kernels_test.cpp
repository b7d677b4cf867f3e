// Compiled kernels that one process leaves for another.
#include "device/compiler/nvrtc.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/files.hpp"

namespace jitterscope {
namespace {

CompileRequest request_of(const std::string& source, const std::string& kernel = "scale") {
  return {.source = source, .file = "mine.cu", .kernel = kernel, .architecture = 90};
}

TEST(SharedKernels, AreThoseOfTheSameRequestAlone) {
  const TemporaryFolder folder;
  const CompiledKernel kernel{std::string("\x7f"
                                          "ELF\0\nend",
                                          9),
                              "_Z5scale",
                              "8 bytes spill stores, 4 bytes spill loads",
                              {8, 4}};
  EXPECT_FALSE(find_kernel(folder.path(), request_of("a")));
  leave_kernel(folder.path(), request_of("a"), kernel);
  const auto found = find_kernel(folder.path(), request_of("a"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->image, kernel.image);
  EXPECT_EQ(found->symbol, kernel.symbol);
  EXPECT_EQ(found->spills, kernel.spills);
  EXPECT_EQ(found->parameter_sizes, kernel.parameter_sizes);
  std::vector<CompileRequest> others(7, request_of("a"));
  others[0].registers = 32;
  others[1].fast_math = true;
  others[2].optimize = 1;
  others[3].bound_threads = 128;
  others[4].min_blocks = 2;
  others[5].older_architecture = 80;
  others[6].architecture = 100;
  for (const CompileRequest& other : others) {
    EXPECT_FALSE(find_kernel(folder.path(), other)) << &other - others.data();
  }
  EXPECT_FALSE(find_kernel(folder.path(), request_of("a", "scale2")));
  EXPECT_FALSE(find_kernel(folder.path(), request_of("a\nmine.cu")));
}

TEST(SharedKernels, OneThatIsCutOffIsNone) {
  const TemporaryFolder folder;
  leave_kernel(folder.path(), request_of("a"), {"image", "symbol", "spills"});
  const auto file = *std::filesystem::directory_iterator(folder.path());
  std::string text;
  {
    std::ifstream whole(file.path(), std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(whole), {});
  }
  for (std::size_t size = 0; size + 5 <= text.size(); ++size) {
    std::ofstream(file.path(), std::ios::binary) << text.substr(0, size);
    EXPECT_FALSE(find_kernel(folder.path(), request_of("a"))) << size;
  }
}

TEST(SharedKernels, AFolderThatIsNotThereCostsNothingElse) {
  leave_kernel("/nowhere", request_of("a"), {"image", "symbol"});
  EXPECT_FALSE(find_kernel("/nowhere", request_of("a")));
}

}  // namespace
}  // namespace jitterscope
