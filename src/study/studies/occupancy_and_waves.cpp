#include <algorithm>

#include <fmt/format.h>

#include "jitterscope/error.hpp"
#include "operation/cuda_kernel.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

// Occupancy study. It varies how many threads of the user's kernel make a block, with the same total, and how
// much shared memory a block takes, so that fewer run at once. It reports time and occupancy. Limit: a kernel
// whose threads cooperate in a block, or that is written for one block size, computes something else with
// another; a reference shows that.

namespace jitterscope::study::studies {
namespace {

bool has_blocks_in_a_row(const Operation& operation) {
  const CudaKernel* kernel = kernel_of(operation);
  return kernel != nullptr && kernel->block[1] == 1 && kernel->block[2] == 1;
}

std::int64_t threads_along(const CudaKernel& kernel) { return kernel.grid[0] * kernel.block[0]; }

Arm block_arm(std::int64_t threads) {
  const std::string name = fmt::format("block={}", threads);
  const auto change = [threads](CudaKernel& kernel) {
    kernel.grid[0] = threads_along(kernel) / threads;
    kernel.block[0] = threads;
  };
  return changed_arm<CudaKernel>(
      name, change, {{name}, "Use as many blocks as give the same number of threads.", "At the launch"});
}

// Allocates memory that the kernel does not use, so that a processor has room for fewer blocks.
Arm shared_arm(std::int64_t bytes) {
  const std::string name = fmt::format("shared={}Ki", bytes / 1024);
  Arm arm = changed_arm<CudaKernel>(
      name, [bytes](CudaKernel& kernel) { kernel.shared = std::max(kernel.shared, bytes); },
      {{name}, "Fewer blocks run at once, and share the caches.", "At the launch"});
  arm.value = SharedMemory();
  return arm;
}

// More threads than asked for could write outside of a buffer, so blocks must divide them evenly.
bool parts_evenly(const StudyContext& context, std::int64_t threads) {
  return std::ranges::all_of(context.operations, [&](const Operation& operation) {
    const CudaKernel& kernel = *kernel_of(operation);
    return threads_along(kernel) % threads == 0 && kernel.registers * threads <= kRegistersOfAProcessor;
  });
}

bool takes_less_shared(const StudyContext& context, std::int64_t bytes) {
  return std::ranges::all_of(
      context.operations, [&](const Operation& operation) { return kernel_of(operation)->shared < bytes; });
}

std::vector<Arm> occupancy_arms(const StudyContext& context) {
  const std::int64_t own = kernel_of(context.operations.front())->block[0];
  std::vector<Arm> arms;
  if (!parts_evenly(context, own)) {
    throw UsageError("the kernels have different block shapes; study one of them at a time");
  }
  arms.push_back(block_arm(own));
  for (const std::int64_t threads : {64, 128, 256, 512, 1024}) {
    if (threads != own && parts_evenly(context, threads)) arms.push_back(block_arm(threads));
  }
  if (arms.size() < 2) {
    throw UsageError(
        "no other block size divides the threads evenly; use a grid so that grid times block is a "
        "multiple of 64");
  }
  // A processor has 64 KiB (Turing) to 228 KiB (Hopper) for its blocks.
  constexpr std::int64_t kKibibyte = 1024;
  for (const std::int64_t bytes : {24 * kKibibyte, 48 * kKibibyte, 64 * kKibibyte}) {
    if (takes_less_shared(context, bytes)) arms.push_back(shared_arm(bytes));
  }
  return arms;
}

Sentences cost_of_shared_memory(const StudyResult& result) {
  const std::vector<ArmOutcome> outcomes = arm_outcomes(result.record);
  const auto fullest = std::ranges::find_if(outcomes, [&](const ArmOutcome& outcome) {
    return value_of<SharedMemory>(result, outcome.alternative) != nullptr && is_slower(outcome) &&
           !outcome.is_wrong;
  });
  if (fullest == outcomes.end()) return {};
  return {fmt::format("Shared memory that leaves room for fewer blocks costs time from {} on, which is {}.",
                      fullest->name, speed_against(fullest->time, result.record.alternatives.front()))};
}

}  // namespace

Study occupancy() {
  return {.id = "occupancy",
          .question = "Which size of blocks makes a kernel fastest, and does shared memory limit them?",
          .concerns = "kernels of your own (cuda:FILE.cu:KERNEL) with one-dimensional blocks",
          .is_about_kernels = true,
          .asks_for_reference = true,
          .shows_what_ran = true,
          .subject =
              "cuda:@saxpy:saxpy,reference=saxpy_reference,n=16Mi,a=2.5,block=256,grid=n/block,x=f32[n],"
              "y=inout:f32[n]",
          .can_be_asked_of = has_blocks_in_a_row,
          .arms = occupancy_arms,
          .details = cost_of_shared_memory};
}

// Waves study. It varies how many blocks share the same work: as many as run at once (a wave), a hundredth
// more, half a wave more, and two waves. It reports time: with more blocks each has less to do, but leftover
// blocks run alone. Limits: the kernel must compute the same with any grid, which its reference shows; the
// user's grid must be one wave.

namespace {

bool has_grid_and_reference(const Operation& operation) {
  const CudaKernel* kernel = kernel_of(operation);
  return kernel != nullptr && !kernel->reference.empty() && kernel->grid[1] == 1 && kernel->grid[2] == 1;
}

std::vector<Arm> waves_arms(const StudyContext&) {
  const auto arm = [](const char* name, std::int64_t hundredths) {
    return changed_arm<CudaKernel>(
        name, [hundredths](CudaKernel& kernel) { kernel.grid[0] = (kernel.grid[0] * hundredths + 99) / 100; },
        {{fmt::format("a grid of {}", name)},
         "Threads then take elements in turn, in steps of the grid's size.",
         "At the launch"});
  };
  return {arm("1 wave", 100), arm("1.01 waves", 101), arm("1.5 waves", 150), arm("2 waves", 200)};
}

// A block on each processor, with 96 elements for each thread, which can be divided by 1.5 and 2.
std::string waves_subject(const DeviceDescription& device) {
  constexpr std::int64_t kElements = 96, kThreads = 1024;
  return fmt::format(
      "cuda:@waves:waves,reference=waves_reference,grid={},block={},n={},x=f32[n],y=out:f32[n]",
      device.processors, kThreads, device.processors * kElements * kThreads);
}

Sentences waves_answer(const StudyResult& result) {
  const std::vector<ArmOutcome> outcomes = right_outcomes(result);
  Sentences sentences;
  if (outcomes.empty()) {
    add(sentences, "No grid but the first has a time.");
  } else if (const ArmOutcome* worst = slowest_of(outcomes, is_slower)) {
    add(sentences, fmt::format("**The same work in {} is {}**. The blocks of the last wave run while other "
                               "processors have nothing to do.",
                               worst->name, speed_against(worst->time, result.record.alternatives.front())));
    add(sentences, "Use whole waves, or so many blocks that the last wave hardly matters.");
  } else if (any_undecided(outcomes)) {
    add(sentences, not_decided("whether a wave that is not full costs time"));
  } else {
    add(sentences, "**A wave that is not full costs nothing here**: no grid is slower than the first.");
  }
  add(sentences, wrong_results(result));
  return sentences;
}

}  // namespace

Study waves() {
  return {.id = "waves",
          .question = "What does a last wave of blocks cost if it is not full?",
          .concerns =
              "kernels of your own with reference= that give the same result with any grid; the grid given "
              "is one wave",
          .is_remedy = false,
          .is_about_kernels = true,
          .shows_what_ran = true,
          .make_subject = waves_subject,
          .can_be_asked_of = has_grid_and_reference,
          .arms = waves_arms,
          .answer = waves_answer};
}

}  // namespace jitterscope::study::studies
