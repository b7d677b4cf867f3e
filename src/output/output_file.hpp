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

 private:
  bool is_stream() const { return stream_ >= 0; }
  void replace(std::string_view text) const;

  std::string path_;    ///< as given, for messages
  std::string target_;  ///< with links resolved, so that a link stays a link
  int stream_ = -1;
  bool owns_stream_ = false;
};

}  // namespace jitterscope
