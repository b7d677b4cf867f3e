#include "output/comparison_cells.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "output/operation_label.hpp"
#include "output/ratio_text.hpp"
#include "output/table.hpp"

namespace jitterscope {

std::string cache_and_load(const Conditions& conditions) {
  return fmt::format("{} {}", to_string(conditions.cache), to_string(conditions.load));
}

bool has_several_conditions(const ComparisonRecord& record) {
  return std::ranges::any_of(record.comparisons, [&](const Comparison& comparison) {
    return cache_and_load(comparison.first.conditions) !=
           cache_and_load(record.comparisons.front().first.conditions);
  });
}

std::string condition_of(const ComparisonRecord& record, const Comparison& comparison) {
  return has_several_conditions(record) ? cache_and_load(comparison.first.conditions) : std::string();
}

// A long name there would leave no room for the names of the rows.
std::string against(const std::string& first) {
  constexpr std::size_t kLongest = 16;
  return first.size() <= kLongest ? "against " + first : "against the first";
}

bool has_amounts(const ComparisonRecord& record) {
  return std::ranges::any_of(record.comparisons, [](const Comparison& each) {
    return each.first.amount.has_value() || each.second.amount.has_value();
  });
}

bool has_unlike_amounts(const ComparisonRecord& record) {
  return std::ranges::any_of(record.comparisons, [](const Comparison& each) {
    return each.first.amount && each.second.amount && each.first.amount->unit != each.second.amount->unit;
  });
}

std::string amount_text(const ComparedSide& side) {
  if (!side.amount) return std::string(kAbsent);
  const double per_second = side.amount->count / (side.time.median.value() * 1e-9);
  switch (side.amount->unit) {
    case Amount::Unit::loads:
      return time_text(side.time.median / side.amount->count, side.time.precision()) + " a load";
    case Amount::Unit::bytes: return rate_text(per_second, "B/s");
    case Amount::Unit::additions: return rate_text(per_second, " additions/s");
  }
  return std::string(kAbsent);
}

// By all of memory in one launch.
std::string moved_text(const ComparedSide& side) {
  const auto moved = side.counters ? moved_bytes(side.counters->reading) : std::nullopt;
  return moved ? bytes_text(*moved) : std::string(kAbsent);
}

std::string at_once_text(const ComparedSide& side) {
  if (!side.concurrency) return std::string(kAbsent);
  const std::int64_t streams = side.concurrency->streams;
  return fmt::format("{:.1f} on {} stream{}", side.concurrency->mean_at_once, streams,
                     streams == 1 ? "" : "s");
}

std::string operands_text(const ComparedSide& side) {
  const Operation* operation = operation_of(side.subject);
  return operation == nullptr ? std::string(kAbsent) : bytes_text(operation->bytes());
}

// Of its results against a float64 reference.
std::string error_text(const ComparedSide& side) {
  if (!side.verification) return std::string(kAbsent);
  const Verification& found = *side.verification;
  if (found.unwritten > 0) return fmt::format("{} unwritten WRONG", found.unwritten);
  return fmt::format("{:.1e}{}", found.relative_error, found.passed ? "" : " WRONG");
}

std::string change_text(const Comparison& comparison) {
  return is_wrong(comparison) ? std::string(kAbsent) : change_of(comparison.time);
}

std::string verdict_text(const Comparison& comparison) {
  return std::string(is_wrong(comparison) ? "WRONG RESULT" : to_string(comparison.verdict));
}

bool has_errors(const ComparisonRecord& record) {
  const auto has_error = [](const ComparedSide& side) {
    return side.verification && (side.verification->relative_error != 0.0 || !side.verification->passed);
  };
  return std::ranges::any_of(record.comparisons, [&](const Comparison& each) {
    return has_error(each.first) || has_error(each.second);
  });
}

// A layer's first name; operations that were typed by what sets them apart.
std::vector<std::string> row_labels(const std::vector<const Comparison*>& rows) {
  std::vector<std::string> operations;
  for (const Comparison* row : rows) operations.push_back(to_string(row->first.subject));
  std::vector<std::string> labels = label_operations(operations).labels;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i]->layers.empty()) labels[i] = rows[i]->layers.front();
  }
  return labels;
}

// Of as much work as one launch of the first does.
std::string same_work_text(const ComparisonRecord& record, const ComparedSide& side,
                           std::size_t alternative) {
  return time_text(side.time.median / work_of(record, alternative), side.time.precision());
}

// Of all that an alternative computed.
std::string largest_error_text(const ComparisonRecord& record, std::size_t alternative) {
  const ComparedSide* worst = nullptr;
  for (const Comparison& comparison : record.comparisons) {
    const ComparedSide& side = alternative == 0 ? comparison.first : comparison.second;
    if ((alternative > 0 && comparison.alternative != alternative) || !side.verification) continue;
    if (worst == nullptr || side.verification->relative_error > worst->verification->relative_error) {
      worst = &side;
    }
  }
  return worst == nullptr ? std::string(kAbsent) : error_text(*worst);
}

}  // namespace jitterscope
