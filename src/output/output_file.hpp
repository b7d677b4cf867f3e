// Results on disk: never a partial file under the final name.
#pragma once

#include <string>
#include <string_view>

namespace jitterscope {

/// A place for one document. Regular files are replaced whole, by renaming; "-", pipes and devices are
/// written once, when all is known.
class OutputFile {
 public:
  /// Made before measuring: throws UsageError, naming path and reason, where nothing can be written.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// The document so far, so that a crash loses nothing; a stream gets nothing yet. Throws FailedError
  /// where writing fails; the last whole document then stays.
  void save(std::string_view text);
  /// The document as it is to stay.
  void commit(std::string_view text);
  bool is_stream() const { return stream_ >= 0; }
  /// Of a file, with links resolved, so that a link stays a link.
  const std::string& target() const { return target_; }

 private:
  void replace(std::string_view text) const;

  std::string path_;  ///< as given, for messages
  std::string target_;
  int stream_ = -1;
  bool owns_stream_ = false;
};

/// All of the text, to a descriptor that is open. Throws FailedError that names the path.
void write_whole(int descriptor, std::string_view text, const std::string& path);

// What a command prints as its result.

/// Prints at once. A failure is kept for check_standard_output(): what else there is to write, such as the
/// files of --json, is written first.
void print_result(std::string_view text);

/// Throws FailedError where anything that was printed did not arrive. A reader that wanted no more of it
/// (`| head`) is no failure.
void check_standard_output();

}  // namespace jitterscope
