// Allocator. Varies who gives a launch its memory: the driver each time, a stream-ordered pool that gives
// memory back when it is waited for or keeps it, lists of kept blocks as in PyTorch, or nobody, as all is
// there before. Each block is filled, so that a first touch is in the times where it costs something (it does
// on a CPU; a GPU maps memory when it is allocated). Reports what a program waits for: launch and wait, by
// the host's clock. Can go wrong: the wait costs some microseconds in every arm, and what else runs while
// memory is given out is left out; on a busy GPU, cuMemFree waits longer than here.
#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "study/answers.hpp"
#include "study/studies/allocations.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
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
          .question = "What does memory cost that each launch allocates and frees, and who gives it faster?",
          .concerns = "allocations of blocks (allocation:bytes=…,count=…)",
          .subject = allocator_subject,
          .can_be_asked_of = is_allocation_of_blocks,
          .arms = allocator_arms,
          .remedy = allocation_remedy,
          .answer = allocator_answer};
}

}  // namespace jitterscope::study::studies
