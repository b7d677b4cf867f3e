#include "experiment/ignored_engines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "finding/finding.hpp"

namespace jitterscope {

void note_ignored_engines(std::span<const RunRecord> processes, ComparisonRecord& record) {
  if (processes.empty()) return;
  std::string first;
  int count = 0;
  for (const RunEntry& entry : processes.front().entries) {
    const auto& findings = entry.result.findings;
    const auto found = std::ranges::find(findings, kEngineIgnoredFinding, &Finding::id);
    if (found != findings.end() && count++ == 0) first = found->sentence;
  }
  if (count == 0) return;
  if (count > 1) first += fmt::format(" So in {} more operation{}.", count - 1, count == 2 ? "" : "s");
  record.notes.push_back(first);
}

}  // namespace jitterscope
