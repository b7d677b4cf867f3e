// Any record as the command that wrote it printed it.
#pragma once

#include <string>

#include "output/page.hpp"
#include "record/record.hpp"

namespace jitterscope {

/// What a reader asked of the page; what was left open follows from the record.
struct ShownPage {
  std::size_t width = kPageWidth;
  bool details = false;
  std::optional<std::size_t> top = {};  ///< nothing: 10 of a model without details, all of others
  std::optional<FindingsShown> findings = {};
};

/// A model shows its slowest layers; a sweep is read from its first row to its last.
Page page_of(const ShownPage& shown, bool is_model);

std::string record_text(const AnyRecord& record, const ShownPage& shown);

}  // namespace jitterscope
