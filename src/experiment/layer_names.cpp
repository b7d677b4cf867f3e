#include "experiment/layer_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"

namespace jitterscope {

void LayerNames::add(const std::vector<std::string>& names) {
  if (names.empty()) return;
  firsts_.push_back(names.front());
  others_.insert(others_.end(), names.begin() + 1, names.end());
}

std::string LayerNames::some() const {
  constexpr std::size_t kShown = 6;
  std::vector<std::string> names = firsts_;
  names.insert(names.end(), others_.begin(), others_.end());
  names.resize(std::min(names.size(), kShown));
  const std::size_t more = size() - names.size();
  return more == 0 ? joined(names) : fmt::format("{} and {} more", joined(names), more);
}

}  // namespace jitterscope
