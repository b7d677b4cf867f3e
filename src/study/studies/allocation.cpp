#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"
#include "study/study.hpp"

// Studies of memory allocation.

namespace jitterscope::study::studies {

namespace {

Remedy allocation_remedy(Allocator by) {
  switch (by) {
    case Allocator::preallocated:
      return {{"output = torch.empty(shape, device=\"cuda\")  # once", "torch.mm(a, b, out=output)"},
              "The memory stays in use, and shapes are fixed."};
    case Allocator::cache:
      return {{"c10::cuda::CUDACachingAllocator::raw_alloc(bytes)"},
              "PyTorch's tensors use it already; other programs cannot use the memory that it keeps.",
              "In C++ beside PyTorch"};
    case Allocator::expandable:
      return {{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}, "", "In the environment of PyTorch"};
    case Allocator::pool:
      return {{"cudaMallocAsync(&pointer, bytes, stream)", "cudaFreeAsync(pointer, stream)"},
              "The pool gives its memory back at each wait for the GPU.",
              "In CUDA"};
    case Allocator::malloc:
    case Allocator::pool_kept: break;
  }
  return {
      {"cudaMallocAsync and cudaFreeAsync", "cudaMemPoolAttrReleaseThreshold of the pool at UINT64_MAX"},
      "Other programs cannot use the memory that the pool keeps; PyTorch has it as backend:cudaMallocAsync.",
      "In CUDA"};
}

// Returns the arms for those allocators that the device has. If launches return early the host's clock times
// them, because allocating is the host's work.
std::vector<Arm> allocation_arms(const StudyContext& context, const std::vector<Allocator>& allocators) {
  const DeviceCapabilities& can = context.description.capabilities;
  std::vector<Arm> arms;
  for (const Allocator by : allocators) {
    if (std::ranges::find(can.allocators, by) == can.allocators.end()) continue;
    Arm arm = changed_arm<Allocation>(
        std::string(to_string(by)), [by](Allocation& allocation) { allocation.by = by; },
        allocation_remedy(by));
    arm.apply = [apply = std::move(arm.apply), waits = can.launches_return_early](OperationTrial& trial) {
      apply(trial);
      if (waits && !trial.options.instrument) trial.options.instrument = Instrument::host;
    };
    arms.push_back(std::move(arm));
  }
  if (arms.size() < 2) {
    throw UsageError(context.description.id +
                     " is simulated and gives out no memory: use --device cpu or --device cuda");
  }
  return arms;
}

}  // namespace

// Allocator study. It varies who gives a launch its memory: the driver each time, a stream-ordered pool that
// returns memory when it is waited for or keeps it, lists of kept blocks as in PyTorch, or nobody
// (preallocated). Each block is filled, so times include the first touch where it is expensive (on a CPU; a
// GPU maps memory at allocation). It reports what a program waits for: launch and wait, by the host's clock.
// Limits: the wait costs some microseconds in every arm; other work during allocation is left out; on a busy
// GPU, cuMemFree waits longer than here.

namespace {

bool is_allocation_of_blocks(const Operation& operation) {
  const auto* allocation = std::get_if<Allocation>(&operation.parameters());
  return allocation != nullptr && allocation->pattern.empty();
}

std::vector<Arm> allocator_arms(const StudyContext& context) {
  using enum Allocator;
  return allocation_arms(context, {malloc, pool, pool_kept, cache, preallocated});
}

}  // namespace

Study allocator() {
  return {.id = "allocator",
          .question =
              "What does it cost to allocate and free memory in each launch, and which allocator is faster?",
          .concerns = "allocations of blocks (allocation:bytes=…,count=…)",
          .subject = "allocation:bytes=64Ki..64Mi*32,count=8",
          // A CPU takes seconds to touch half a GiB for the first time.
          .host_subject = "allocation:bytes=4Ki..1Mi*16,count=8",
          .can_be_asked_of = is_allocation_of_blocks,
          .arms = allocator_arms};
}

// Fragmentation study. It varies who gives the memory of a replayed pattern of allocations: the driver, a
// pool, a caching allocator like PyTorch's, the same with expandable segments, or nobody (every block has its
// place before). It reports the time of a replay, the peak memory taken from the device beside the peak in
// use, and the largest unused block. Limits: a pool does not say how its unused memory lies; a timed replay
// begins with what the last one left, as a training loop does, but the memory is that of a first replay; and
// mapped pages are never taken back from the address range, which PyTorch does when memory is full.

namespace {

bool is_pattern(const Operation& operation) {
  const auto* allocation = std::get_if<Allocation>(&operation.parameters());
  return allocation != nullptr && !allocation->pattern.empty();
}

// Preallocated memory is the baseline for the others, not a candidate: few programs can have it.
std::vector<Arm> fragmentation_arms(const StudyContext& context) {
  using enum Allocator;
  std::vector<Arm> arms = allocation_arms(context, {malloc, pool_kept, cache, expandable, preallocated});
  arms.back().is_bound = arms.back().name == to_string(preallocated);
  return arms;
}

std::string held_text(const std::string& arm, const HeldMemory& memory) {
  const double unused = 1.0 - memory.asked / memory.held;
  std::string text = fmt::format("{} takes {} ({} unused", arm, bytes_text(memory.held),
                                 percent_text(std::max(unused, 0.0)));
  if (memory.largest_free) text += fmt::format(", the largest block {}", bytes_text(*memory.largest_free));
  return text + ")";
}

// Returns the comparisons of the first pattern only: a sentence for each would bury the answer.
std::span<const Comparison> of_first_pattern(const ComparisonRecord& record) {
  const auto next =
      std::ranges::adjacent_find(record.comparisons, std::ranges::greater_equal(), &Comparison::alternative);
  const auto end = next == record.comparisons.end() ? next : next + 1;
  return {record.comparisons.begin(), end};
}

std::string held_memory_sentence(const ComparisonRecord& record) {
  std::vector<std::string> texts;
  std::optional<Bytes> asked;
  const auto add = [&](std::size_t alternative, const ComparedSide& side) {
    if (!side.held_memory || side.held_memory->held <= Bytes(0)) return;
    asked = side.held_memory->asked;
    texts.push_back(held_text(record.alternatives[alternative], *side.held_memory));
  };
  const std::span<const Comparison> pattern = of_first_pattern(record);
  if (!pattern.empty()) add(0, pattern.front().first);
  for (const Comparison& comparison : pattern) add(comparison.alternative, comparison.second);
  if (texts.empty()) return {};
  return fmt::format("At most {} are in use at once: {}.", bytes_text(*asked), joined(texts, "; "));
}

// Reports the cost of allocating: the time that preallocated memory saves.
std::string lost_time(const StudyResult& result) {
  const std::span<const Comparison> pattern = of_first_pattern(result.record);
  const auto is_bound = [&](const Comparison& each) { return result.arms[each.alternative].is_bound; };
  const auto bound = std::ranges::find_if(pattern, is_bound);
  if (bound == pattern.end() || !bound->failure.empty()) return {};
  const Nanoseconds least = bound->second.time.median;
  std::vector<std::string> texts;
  const auto add = [&](std::size_t alternative, Nanoseconds time) {
    texts.push_back(fmt::format("{} {}", result.record.alternatives[alternative],
                                time_text(std::max(time - least, Nanoseconds(0)))));
  };
  add(0, bound->first.time.median);
  for (const Comparison& each : pattern) {
    if (!is_bound(each) && each.failure.empty()) add(each.alternative, each.second.time.median);
  }
  return fmt::format("Allocating costs {} in a replay.", joined(texts, ", "));
}

Sentences what_is_lost(const StudyResult& result) {
  Sentences sentences;
  add(sentences, held_memory_sentence(result.record));
  add(sentences, lost_time(result));
  return sentences;
}

}  // namespace

Study fragmentation() {
  return {
      .id = "fragmentation",
      .question =
          "How much memory and time does a pattern of allocations waste, and which allocator wastes less?",
      .concerns = "patterns of allocations (allocation:pattern=FILE)",
      .subject = "allocation:pattern=@sequences",
      .host_subject = "allocation:pattern=@sequences,touch=0",  // filling would take all of the time
      .can_be_asked_of = is_pattern,
      .arms = fragmentation_arms,
      .details = what_is_lost};
}

}  // namespace jitterscope::study::studies
