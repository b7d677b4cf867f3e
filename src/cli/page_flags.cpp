#include "cli/page_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/names.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope::cli {
namespace {

std::optional<std::size_t> parse_top(const std::string& text) {
  constexpr std::size_t kMost = 1'000'000;
  if (text == "all") return kMost;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == 0 || number > kMost) {
    throw UsageError(fmt::format("--top {}: a number of operations, or all", text));
  }
  return number;
}

FindingsShown parse_findings(const std::string& word) {
  const std::vector<std::string> known = {"none", "top", "all"};
  const auto found = std::ranges::find(known, word);
  if (found == known.end()) {
    throw UsageError(fmt::format("--findings: unknown word '{}'{}", word, suggestion(word, known)));
  }
  return static_cast<FindingsShown>(found - known.begin());
}

}  // namespace

void PageFlags::add_to(CLI::App& command) {
  command.add_option("--top", top,
                     "show so many operations, the slowest first, or all (default: 10 of a model, all of "
                     "others)");
  command.add_option("--findings", findings,
                     "none, top (the three with the largest effect, in a line each) or all, with evidence "
                     "and remedies (default: top)");
  command.add_flag("--details", details,
                   "show all that is known of each operation, all findings, and what the words mean");
}

ShownPage PageFlags::shown() const {
  ShownPage page{.width = page_width(), .details = details};
  if (!top.empty()) page.top = parse_top(top);
  if (!findings.empty()) page.findings = parse_findings(findings);
  return page;
}

}  // namespace jitterscope::cli
