// Words that people type: the nearest known word, and lists for sentences.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace jitterscope {

/// Returns the known word that was meant: the same except for case, dashes and underscores; a synonym (gemm:
/// matmul); the nearest by edit distance; or one that begins so. Empty if none is near (over half wrong).
std::string nearest_name(std::string_view word, std::span<const std::string> known);

/// Returns " (did you mean 'stride'?)" or, if nothing is near, " (known: a, b, c)".
std::string suggestion(std::string_view word, std::span<const std::string> known);

/// Returns "a, b, c".
std::string joined(std::span<const std::string> words, std::string_view separator = ", ");
/// Splits a list as a flag takes it; a piece may be empty, and there is at least one.
std::vector<std::string> split_at_commas(std::string_view list);

/// Returns the text with a capital first letter.
std::string capitalised(std::string text);
/// Returns a word, such as the name of a file, as a shell reads it: in single quotes where it needs them.
std::string in_shell(const std::string& word);

/// Appends a sentence unless it is there already.
void add_once(std::vector<std::string>& sentences, std::string_view sentence);

/// Returns a kernel's name in a form comparable between tracing tools: demangled if it is mangled (kineto
/// leaves the longest names so), without spaces; memsets and copies become one word each.
std::string kernel_identity(std::string_view name);

}  // namespace jitterscope
