#include "output/doctor_table.hpp"

#include <fmt/format.h>

#include <array>

#include "base/quantity_text.hpp"
#include "output/display_text.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kTextColumn = 11;  // behind the longest mark

std::string_view mark(Check::Status status) {
  switch (status) {
    case Check::Status::good: return "ok";
    case Check::Status::limits: return "limits";
    case Check::Status::missing: return "missing";
  }
  return "";
}

// All lines stand in one column, so that the marks can be read down the page.
std::string in_column(std::string_view first_mark, const std::string& text, std::size_t width) {
  std::string lines = wrapped(text, width - kTextColumn);
  lines.insert(0, fmt::format("  {:<{}}", first_mark, kTextColumn - 2));
  for (std::size_t end = lines.find('\n'); end + 1 < lines.size(); end = lines.find('\n', end + 1)) {
    lines.insert(end + 1, kTextColumn, ' ');
  }
  return lines;
}

std::string check_text(const Check& check, std::size_t width) {
  const std::string sentence = fmt::format("{}: {}", one_line(check.subject), one_line(check.sentence));
  std::string text = in_column(mark(check.status), sentence, width);
  if (!check.remedy.empty()) text += in_column("", "remedy: " + one_line(check.remedy), width);
  return text;
}

std::string summary(const std::vector<DoctorSection>& sections) {
  std::array<std::int64_t, 3> counts{};
  for (const DoctorSection& section : sections) {
    for (const Check& check : section.checks) ++counts[static_cast<std::size_t>(check.status)];
  }
  return fmt::format("{} ok; {} what can be measured here; {} missing.\n", counts[0],
                     counted(counts[1], "line") + (counts[1] == 1 ? " limits" : " limit"), counts[2]);
}

}  // namespace

std::string doctor_text(const DoctorReport& report, std::size_t width) {
  const std::vector<DoctorSection>& sections = report.sections;
  std::string text;
  for (const DoctorSection& section : sections) {
    text += section.heading + '\n';
    for (const Check& check : section.checks) text += check_text(check, width);
    text += '\n';
  }
  text += summary(sections);
  if (!report.device.id.empty()) {
    text += fmt::format("Believe the tool here? jitterscope selftest --device {}\n", report.device.id);
  }
  return text;
}

}  // namespace jitterscope
