// Which copy of a library is opened, where a machine has several.
#include "base/shared_library.hpp"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace jitterscope {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Each library in a folder of its own, by the name that NVIDIA's have: libNAME.so.12 and libNAME.so.13. What
// a test has opened stays open, so that each test has libraries of its own.
class SharedLibraries : public testing::Test {
 protected:
  ~SharedLibraries() override { fs::remove_all(root_); }

  std::string folder(const std::string& library, const std::string& version) const {
    const fs::path made = root_ / (library + version);
    fs::create_directories(made);
    const fs::path built = fs::path(STAND_IN_LIBRARIES) / ("lib" + library + version + ".so");
    fs::copy_file(built, made / ("lib" + library + ".so." + version), fs::copy_options::skip_existing);
    return made.string();
  }
  static std::vector<std::string> names(const std::string& library) {
    return {"lib" + library + ".so.13", "lib" + library + ".so.12"};
  }
  static int number_of(const std::optional<SharedLibrary>& library) {
    return library ? library->find_function<int()>("stand_in_number")() : 0;
  }

  const fs::path root_ = fs::temp_directory_path() / ("jitterscope-libraries-" + std::to_string(::getpid()));
};

TEST_F(SharedLibraries, AFolderGoesBeforeANewerVersionElsewhere) {
  const std::string of_pytorch = folder("first", "12"), of_system = folder("first", "13");
  EXPECT_EQ(number_of(SharedLibrary::open(names("first"), {of_pytorch, of_system}, nullptr)), 12);
}

TEST_F(SharedLibraries, WhatIsLoadedGoesBeforeAllFolders) {
  const std::string loaded = folder("second", "12") + "/libsecond.so.12", newer = folder("second", "13");
  ASSERT_NE(dlopen(loaded.c_str(), RTLD_NOW), nullptr) << dlerror();
  EXPECT_EQ(number_of(SharedLibrary::open(names("second"), {newer}, nullptr)), 12);
}

TEST_F(SharedLibraries, OneThatIsDamagedIsPassedOver) {
  const std::string good = folder("third", "12"), bad = (root_ / "bad").string();
  fs::create_directories(bad);
  std::ofstream(bad + "/libthird.so.13") << "no library";
  EXPECT_EQ(number_of(SharedLibrary::open(names("third"), {bad, good}, nullptr)), 12);
}

TEST_F(SharedLibraries, WhereNoneOpensTheLoaderIsQuoted) {
  fs::create_directories(root_);
  std::ofstream(root_ / "libfourth.so.13") << "no library";
  std::string problem;
  EXPECT_FALSE(SharedLibrary::open(names("fourth"), {root_.string()}, &problem));
  EXPECT_THAT(problem, HasSubstr("libfourth.so.13: file too short"));
  EXPECT_FALSE(SharedLibrary::open({"libfifth.so.1"}, {}, &problem));
  EXPECT_THAT(problem, HasSubstr("libfifth.so.1: cannot open shared object file"));
}

}  // namespace
}  // namespace jitterscope
