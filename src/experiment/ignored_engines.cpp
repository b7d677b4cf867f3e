#include "experiment/ignored_engines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "finding/finding.hpp"
#include "operation/engine.hpp"

namespace jitterscope {
namespace {

// Empty where what was asked for ran.
std::string ignored_by(const Result& result) {
  const auto found = std::ranges::find(result.findings, kEngineIgnoredFinding, &Finding::id);
  return found == result.findings.end() ? std::string() : found->sentence;
}

std::string ignored_by_either(const Result& first, const Result& second) {
  std::string sentence = ignored_by(first);
  return sentence.empty() ? ignored_by(second) : sentence;
}

std::string engine_asked(const Result& result) {
  const Operation* operation = operation_of(result.subject);
  return operation == nullptr ? std::string() : engine_of(*operation);
}

}  // namespace

std::string ignored_engine(const Result& first, const Result& second) {
  return engine_asked(first) == engine_asked(second) ? std::string() : ignored_by_either(first, second);
}

void note_ignored_engines(std::span<const RunRecord> processes, std::size_t alternatives,
                          ComparisonRecord& record) {
  if (processes.empty()) return;
  const std::vector<RunEntry>& entries = processes.front().entries;
  std::string first;
  int count = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Result &base = entries[i - i % alternatives].result, &other = entries[i].result;
    if (i % alternatives == 0 || engine_asked(base) != engine_asked(other)) continue;
    const std::string sentence = ignored_by_either(base, other);
    if (!sentence.empty() && count++ == 0) first = sentence;
  }
  if (count == 0) return;
  if (count > 1) first += fmt::format(" So in {} more comparison{}.", count - 1, count == 2 ? "" : "s");
  record.notes.push_back(first);
}

}  // namespace jitterscope
