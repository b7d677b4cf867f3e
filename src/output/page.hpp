// How wide a page is, and how much of a run it shows.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>

namespace jitterscope {

/// Lines and tables are kept to this where no terminal says otherwise.
inline constexpr std::size_t kPageWidth = 80;

/// Of a terminal; nothing where the stream is none.
std::optional<std::size_t> terminal_width(std::FILE* stream);

/// For what is printed on stdout: that of its terminal, else COLUMNS, else kPageWidth; 60 to 200.
std::size_t page_width();

enum class FindingsShown { none, top, all };

struct Page {
  std::size_t width = kPageWidth;
  bool details = false;  ///< everything that is known of each operation, and what the words mean
  /// How many operations of several are shown, the slowest first; nothing: all, in their order.
  std::optional<std::size_t> top = {};
  FindingsShown findings = FindingsShown::top;
};

}  // namespace jitterscope
