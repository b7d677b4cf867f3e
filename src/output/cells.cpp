#include "output/cells.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "measure/rates_and_totals.hpp"
#include "operation/parse.hpp"
#include "output/text.hpp"
#include "record/words.hpp"

namespace jitterscope {

std::string estimate_text(const TimeEstimate& estimate) {
  if (estimate.rounds == 0) return std::string(kAbsent);
  if (has_interval(estimate)) {
    const double precision = estimate.precision();
    const std::string median = time_text(estimate.median, precision);
    if (reads_as_plus_minus(estimate)) return fmt::format("{} ± {}", median, percent_text(precision));
    return fmt::format("{} ({})", median, time_range_text(estimate.low, estimate.high, precision));
  }
  return fmt::format("{}, no interval ({})", time_text(estimate.median), counted(estimate.rounds, "round"));
}

Headline headline_of(std::string subject, const TimeEstimate& estimate) {
  const double precision = estimate.precision();
  Headline headline{.subject = std::move(subject), .number = time_text(estimate.median, precision)};
  if (!has_interval(estimate)) {
    headline.error = "no interval";
  } else if (reads_as_plus_minus(estimate)) {
    headline.error = "± " + percent_text(precision);
  } else {
    headline.error = time_range_text(estimate.low, estimate.high, precision);
  }
  return headline;
}

Headline headline_of(std::string subject, const RatioEstimate& ratio) {
  const ChangeWords words = change_words_of(ratio);
  return {.subject = std::move(subject),
          .number = words.change,
          .error = words.interval.empty() ? "" : fmt::format("({})", words.interval)};
}

namespace {

bool contains(std::span<const std::string> shares, std::string_view word) {
  return std::ranges::find(shares, word) != shares.end();
}

}  // namespace

std::string ceiling_words_explained(std::span<const std::string> shares) {
  std::vector<std::string> sentences;
  if (contains(shares, kInCache)) {
    sentences.emplace_back("in cache: faster than DRAM, because the operands stay in a cache.");
  }
  if (contains(shares, kAboveCeiling)) {
    sentences.emplace_back(
        "above: faster than the large product measured as the ceiling, so the real ceiling is not known; "
        "other work on the machine may have slowed that product.");
  }
  return joined(sentences, " ");
}

std::string rate_text(const AchievedRate& rate) {
  return rate_text(rate.per_second, rate.compute_bound ? "FLOP/s" : "B/s");
}

std::string share_text(const AchievedRate& rate) {
  if (!rate.ceiling_share) return {};
  if (rate.is_above_ceiling()) return std::string(rate.compute_bound ? kAboveCeiling : kInCache);
  return percent_text(std::min(*rate.ceiling_share, 1.0));
}

std::string counted_bytes_text(const CounterReading& reading, CounterQuantity quantity) {
  const auto bytes = counted_value(reading, quantity);
  return bytes ? bytes_text(Bytes(static_cast<std::int64_t>(*bytes))) : "";
}

std::string counted_share_text(const CounterReading& reading, CounterQuantity quantity) {
  const auto percent = counted_value(reading, quantity);
  return percent ? percent_text(*percent / 100.0) : "";
}

std::string moved_share_text(const CounterReading& reading, Bytes least) {
  const auto moved = moved_bytes(reading);
  if (!moved || least <= Bytes(0)) return {};
  return percent_text(static_cast<double>(moved->value()) / static_cast<double>(least.value()));
}

std::string stalls_text(const CounterReading& reading, std::size_t most) {
  std::vector<const CounterValue*> stalls;
  for (const CounterValue& value : reading.values) {
    if (value.quantity == CounterQuantity::stalled && value.value && *value.value > 0)
      stalls.push_back(&value);
  }
  std::ranges::stable_sort(
      stalls, [](const CounterValue* a, const CounterValue* b) { return *a->value > *b->value; });
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < std::min(most, stalls.size()); ++i) {
    texts.push_back(one_line(stalls[i]->stall_reason) + " " + percent_text(*stalls[i]->value / 100.0));
  }
  return joined(texts);
}

