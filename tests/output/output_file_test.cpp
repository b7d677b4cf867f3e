#include "output/output_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string name = testing::TempDir() + "output_file_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static std::string refusal(const std::string& path) {
    try {
      const OutputFile file(path);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "no error";
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, NothingIsThereBeforeTheFirstSave) {
  { const OutputFile file(path("a.json")); }
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, EachSaveReplacesTheWholeFile) {
  OutputFile file(path("a.json"));
  file.save("first, and longer");
  EXPECT_EQ(content(path("a.json")), "first, and longer");
  file.save("second");
  file.commit("third");
  EXPECT_EQ(content(path("a.json")), "third");
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, ReadersOfTheOldFileKeepIt) {
  std::ofstream(path("a.json")) << "old";
  std::ifstream reader(path("a.json"));
  OutputFile(path("a.json")).commit("new");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
}

TEST_F(OutputFileTest, PathsThatCannotBeWrittenAreRefusedWithTheReason) {
  EXPECT_THAT(refusal(path("none/a.json")), HasSubstr("none' does not exist"));
  EXPECT_THAT(refusal(folder_.string()), HasSubstr("is a folder"));
  std::ofstream(path("file")) << "";
  EXPECT_THAT(refusal(path("file/a.json")), HasSubstr("Not a directory"));
  EXPECT_THAT(refusal("/proc/x.json"), testing::Not(HasSubstr("does not exist")));
  EXPECT_THAT(refusal("/proc/version"), HasSubstr("cannot write '/proc/version'"));
  EXPECT_THAT(refusal(""), HasSubstr("the path is empty"));
}

TEST_F(OutputFileTest, LinksStayLinks) {
  std::ofstream(path("target")) << "old";
  fs::create_symlink(path("target"), path("link"));
  OutputFile(path("link")).commit("new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("target")), "new");
}

TEST_F(OutputFileTest, PermissionsOfAReplacedFileStay) {
  std::ofstream(path("a.json")) << "old";
  fs::permissions(path("a.json"), fs::perms(0640));
  OutputFile(path("a.json")).commit("new");
  EXPECT_EQ(fs::status(path("a.json")).permissions(), fs::perms(0640));
}

TEST_F(OutputFileTest, AFailedSaveKeepsTheLastDocument) {
  const std::string deep = path("deep");
  fs::create_directory(deep);
  OutputFile file(deep + "/a.json");
  fs::remove(deep);
  EXPECT_THROW(file.save("x"), FailedError);
}

TEST_F(OutputFileTest, DevicesAreWrittenDirectlyAndOnce) {
  OutputFile file("/dev/null");
  file.save("so far");
  file.commit("all");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  OutputFile full("/dev/full");
  full.save("so far");
  EXPECT_THROW(full.commit("all"), FailedError);
}

TEST_F(OutputFileTest, StandardOutputGetsTheLastDocumentOnly) {
  testing::internal::CaptureStdout();
  std::printf("table\n");
  {
    OutputFile file("-");
    file.save("so far\n");
    file.commit("all\n");
  }
  std::printf("after\n");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "table\nall\nafter\n");
}

}  // namespace
}  // namespace jitterscope
