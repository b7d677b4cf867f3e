// The flags by which `run` says how much of what it found is printed.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "output/record_text.hpp"

namespace jitterscope::cli {

struct PageFlags {
  std::string top, findings;  ///< empty: the usual
  bool details = false;

  void add_to(CLI::App& command);
  /// Throws UsageError with the nearest known word.
  ShownPage shown() const;
  Page page(bool is_model) const { return page_of(shown(), is_model); }
};

}  // namespace jitterscope::cli
