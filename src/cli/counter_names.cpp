#include "cli/counter_names.hpp"

#include <filesystem>
#include <sstream>

#include "jitterscope/error.hpp"

namespace jitterscope::cli {
namespace {

constexpr const char* kCountersFlag = "--counters";

bool names_counters(const std::string& word) {
  if (word.empty() || word.front() == '-' || word.find_first_of("/:=") != std::string::npos) return false;
  std::error_code ignored;
  return word.find("__") != std::string::npos && !std::filesystem::exists(word, ignored);
}

}  // namespace

std::vector<std::string> with_counter_names(const std::vector<std::string>& words) {
  std::vector<std::string> joined;
  for (const std::string& word : words) {
    if (!joined.empty() && joined.back() == kCountersFlag && names_counters(word)) {
      joined.back() += "=" + word;
    } else {
      joined.push_back(word);
    }
  }
  return joined;
}

std::optional<std::vector<std::string>> asked_counters(const std::string& flag) {
  if (flag.empty()) return std::nullopt;
  std::vector<std::string> names;
  if (flag == "true") return names;
  std::istringstream list(flag);
  for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  for (const std::string& name : names) {
    if (!name.empty()) continue;
    throw UsageError("--counters: a name is empty; write NAME,NAME as jitterscope list counters shows them");
  }
  return names;
}

}  // namespace jitterscope::cli
