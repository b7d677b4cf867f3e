// What cuBLAS chose, which it says only in the log of cuBLASLt, by which it runs.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace jitterscope::cuda {

/// The algorithm of the last product that `work` launched, as a tag; empty where cuBLASLt logged none. A log
/// that the user asked cuBLASLt for by its environment ends here.
std::string logged_algorithm(const std::function<void()>& work);

/// Of a line of cuBLASLt's log; empty where it has no `algo=[…]`.
std::string algorithm_tag_of_log(std::string_view line);

}  // namespace jitterscope::cuda
