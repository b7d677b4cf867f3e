// A process's own description: its folder in the capture, and process.json in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "recorder/cupti_library.hpp"

namespace jitterscope::recorder {

/// Makes the process's folder in a capture's: p4711-<its first use of CUDA, in ms>, and -r0 where a launcher
/// has given it a rank. Empty where that is not possible.
std::string make_folder(const std::string& capture, std::int64_t begin);

/// Writes process.json into it. `problem`: why nothing is recorded, or empty.
void write_process_file(const std::string& folder, std::int64_t begin, const Cupti& cupti,
                        const std::string& problem);

/// A text in JSON, quoted. Bytes that are no UTF-8 become U+FFFD.
std::string quoted(std::string_view text);

}  // namespace jitterscope::recorder
