// Reads files and streams, decodes UTF-8, finds data files, and makes temporary folders.
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

/// `error` is set and `text` is empty if the file could not be read to its end: it does not exist, permission
/// is missing, it is a folder, or (in /proc) its process has just ended.
struct FileText {
  std::string text;
  std::error_code error;
};
FileText file_text(const std::filesystem::path& file);

/// Throws UsageError, for every command in the same words, if a file that a person named does not exist, is a
/// folder, is empty or must not be read. `file_text` may still fail.
void require_readable(const std::filesystem::path& file);

/// Appends the result of one read(), which blocks until there is data. Returns false at the end of the
/// stream.
bool read_part(int descriptor, std::string& text);

class LineReader {
 public:
  explicit LineReader(int descriptor) : descriptor_(descriptor) {}

  /// Returns the next line without its end; nullopt if none comes in time, or a signal ends the wait. The
  /// last line may lack its end.
  std::optional<std::string> next(int milliseconds);
  /// True if the stream has ended and all its lines were read.
  bool is_over() const { return is_closed_ && read_.empty(); }
  /// Reads to the end of the stream and returns all that is left.
  std::string rest();

 private:
  void read_more();

  int descriptor_;
  bool is_closed_ = false;
  std::string read_;
};

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 1;
  bool valid = true;
};

/// Decodes the first character of a text that is not empty. Overlong forms, surrogates and stray bytes are
/// invalid (U+FFFD) and one byte long, so that reading continues at the next byte.
Utf8Character first_character(std::string_view text);

/// Searches for a kind of file that comes with the tool: "models", "JITTERSCOPE_MODELS", ".json".
struct DataFiles {
  std::string folder, variable, extension;

  /// Returns the existing folders in the order of search: those in $variable (colon-separated), then folder,
  /// ../folder and ../share/jitterscope/folder beside the executable, then the source tree that it was built
  /// from.
  std::vector<std::filesystem::path> folders() const;
  /// Returns the sorted names, without the extension, of all files in folders().
  std::vector<std::string> names() const;
  /// Returns nullopt if no folder has the file.
  std::optional<std::filesystem::path> find(std::string_view name) const;
};

/// Returns where a library that comes with the program is looked for, first match first: only the file
/// $variable if that is set (nullptr: there is none), else beside the executable, then in ../lib/jitterscope.
std::vector<std::filesystem::path> own_library_files(const char* variable, const char* name);

// A temporary folder that its destructor removes with its content.

class TemporaryFolder {
 public:
  /// Throws FailedError if none can be made.
  TemporaryFolder() {
    std::error_code problem;  // if TMPDIR is not a folder
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

// Folder in which the processes of one command share the kernels that they compiled.

inline constexpr const char* kKernelFolderVariable = "JITTERSCOPE_KERNEL_FOLDER";

/// While it exists, child processes find the folder's name in their environment. If none can be made, each of
/// them compiles for itself.
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
