#include <algorithm>
#include <string>
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

/// Returns the arms for those allocators that the device has. If launches return early the host's clock times
/// them, because allocating is the host's work. Throws UsageError if there is nothing to compare.
std::vector<Arm> allocation_arms(const StudyContext& context, const std::vector<Allocator>& allocators);

Remedy allocation_remedy(const std::string& arm);

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

// A CPU takes seconds to touch half a GiB for the first time.
std::string allocator_subject(const DeviceDescription& device) {
  return device.capabilities.is_host ? "allocation:bytes=4Ki..1Mi*16,count=8"
                                     : "allocation:bytes=64Ki..64Mi*32,count=8";
}

std::vector<std::string> allocator_answer(const ComparisonRecord& record) {
  return answer_by_fastest(record, allocation_remedy);
}

}  // namespace

Study allocator() {
  return {.id = "allocator",
          .question =
              "What does it cost to allocate and free memory in each launch, and which allocator is faster?",
          .concerns = "allocations of blocks (allocation:bytes=…,count=…)",
          .subject = allocator_subject,
          .can_be_asked_of = is_allocation_of_blocks,
          .arms = allocator_arms,
          .remedy = allocation_remedy,
          .answer = allocator_answer};
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

// Reports the first pattern only: a sentence for each would bury the answer.
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
  return {fmt::format("At most {} are in use at once: {}.", bytes_text(*asked), joined(texts, "; "))};
}

// Reports the cost of allocating: the time that preallocated memory saves.
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

// Preallocated memory is the baseline for the others, not a candidate: few programs can have it.
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
  return {
      .id = "fragmentation",
      .question =
          "How much memory and time does a pattern of allocations waste, and which allocator wastes less?",
      .concerns = "patterns of allocations (allocation:pattern=FILE)",
      .subject = fragmentation_subject,
      .can_be_asked_of = is_pattern,
      .arms = fragmentation_arms,
      .remedy = allocation_remedy,
      .answer = fragmentation_answer};
}

std::vector<Arm> allocation_arms(const StudyContext& context, const std::vector<Allocator>& allocators) {
  const DeviceCapabilities& can = context.description.capabilities;
  std::vector<Arm> arms;
  for (const Allocator by : allocators) {
    if (std::ranges::find(can.allocators, by) == can.allocators.end()) continue;
    arms.push_back(
        {std::string(to_string(by)), [by, waits = can.launches_return_early](OperationTrial& trial) {
           Allocation allocation = std::get<Allocation>(trial.operation.parameters());
           allocation.by = by;
           trial.operation = Operation(allocation);
           if (waits && !trial.options.instrument) trial.options.instrument = Instrument::host;
         }});
  }
  if (arms.size() < 2) {
    throw UsageError(context.description.id +
                     " is simulated and gives out no memory: use --device cpu or --device cuda");
  }
  return arms;
}

Remedy allocation_remedy(const std::string& arm) {
  if (arm == to_string(Allocator::preallocated)) {
    return {{"output = torch.empty(shape, device=\"cuda\")  # once", "torch.mm(a, b, out=output)"},
            "The memory stays in use, and shapes are fixed."};
  }
  if (arm == to_string(Allocator::cache)) {
    return {{"c10::cuda::CUDACachingAllocator::raw_alloc(bytes)"},
            "PyTorch's tensors use it already; other programs cannot use the memory that it keeps.",
            "In C++ beside PyTorch"};
  }
  if (arm == to_string(Allocator::expandable)) {
    return {{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}, "", "In the environment of PyTorch"};
  }
  if (arm == to_string(Allocator::pool)) {
    return {{"cudaMallocAsync(&pointer, bytes, stream)", "cudaFreeAsync(pointer, stream)"},
            "The pool gives its memory back at each wait for the GPU.",
            "In CUDA"};
  }
  return {
      {"cudaMallocAsync and cudaFreeAsync", "cudaMemPoolAttrReleaseThreshold of the pool at UINT64_MAX"},
      "Other programs cannot use the memory that the pool keeps; PyTorch has it as backend:cudaMallocAsync.",
      "In CUDA"};
}

}  // namespace jitterscope::study::studies
