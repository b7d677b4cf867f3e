// The whole of a file as text.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "jitterscope/error.hpp"

namespace jitterscope {

/// `error` is set where the file could not be read to its end: it is not there, there is no right to it, it
/// is a folder, or (of /proc) its process has just ended. `text` is then empty.
struct FileText {
  std::string text;
  std::error_code error;
};
FileText file_text(const std::filesystem::path& file);

// Lines from a stream, as they come.

/// Appends what a read gives, and waits where there is nothing yet. False at the end of the stream.
bool read_part(int descriptor, std::string& text);

class LineReader {
 public:
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  /// The next line without its end, if it comes within so long; a signal ends the waiting early. The last one
  /// may lack its end.
  std::optional<std::string> next(int milliseconds);
  /// The stream has ended, and all its lines were read.
  bool is_over() const { return is_closed_ && read_.empty(); }
  /// All that is left, up to the end of the stream.
  std::string rest();

 private:
  void read_more();

  int descriptor_;
  bool is_closed_ = false;
  std::string read_;
};

// UTF-8, character by character, whatever the bytes are.

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};

/// The first character of a text that is not empty. Overlong forms, surrogates and stray bytes are invalid
/// (U+FFFD), and one byte long, so that reading goes on at the next byte.
Utf8Character first_character(std::string_view text);

// Where files that come with the tool are looked for: models, presets.

/// A kind of file: "models", "JITTERSCOPE_MODELS", ".json".
struct DataFiles {
  std::string folder, variable, extension;

  /// First match first: the folders of $variable (colon-separated), then folder, ../folder and
  /// ../share/jitterscope/folder beside the executable, then the source tree that it was built from. Only
  /// folders that exist.
  std::vector<std::filesystem::path> folders() const;
  /// Of all files in folders(), sorted: file names without the extension.
  std::vector<std::string> names() const;
  /// Nothing where no folder has it.
  std::optional<std::filesystem::path> find(std::string_view name) const;
};

// A folder that is gone, with its content, when its owner is.

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

// Where the processes of one command leave the kernels that they compiled for each other.

inline constexpr const char* kKernelFolderVariable = "JITTERSCOPE_KERNEL_FOLDER";

/// While it lives, processes that are started find the folder's name in their environment. Where none can be
/// made, each of them compiles for itself.
class KernelFolder {
 public:
  KernelFolder() {
    try {
      ::setenv(kKernelFolderVariable, folder_.emplace().path().c_str(), 1);
    } catch (const FailedError&) {  // a full or read-only disk is no reason not to measure
    }
  }
  ~KernelFolder() { ::unsetenv(kKernelFolderVariable); }
  KernelFolder(const KernelFolder&) = delete;
  KernelFolder& operator=(const KernelFolder&) = delete;

 private:
  std::optional<TemporaryFolder> folder_;
};

}  // namespace jitterscope
