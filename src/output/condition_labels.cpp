#include "output/condition_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/names.hpp"
#include "measure/network_total.hpp"
#include "record/words.hpp"

namespace jitterscope {
namespace {

constexpr std::string_view kFreshExplained =
    "fresh: each launch takes the next of several sets of operands, so many that three times the last-level "
    "cache goes by before a set is taken again";

std::string_view meaning(CacheState state, bool fresh_data) {
  switch (state) {
    case CacheState::warm: return fresh_data ? "nothing is evicted" : "operands as the last launch left them";
    case CacheState::cold: return "no operand cached, other lines clean";
    case CacheState::dirty: return "no operand cached, other data's modified lines everywhere";
    case CacheState::produced: return "inputs just written by another kernel";
  }
  return "";
}

std::string_view meaning(Load load) {
  return load == Load::burst ? "short rounds with idle between" : "without pause until time and clock settle";
}

std::string_view meaning(QueueMode mode) {
  switch (mode) {
    case QueueMode::saturated: return "the queue is never empty";
    case QueueMode::eager: return "launched as a program would, host cost included where the host is slower";
    case QueueMode::graph: return "recorded and replayed";
  }
  return "";
}

template <class Value>
void explain_condition(std::vector<std::string>& sentences, Value value, std::string_view meant) {
  const std::string sentence = fmt::format("{}: {}", to_string(value), meant);
  if (std::find(sentences.begin(), sentences.end(), sentence) == sentences.end())
    sentences.push_back(sentence);
}

}  // namespace

ConditionLabels label_conditions(const RunRecord& record) {
  ConditionLabels result;
  result.conditions = distinct_conditions(record);
  const std::vector<Conditions>& all = result.conditions;
  const auto differs = [&](auto member) {
    return std::any_of(all.begin(), all.end(),
                       [&](const Conditions& c) { return c.*member != all[0].*member; });
  };
  const bool data_differs = differs(&Conditions::data), queue_differs = differs(&Conditions::queue);
  for (const Conditions& conditions : all) {
    std::string label = fmt::format("{} {}", to_string(conditions.cache), to_string(conditions.load));
    if (data_differs) label += fmt::format(" {}", data_word(conditions));
    if (queue_differs) label += fmt::format(" {}", to_string(conditions.queue));
    // Other times than those on the same data: said even where all are, as a label may be quoted alone.
    if (conditions.fresh_data) label += " fresh";
    result.labels.push_back(label);
  }
  return result;
}

std::string explain_conditions(const ConditionLabels& labels) {
  std::vector<std::string> caches, loads, queues, data;
  for (const Conditions& conditions : labels.conditions) {
    explain_condition(caches, conditions.cache, meaning(conditions.cache, conditions.fresh_data));
    explain_condition(loads, conditions.load, meaning(conditions.load));
    explain_condition(queues, conditions.queue, meaning(conditions.queue));
    const std::string word(data_word(conditions));
    if (std::find(data.begin(), data.end(), word) == data.end()) data.push_back(word);
  }
  std::vector<std::string> sentences = caches;
  sentences.insert(sentences.end(), loads.begin(), loads.end());
  sentences.insert(sentences.end(), queues.begin(), queues.end());
  if (!data.empty()) sentences.push_back("data: " + joined(data));
  if (std::ranges::any_of(labels.conditions, &Conditions::fresh_data))
    sentences.emplace_back(kFreshExplained);
  return joined(sentences, "; ");
}

}  // namespace jitterscope
