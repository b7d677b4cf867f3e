#include "base/files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

TEST(FileText, HoldsEveryByteOfAFileOfAnySize) {
  const fs::path file = testing::TempDir() + "file_text_" + std::to_string(::getpid());
  for (const std::size_t size : {0, 1, 65536, 200000}) {
    std::string text(size, '\0');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7);
    std::ofstream(file, std::ios::binary) << text;
    const FileText read = file_text(file);
    EXPECT_FALSE(read.error) << read.error.message();
    EXPECT_EQ(read.text, text) << size;
  }
  fs::remove(file);
}

TEST(FileText, SaysWhyAFileCannotBeRead) {
  EXPECT_EQ(file_text("/nowhere/at/all").error, std::errc::no_such_file_or_directory);
  EXPECT_EQ(file_text("/").error, std::errc::is_a_directory);  // opens, but cannot be read
  EXPECT_EQ(file_text("/").text, "");
}

}  // namespace
}  // namespace jitterscope
