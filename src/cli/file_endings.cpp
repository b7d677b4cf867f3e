#include "cli/file_endings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace jitterscope::cli {
namespace {

struct WrittenFormat {
  std::vector<std::string_view> flags;
  std::string_view what;                  ///< "--html writes WHAT"
  std::vector<std::string_view> endings;  ///< the first is the usual one
  bool takes_others = false;              ///< data may be called anything but what it is not
};

const std::vector<WrittenFormat>& written_formats() {
  static const std::vector<WrittenFormat> formats = {{{"--html", "--output"}, "a page", {".html", ".htm"}},
                                                     {{"--json"}, "JSON", {".json"}, true},
                                                     {{"--csv", "--csv-launches"}, "CSV", {".csv"}, true},
                                                     {{"--markdown"}, "Markdown", {".md", ".markdown"}, true},
                                                     {{"--junit"}, "XML", {".xml"}, true}};
  return formats;
}

// "" of names without one, and of those that end in a number, as result.2026 and v1.2.
std::string ending_of(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension().string();
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (ending.size() < 2 || !is_letter(ending[1])) return {};
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return ending;
}

bool belongs_elsewhere(const std::string& ending) {
  constexpr std::string_view kOthers[] = {".svg", ".png", ".pdf",  ".jpg", ".jpeg",
                                          ".gif", ".tsv", ".xlsx", ".gz",  ".zip"};
  const auto& formats = written_formats();
  return std::ranges::find(kOthers, ending) != std::end(kOthers) ||
         std::ranges::any_of(formats, [&](const WrittenFormat& format) {
           return std::ranges::find(format.endings, ending) != format.endings.end();
         });
}

bool is_own(const WrittenFormat& format, const std::string& path) {
  return std::ranges::find(format.endings, ending_of(path)) != format.endings.end();
}

// The empty text where the name is good.
std::string problem_with(const WrittenFormat& format, const std::string& path) {
  if (path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/")) return {};
  const std::string ending = ending_of(path);
  if (ending.empty() || is_own(format, path) || (format.takes_others && !belongs_elsewhere(ending)))
    return {};
  std::filesystem::path better = std::filesystem::path(path).replace_extension();  // x.json of x.json.gz
  if (!is_own(format, better.string())) better += format.endings.front();
  return fmt::format("it writes {}, and '{}' is named as another file; write {}", format.what, path,
                     better.string());
}

}  // namespace

void check_file_endings(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    for (const WrittenFormat& format : written_formats()) {
      const std::string name = option->get_lnames().empty() ? "" : "--" + option->get_lnames().front();
      if (std::ranges::find(format.flags, name) == format.flags.end()) continue;
      option->check(
          CLI::Validator([&format](const std::string& path) { return problem_with(format, path); }, ""));
    }
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) check_file_endings(*command);
}

}  // namespace jitterscope::cli
