// Other processes on the device while it is measured: one that comes within a run must not go unnamed.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

/// All that were seen at one look or another; nothing where the device never told.
class SeenProcesses {
 public:
  void look(Device& device) {
    const std::optional<std::vector<std::string>> now = device.other_processes();
    if (!now) return;
    if (!all_) all_.emplace();
    for (const std::string& name : *now) {
      if (std::ranges::find(*all_, name) == all_->end()) all_->push_back(name);
    }
  }
  const std::optional<std::vector<std::string>>& all() const { return all_; }

 private:
  std::optional<std::vector<std::string>> all_;
};

}  // namespace jitterscope
