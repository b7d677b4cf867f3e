// Writes what commands print as HTML, and says what a page begins with.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "output/text.hpp"

namespace jitterscope {

/// The first lines of a record's page.
struct Headline {
  std::string subject = {};             ///< what the number is of: "one launch of conv2d:…"
  std::string number = {};              ///< "125.1 µs"
  std::string error = {};               ///< "± 0.085 %"; empty if there is none
  std::vector<std::string> marks = {};  ///< the conditions: "warm", "burst", "8 processes"
};

/// Escapes text, so that a page never reads any of it as markup.
std::string escaped_html(std::string_view text);

/// Escapes a name that may continue in the next line behind a parameter or a part of its path.
std::string breakable_html(std::string_view text);

/// Writes paragraphs, lists and tables as elements. Nothing in the text becomes markup but ** around bold
/// words and ` around code, in pairs.
std::string html_of(const Text& text);

/// Makes a table of all columns in a box that scrolls. On a narrow screen it hides the columns that
/// fitted_table would leave out, and names them. Says so if rows are left out.
std::string html_table(std::span<const TableColumn> columns);

/// Makes a list of marks; empty texts are left out.
std::string html_marks(std::span<const std::string> marks);

}  // namespace jitterscope
