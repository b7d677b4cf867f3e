// What a plot's specification draws, for tests.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "report/drawing.hpp"

namespace jitterscope::test {

inline const Plot& plot_named(const std::vector<Plot>& plots, std::string_view id) {
  const auto found = std::ranges::find(plots, id, &Plot::id);
  if (found == plots.end()) throw std::runtime_error("no such plot");
  return *found;
}

// Every view below, that itself and its layers have a name.
inline void find_views(const Json& view, std::vector<const Json*>& found) {
  if (view.contains("name")) found.push_back(&view);
  for (const char* parts : {"layer", "vconcat"}) {
    if (!view.contains(parts)) continue;
    for (const Json& part : view.at(parts)) find_views(part, found);
  }
}
inline std::vector<const Json*> views_of(const Plot& plot) {
  std::vector<const Json*> views;
  find_views(plot.spec, views);
  return views;
}
inline const Json& rows_of(const Plot& plot, std::string_view view) {
  for (const Json* each : views_of(plot)) {
    if (each->at("name") == view) return each->at("data").at("values");
  }
  throw std::runtime_error("no such view");
}

}  // namespace jitterscope::test
