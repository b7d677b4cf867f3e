#include "experiment/unlike_work.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "measure/achieved_rate.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kNamedPairs = 3;

}  // namespace

std::string unlike_work(const Operation& first, const Operation& second) {
  std::vector<std::string> parts;
  if (first.flops() != second.flops()) {
    parts.push_back(
        fmt::format("{} and {}", rate_text(first.flops(), "FLOP"), rate_text(second.flops(), "FLOP")));
  }
  if (first.bytes() != second.bytes()) {
    parts.push_back(fmt::format("{} and {} to move", bytes_text(first.bytes()), bytes_text(second.bytes())));
  }
  return joined(parts);
}

std::string unlike_work_sentence(const std::string& first_label, const Operation& first,
                                 const std::string& second_label, const Operation& second) {
  const std::string difference = unlike_work(first, second);
  if (difference.empty()) return {};
  return fmt::format("{} and {} are unlike work: {}.", first_label, second_label, difference);
}

void UnlikeWork::add(const std::string& name, const Operation& first, const Operation& second,
                     std::int64_t count) {
  all_ += count;
  const std::string difference = unlike_work(first, second);
  if (difference.empty()) return;
  unlike_ += count;
  if (examples_.size() < kNamedPairs) examples_.push_back(fmt::format("{}: {}", name, difference));
}

std::string UnlikeWork::sentence(const std::string& first_label, const std::string& second_label) const {
  if (unlike_ == 0) return {};
  return fmt::format("{} of {} layers are unlike work in {} and {}, as {}.", unlike_, all_, first_label,
                     second_label, joined(examples_, "; "));
}

void note_unlike_layers(ComparisonRecord& record) {
  UnlikeWork unlike;
  std::vector<const Comparison*> known;
  for (const Comparison& each : record.comparisons) {
    const Operation *first = operation_of(each.first.subject), *second = operation_of(each.second.subject);
    // Each pair once, though it has a comparison in each kind of conditions.
    const bool is_known = std::ranges::any_of(known, [&](const Comparison* other) {
      return other->layers == each.layers && other->first.subject == each.first.subject;
    });
    if (first == nullptr || second == nullptr || is_known) continue;
    known.push_back(&each);
    if (each.layers.empty()) {
      const std::string note = unlike_work_sentence(to_string(*first), *first, to_string(*second), *second);
      if (!note.empty()) record.notes.push_back(note);
      continue;
    }
    unlike.add(each.layers.front(), *first, *second, each.count);
  }
  const std::string sentence = unlike.sentence(record.alternatives[0], record.alternatives[1]);
  if (!sentence.empty()) record.notes.push_back(sentence);
}

void note_only_moved(ComparisonRecord& record) {
  const auto is_moved = [&](const ComparedSide& side) {
    const Operation* operation = operation_of(side.subject);
    return operation != nullptr && is_only_moved(*operation, record.device);
  };
  const bool any = std::ranges::any_of(record.comparisons, [&](const Comparison& each) {
    return is_moved(each.first) || is_moved(each.second);
  });
  if (any) record.notes.emplace_back(kOnlyMoved);
}

}  // namespace jitterscope
