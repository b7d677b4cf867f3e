// A test's own file, in a folder that goes with the test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace jitterscope::testing {

class WrittenFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& contents) const {
    std::ofstream(folder_ / "file", std::ios::binary) << contents;
    return folder_ / "file";
  }
  const std::filesystem::path folder_ = [] {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("jitterscope_import_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder);
    return folder;
  }();
};

}  // namespace jitterscope::testing
