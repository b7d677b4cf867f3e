// A file's contents, unpacked.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace jitterscope {

/// 2 GB: far beyond any record that is of use, and what a damaged or hostile archive may not pass.
inline constexpr std::uint64_t kLargestFile = 2'000'000'000;

struct FileContents {
  std::string text;
  bool ends_early = false;  ///< a gzip file of which the end is missing
};

/// The contents; of a gzip file, which is known by its first bytes, what is packed in it. Throws UsageError
/// where the file is missing, a folder, empty, may not be read, too large, or a gzip file that is damaged.
FileContents read_file(const std::filesystem::path& file);

/// What is packed in a gzip file's bytes. Throws UsageError past `limit` bytes.
FileContents unpack_gzip(std::string_view bytes, std::string_view file_name,
                         std::uint64_t limit = kLargestFile);

}  // namespace jitterscope
