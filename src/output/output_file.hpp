// Writes results to disk without leaving a partial file under the final name, and to standard output.
#pragma once

#include <string>
#include <string_view>

namespace jitterscope {

/// Destination for one document. A regular file is replaced whole, by renaming. "-", pipes and devices are
/// written once, when the document is complete.
class OutputFile {
 public:
  /// Made before measuring. Throws UsageError, with path and reason, if nothing can be written.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Saves the document so far, so that a crash loses nothing. A stream gets nothing yet. Throws FailedError
  /// if writing fails; the last whole document then stays.
  void save(std::string_view text);
  /// Writes the final document. Throws FailedError.
  void commit(std::string_view text);
  bool is_stream() const { return stream_ >= 0; }
  /// The file's path with links resolved, so that replacing the file keeps a link.
  const std::string& target() const { return target_; }

 private:
  void replace(std::string_view text) const;

  std::string path_;  ///< as given, for messages
  std::string target_;
  int stream_ = -1;
  bool owns_stream_ = false;
};

/// Writes all of the text to an open descriptor. Throws FailedError, with the path.
void write_whole(int descriptor, std::string_view text, const std::string& path);

// Below: standard output.

/// Prints at once. Keeps a failure for check_standard_output(), so that other output, such as the files of
/// --json, is written first.
void print_result(const std::string& text);

/// Throws FailedError if anything printed was lost. It is no failure if the reader closed the pipe (`|
/// head`).
void check_standard_output();

}  // namespace jitterscope