namespace {

constexpr std::string_view kChainSteps = "chain:[";

struct Parts {
  std::string kind;
  std::vector<std::pair<std::string, std::string>> parameters;
};

Parts split(std::string_view text) {
  const std::size_t colon = text.find(':');
  // A callable's name may hold anything, and has no parameters. PyTorch's operators have no keys.
  const bool is_pytorch_operator = text.substr(std::min(colon, text.size())).starts_with("::");
  if (colon == std::string_view::npos || text.find('=', colon) == std::string_view::npos ||
      is_pytorch_operator) {
    return {std::string(text), {}};
  }
  // A user's kernel stays whole with its file, because the commas in its brackets separate nothing. A chain
  // stays whole with its steps.
  const std::string_view kind = text.substr(0, colon);
  const std::size_t subject = subject_end(kind, text.substr(colon + 1));
  const std::size_t head = subject > 0 ? colon + 1 + subject : colon;
  Parts parts{std::string(text.substr(0, head)), {}};
  std::string_view rest = text.substr(std::min(text.size(), head + 1));
  while (!rest.empty()) {
    const std::string_view item = rest.substr(0, parameter_end(kind, rest));
    rest.remove_prefix(std::min(rest.size(), item.size() + 1));
    const std::size_t equals = std::min(item.find('='), item.size());
    parts.parameters.emplace_back(item.substr(0, equals), item.substr(std::min(item.size(), equals + 1)));
  }
  return parts;
}

// Returns keys that occur at least twice, with one value, in every operation of their kinds. Excludes keys of
// a single kind among others: the kind's name says as much.
std::set<std::string> common_keys(const std::vector<Parts>& operations) {
  std::map<std::string, std::int64_t> rows_of_kind;
  std::map<std::string, std::set<std::string>> kinds, values;
  std::map<std::string, std::int64_t> rows;
  for (const Parts& parts : operations) {
    ++rows_of_kind[parts.kind];
    for (const auto& [key, value] : parts.parameters) {
      kinds[key].insert(parts.kind);
      values[key].insert(value);
      ++rows[key];
    }
  }
  std::set<std::string> common;
  for (const auto& [key, count] : rows) {
    std::int64_t expected = 0;
    for (const std::string& kind : kinds[key]) expected += rows_of_kind[kind];
    const bool widespread = kinds[key].size() > 1 || rows_of_kind.size() == 1;
    if (widespread && count >= 2 && count == expected && values[key].size() == 1) common.insert(key);
  }
  return common;
}

bool explains_itself(const std::string& key) {
  return key == "dtype" || key == "layout" || key == "direction";
}

std::string label(const Parts& parts, const std::set<std::string>& common) {
  std::string words = parts.kind;
  std::vector<std::string> pairs;
  for (const auto& [key, value] : parts.parameters) {
    if (common.contains(key)) continue;
    if (explains_itself(key)) {
      words += ' ' + value;
    } else {
      pairs.push_back(key + '=' + value);
    }
  }
  if (pairs.empty()) return words;
  // A table may cut a long label, so a chain's long steps come last.
  if (words.starts_with(kChainSteps)) return joined(pairs, ",") + ' ' + words.substr(kChainSteps.size() - 1);
  return words + ' ' + joined(pairs, ",");
}

}  // namespace

OperationLabels label_operations(std::span<const std::string> operations) {
  std::vector<Parts> all;
  for (const std::string& text : operations) all.push_back(split(text));
  const std::set<std::string> common = common_keys(all);
  OperationLabels result;
  std::set<std::string> named;
  std::vector<std::string> left_out;
  for (const Parts& parts : all) {
    result.labels.push_back(label(parts, common));
    for (const auto& [key, value] : parts.parameters) {
      if (common.contains(key) && named.insert(key).second) left_out.push_back(key + '=' + value);
    }
  }
  result.common = joined(left_out, ",");
  return result;
}

namespace {

constexpr std::string_view kFreshExplained =
    "fresh: each launch takes the next of several sets of operands, together three times as large as the "
    "last-level cache";

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
    case QueueMode::eager:
      return "launched as a program would, including the host's time where the host is slower";
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
    // Times on fresh data differ: always named, because a label may be quoted alone.
    if (conditions.fresh_data) label += " fresh";
    result.labels.push_back(label);
  }
  return result;
}

Text without_results(bool interrupted, std::string_view all, std::string_view nothing,
                     std::span<const std::string> reasons, std::size_t width) {
  Text text = wrapped(
      interrupted ? fmt::format("Interrupted before all {} were timed once: there are no results.", all)
                  : fmt::format("No {} was timed.", nothing),
      width);
  if (!reasons.empty()) text += "\n";
  for (const std::string& reason : reasons) text += list_item(one_line(reason), width);
  return text;
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
