#include "experiment/ignored_engines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "finding/finding.hpp"
#include "measure/engine_choice.hpp"

namespace jitterscope {

void note_ignored_engines(std::span<const RunRecord> processes, ComparisonRecord& record) {
  if (processes.empty()) return;
  std::map<std::string, std::vector<std::string>> sentences;  // by the engine that was asked for
  for (const RunEntry& entry : processes.front().entries) {
    const auto& findings = entry.result.findings;
    const auto found = std::ranges::find(findings, kEngineIgnoredFinding, &Finding::id);
    if (found != findings.end()) {
      sentences[engine_of(*operation_of(entry.result.subject))].push_back(found->sentence);
    }
  }
  for (const auto& [engine, all] : sentences) {
    const std::size_t more = all.size() - 1;
    record.notes.push_back(all.front());
    if (more > 0)
      record.notes.back() += fmt::format(" So in {} more operation{}.", more, more == 1 ? "" : "s");
  }
}

}  // namespace jitterscope
