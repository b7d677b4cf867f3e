// Libraries that are named by the CUDA that they are of, and the driver that they are to run on.
#pragma once

#include <string>
#include <vector>

namespace jitterscope::cuda {

/// Those of CUDA `major` or older: "libcublas.so.12" on a driver of CUDA 12, and not "libcublas.so.13", which
/// opens there and fails in its first call. All where that leaves none, so that the library's own words are
/// heard.
std::vector<std::string> names_up_to(int major, const std::vector<std::string>& names);

/// Those that run on this machine's driver; all where there is none.
std::vector<std::string> names_for_driver(const std::vector<std::string>& names);

}  // namespace jitterscope::cuda
