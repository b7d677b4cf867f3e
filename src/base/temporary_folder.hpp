// A folder that is gone, with its content, when its owner is.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

#include "jitterscope/error.hpp"

namespace jitterscope {

class TemporaryFolder {
 public:
  /// Throws FailedError where none can be made.
  TemporaryFolder() {
    std::error_code problem;  // of a TMPDIR that is no folder
    const std::filesystem::path parent = std::filesystem::temp_directory_path(problem);
    std::string path = (parent / "jitterscope-XXXXXX").string();
    if (problem || ::mkdtemp(path.data()) == nullptr) {
      throw FailedError("no temporary folder could be made" + (problem ? "" : " in " + parent.string()) +
                        "; name one that can be written in TMPDIR");
    }
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace jitterscope
