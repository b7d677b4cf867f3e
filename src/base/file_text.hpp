// The whole of a file as text.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>

namespace jitterscope {

/// `error` is set where the file could not be read to its end: it is not there, there is no right to it, it
/// is a folder, or (of /proc) its process has just ended. `text` is then empty.
struct FileText {
  std::string text;
  std::error_code error;
};
FileText file_text(const std::filesystem::path& file);

}  // namespace jitterscope
