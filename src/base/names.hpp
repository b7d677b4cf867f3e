// Words that people type: the nearest known one, and lists in sentences.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jitterscope {

/// The known word that was meant: the same one but for case, dashes and underscores, what other libraries'
/// word is called here (gemm: matmul), the nearest by edit distance, or one that begins so. Empty where none
/// is near (over half wrong).
std::string nearest_name(std::string_view word, std::span<const std::string> known);

/// " (did you mean 'stride'?)" or, where nothing is near, " (known: a, b, c)".
std::string suggestion(std::string_view word, std::span<const std::string> known);

/// "a, b, c"
std::string joined(std::span<const std::string> words, std::string_view separator = ", ");

/// Puts a sentence behind the others, unless it is among them.
void add_once(std::vector<std::string>& sentences, std::string_view sentence);

// Names of kernels from different tracing tools, so that they can be compared.

/// Demangled where the tool left it mangled (kineto does with the longest names), without spaces; memsets and
/// copies by one word each.
std::string kernel_identity(std::string_view name);

}  // namespace jitterscope
