// Numbers that an ONNX file keeps in other files beside it, as exporters do with large weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace jitterscope {

/// Where a tensor's bytes are, as the file says it.
struct OutsidePlace {
  std::string location;  ///< a file, from the model's folder on
  std::string offset, length;
};

/// Bytes beside a model, or why there are none.
struct OutsideBytes {
  std::string bytes;
  std::string problem;  ///< completes "the numbers of 'x' are in data.bin, "
};

/// `size` bytes: no more is read. A location outside of the model's folder is not opened, nor is what is no
/// plain file.
OutsideBytes read_outside(std::string_view model_file, const OutsidePlace& place, std::size_t size);

}  // namespace jitterscope
