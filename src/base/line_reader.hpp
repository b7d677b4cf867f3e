// Lines from a stream, as they come.
#pragma once

#include <optional>
#include <string>

namespace jitterscope {

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

}  // namespace jitterscope
