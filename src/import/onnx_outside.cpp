#include "import/onnx_outside.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>

#include "operation/words.hpp"

namespace jitterscope {
namespace {

namespace fs = std::filesystem;

// Left out: zero.
std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (text.empty()) return 0;
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

bool leaves_folder(const fs::path& location) {
  return location.is_absolute() ||
         std::any_of(location.begin(), location.end(), [](const fs::path& part) { return part == ".."; });
}

}  // namespace

OutsideBytes read_outside(std::string_view model_file, const OutsidePlace& place, std::size_t size) {
  const fs::path location(place.location);
  const std::optional<std::uint64_t> offset = number_in(place.offset), length = number_in(place.length);
  if (location.empty()) return {"", "a file that it does not name"};
  if (leaves_folder(location)) return {"", "which lies outside of the model's folder and is not read"};
  if (!offset || !length || (!place.length.empty() && *length != size))
    return {"", "at a place or of a size that they cannot have"};
  fs::path folder = fs::path(model_file).parent_path();
  if (folder.empty()) folder = ".";
  std::error_code error;
  const fs::path file = folder / location;
  const fs::file_status status = fs::status(file, error);
  if (!fs::exists(status)) {
    return {"", fmt::format("which is not beside the model, in {}: put it there",
                            printable(folder.string(), 200))};
  }
  if (!fs::is_regular_file(status)) return {"", "which is no plain file"};
  std::ifstream stream(file, std::ios::binary);
  std::string bytes(size, '\0');
  stream.seekg(static_cast<std::streamoff>(std::min<std::uint64_t>(*offset, 1ULL << 62)));
  stream.read(bytes.data(), static_cast<std::streamsize>(size));
  if (static_cast<std::size_t>(stream.gcount()) != size)
    return {"", "which ends before them, or may not be read: was it copied in full?"};
  return {std::move(bytes), ""};
}

}  // namespace jitterscope
