// Where the pieces of an operation's text end.
#pragma once

#include <cstddef>
#include <string_view>

namespace jitterscope {

/// What is behind `KIND:` begins with that which is no parameter: FILE.cu:KERNEL, or a chain's steps. Where
/// it ends; 0 where there is none.
std::size_t subject_end(std::string_view kind, std::string_view text);
/// Where the parameter ends that the text begins with: at a comma, or with the text.
std::size_t parameter_end(std::string_view kind, std::string_view text);

}  // namespace jitterscope
