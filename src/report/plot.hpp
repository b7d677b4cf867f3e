// A picture of a record: a specification of Vega-Lite, which says what is drawn and holds what it is drawn
// from.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "output/table.hpp"
#include "record/json_text.hpp"

namespace jitterscope {

struct Plot {
  std::string id;                  ///< of its kind: distribution, rounds, layers…
  std::string title;               ///< plain text, as the caption: what it shows and of what
  std::string caption;             ///< how to read it
  Json spec;                       ///< of Vega-Lite 5; numbers in the units that the axes name
  std::vector<TableColumn> table;  ///< what is drawn, for those who read numbers
};

}  // namespace jitterscope
