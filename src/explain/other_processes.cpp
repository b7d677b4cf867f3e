#include "explain/other_processes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"

namespace jitterscope::explain {

void ProcessWatch::look() {
  constexpr Nanoseconds kPause = seconds(1);
  const Nanoseconds now = device_.host_time();
  if (last_look_ && now - *last_look_ < kPause) return;
  last_look_ = now;
  const std::optional<std::vector<std::string>> others = device_.other_processes();
  if (!others) return;
  ++found_.looks;
  for (const std::string& name : *others) {
    auto known = std::ranges::find(found_.seen, name, &OtherProcess::name);
    if (known == found_.seen.end()) known = found_.seen.insert(known, {name, 0});
    ++known->looks;
  }
}

std::string sentence_of(const OtherProcesses& others, const Observation& observation) {
  if (others.seen.empty()) return {};
  std::vector<std::string> names, levels;
  bool comes_and_goes = false;
  for (const OtherProcess& other : others.seen) {
    const bool is_always_there = other.looks == others.looks;
    comes_and_goes = comes_and_goes || !is_always_there;
    names.push_back(is_always_there
                        ? other.name
                        : fmt::format("{} (at {} of {} looks)", other.name, other.looks, others.looks));
  }
  for (const Mode& mode : observation.modes) levels.push_back(time_text(mode.location));
  const char* what = comes_and_goes ? "came and went while this was measured" : "used the device as well";
  std::string text = fmt::format("Other programs {}: {}.", what, joined(names));
  if (!levels.empty())
    text += fmt::format(" The levels of the plain loops may be theirs: {}.", joined(levels));
  return text + " Nothing here switches them; explain it again when they are done, or on another device.";
}

}  // namespace jitterscope::explain
