#include "cli/margin.hpp"

#include <fmt/format.h>

#include <charconv>

#include "jitterscope/error.hpp"

namespace jitterscope::cli {

double read_percentage(const std::string& flag, std::string text) {
  if (text.ends_with('%')) text.pop_back();
  double percent = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const bool is_number = problem == std::errc() && end == text.data() + text.size();
  if (!is_number || !(percent > 0.0) || percent >= 100.0) {
    throw UsageError(fmt::format("{}: '{}' is no percentage between 0 and 100, as 1% or 0.5", flag, text));
  }
  return percent / 100.0;
}

}  // namespace jitterscope::cli
