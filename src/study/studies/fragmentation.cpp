// Fragmentation. Varies who gives the memory of a replayed pattern of allocations: the driver, a pool, a
// caching allocator as PyTorch's, the same with expandable segments, or nobody, as every block has its place
// before. Reports the time of a replay, the most memory that each took of the device beside the most that was
// in use at once, and the largest block that was unused meanwhile. Can go wrong: a pool does not say how its
// unused memory lies; a replay begins with what the last one left, as a training loop does, but the memory is
// that of a first one; and pages that the range once got are not taken back from it, which PyTorch does when
// memory is full.
#include <fmt/format.h>

#include <algorithm>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "study/answers.hpp"
#include "study/studies/allocations.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

bool is_pattern(const Operation& operation) {
  const auto* allocation = std::get_if<Allocation>(&operation.parameters());
  return allocation != nullptr && !allocation->pattern.empty();
}

std::vector<Arm> fragmentation_arms(const StudyContext& context) {
  using enum Allocator;
  return allocation_arms(context, {malloc, pool_kept, cache, expandable, preallocated});
}

// On a CPU, filling would take all of the time.
std::string fragmentation_subject(const DeviceDescription& device) {
  return device.capabilities.is_host ? "allocation:pattern=@sequences,touch=0"
                                     : "allocation:pattern=@sequences";
}

std::string held_text(const std::string& arm, const HeldMemory& memory) {
  const double unused = 1.0 - memory.asked / memory.held;
  std::string text = fmt::format("{} takes {} ({} unused", arm, bytes_text(memory.held),
                                 percent_text(std::max(unused, 0.0)));
  if (memory.largest_free) text += fmt::format(", the largest block {}", bytes_text(*memory.largest_free));
  return text + ")";
}

// Of the first pattern alone: a sentence for each would bury the answer.
std::vector<std::string> memory_sentences(const ComparisonRecord& record) {
  std::vector<std::string> texts;
  std::optional<Bytes> asked;
  const auto add = [&](std::size_t alternative, const ComparedSide& side) {
    if (!side.held_memory || side.held_memory->held <= Bytes(0)) return;
    asked = side.held_memory->asked;
    texts.push_back(held_text(record.alternatives[alternative], *side.held_memory));
  };
  std::size_t last = 0;
  for (const Comparison& comparison : record.comparisons) {
    if (comparison.alternative <= last) break;
    if (last == 0) add(0, comparison.first);
    last = comparison.alternative;
    add(last, comparison.second);
  }
  if (texts.empty()) return {};
  return {fmt::format("Of {} in use at once at most, {}.", bytes_text(*asked), joined(texts, "; "))};
}

// What allocating costs beside the work: what is gone where every block has its place.
std::vector<std::string> lost_time(const ComparisonRecord& record) {
  const auto none = std::ranges::find(record.alternatives, to_string(Allocator::preallocated));
  std::vector<std::string> texts;
  const auto add = [&](std::size_t alternative, Nanoseconds time, Nanoseconds least) {
    texts.push_back(fmt::format("{} {}", record.alternatives[alternative],
                                time_text(std::max(time - least, Nanoseconds(0)))));
  };
  const auto preallocated = static_cast<std::size_t>(none - record.alternatives.begin());
  const auto found = std::ranges::find(record.comparisons, preallocated, &Comparison::alternative);
  if (found == record.comparisons.end() || !found->failure.empty()) return {};
  const Nanoseconds least = found->second.time.median;
  add(0, found->first.time.median, least);
  std::size_t last = 0;
  for (const Comparison& comparison : record.comparisons) {
    if (comparison.alternative <= last) break;
    last = comparison.alternative;
    if (last != preallocated && comparison.failure.empty()) add(last, comparison.second.time.median, least);
  }
  return {fmt::format("Allocating costs {} in a replay.", joined(texts, ", "))};
}

// A place for each block is what the others are measured by: few programs can have that.
ComparisonRecord without_preallocated(ComparisonRecord record) {
  std::erase_if(record.comparisons, [&](const Comparison& comparison) {
    return record.alternatives[comparison.alternative] == to_string(Allocator::preallocated);
  });
  return record;
}

std::vector<std::string> fragmentation_answer(const ComparisonRecord& record) {
  const ComparisonRecord allocating = without_preallocated(record);
  std::vector<std::string> sentences;
  if (!allocating.comparisons.empty()) sentences = answer_by_fastest(allocating, allocation_remedy);
  for (std::string& sentence : memory_sentences(record)) sentences.push_back(std::move(sentence));
  for (std::string& sentence : lost_time(record)) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace

Study fragmentation() {
  return {.id = "fragmentation",
          .question = "How much memory and time does a pattern of allocations lose, and who loses less?",
          .concerns = "patterns of allocations (allocation:pattern=FILE)",
          .subject = fragmentation_subject,
          .can_be_asked_of = is_pattern,
          .arms = fragmentation_arms,
          .remedy = allocation_remedy,
          .answer = fragmentation_answer};
}

}  // namespace jitterscope::study::studies
