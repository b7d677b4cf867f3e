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
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  return kernel != nullptr && kernel->block[1] == 1 && kernel->block[2] == 1;
}

std::int64_t threads_along(const CudaKernel& kernel) { return kernel.grid[0] * kernel.block[0]; }

Arm occupancy_arm(std::int64_t threads) {
  return {fmt::format("block={}", threads), [threads](OperationTrial& trial) {
            CudaKernel kernel = std::get<CudaKernel>(trial.operation.parameters());
            kernel.grid[0] = threads_along(kernel) / threads;
            kernel.block[0] = threads;
            trial.operation = Operation(std::move(kernel));
          }};
}

// Allocates memory that the kernel does not use, so that a processor has room for fewer blocks.
Arm shared_arm(std::int64_t bytes) {
  return {fmt::format("shared={}Ki", bytes / 1024), [bytes](OperationTrial& trial) {
            CudaKernel kernel = std::get<CudaKernel>(trial.operation.parameters());
            kernel.shared = std::max(kernel.shared, bytes);
            trial.operation = Operation(std::move(kernel));
          }};
}

// More threads than asked for could write outside of a buffer, so blocks must divide them evenly.
bool parts_evenly(const StudyContext& context, std::int64_t threads) {
  return std::ranges::all_of(context.operations, [&](const Operation& operation) {
    const auto& kernel = std::get<CudaKernel>(operation.parameters());
    return threads_along(kernel) % threads == 0 && kernel.registers * threads <= kRegistersOfAProcessor;
  });
}

bool takes_less_shared(const StudyContext& context, std::int64_t bytes) {
  return std::ranges::all_of(context.operations, [&](const Operation& operation) {
    return std::get<CudaKernel>(operation.parameters()).shared < bytes;
  });
}

std::vector<Arm> occupancy_arms(const StudyContext& context) {
  const std::int64_t own = std::get<CudaKernel>(context.operations.front().parameters()).block[0];
  std::vector<Arm> arms;
  if (!parts_evenly(context, own)) {
    throw UsageError("the kernels have different block shapes; study one of them at a time");
  }
  arms.push_back(occupancy_arm(own));
  for (const std::int64_t threads : {64, 128, 256, 512, 1024}) {
    if (threads != own && parts_evenly(context, threads)) arms.push_back(occupancy_arm(threads));
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

std::string occupancy_subject(const DeviceDescription&) {
  return "cuda:@saxpy:saxpy,reference=saxpy_reference,n=16Mi,a=2.5,block=256,grid=n/block,x=f32[n],y=inout:f32[n]";
}

Remedy occupancy_remedy(const std::string& arm) {
  if (arm.starts_with("shared"))
    return {{arm}, "Fewer blocks run at once, and share the caches.", "At the launch"};
  return {std::vector{arm}, "Use as many blocks as give the same number of threads.", "At the launch"};
}

std::vector<std::string> occupancy_answer(const ComparisonRecord& record) {
  if (const std::string note = simulation_note(record.device); !note.empty()) {
    std::vector<std::string> sentences = {note};
    if (std::string hint = reference_hint(record); !hint.empty()) sentences.push_back(std::move(hint));
    return sentences;
  }
  std::vector<std::string> sentences = answer_by_fastest(record, occupancy_remedy);
  const std::vector<ArmOutcome> outcomes = arm_outcomes(record);
  const auto fullest = std::ranges::find_if(outcomes, [](const ArmOutcome& outcome) {
    return outcome.name.starts_with("shared") && outcome.verdict == statistics::EffectVerdict::slower &&
           !outcome.is_wrong;
  });
  if (fullest != outcomes.end()) {
    sentences.push_back(
        fmt::format("Shared memory that leaves room for fewer blocks costs time from {} on, which is {}.",
                    fullest->name, speed_against(fullest->time, record.alternatives.front())));
  }
  for (std::string& sentence : what_ran(record)) sentences.push_back(std::move(sentence));
  if (std::string hint = reference_hint(record); !hint.empty()) sentences.push_back(std::move(hint));
  return sentences;
}

}  // namespace

Study occupancy() {
  return {.id = "occupancy",
          .question = "Which size of blocks makes a kernel fastest, and does shared memory limit them?",
          .concerns = "kernels of your own (cuda:FILE.cu:KERNEL) with one-dimensional blocks",
          .subject = occupancy_subject,
          .can_be_asked_of = has_blocks_in_a_row,
          .arms = occupancy_arms,
          .remedy = occupancy_remedy,
          .answer = occupancy_answer};
}

// Waves study. It varies how many blocks share the same work: as many as run at once (a wave), a hundredth
// more, half a wave more, and two waves. It reports time: with more blocks each has less to do, but leftover
// blocks run alone. Limits: the kernel must compute the same with any grid, which its reference shows; the
// user's grid must be one wave.

namespace {

using statistics::EffectVerdict;

bool has_grid_and_reference(const Operation& operation) {
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  return kernel != nullptr && !kernel->reference.empty() && kernel->grid[1] == 1 && kernel->grid[2] == 1;
}

struct Waves {
  const char* name;
  std::int64_t hundredths;
};
constexpr Waves kWaves[] = {{"1 wave", 100}, {"1.01 waves", 101}, {"1.5 waves", 150}, {"2 waves", 200}};

Arm waves_arm(const Waves& waves) {
  return {waves.name, [hundredths = waves.hundredths](OperationTrial& trial) {
            CudaKernel kernel = std::get<CudaKernel>(trial.operation.parameters());
            kernel.grid[0] = (kernel.grid[0] * hundredths + 99) / 100;
            trial.operation = Operation(std::move(kernel));
          }};
}

std::vector<Arm> waves_arms(const StudyContext&) {
  std::vector<Arm> arms;
  for (const Waves& waves : kWaves) arms.push_back(waves_arm(waves));
  return arms;
}

// A block on each processor, with 96 elements for each thread, which can be divided by 1.5 and 2.
std::string waves_subject(const DeviceDescription& device) {
  constexpr std::int64_t kElements = 96, kThreads = 1024;
  return fmt::format(
      "cuda:@waves:waves,reference=waves_reference,grid={},block={},n={},x=f32[n],y=out:f32[n]",
      device.processors, kThreads, device.processors * kElements * kThreads);
}

Remedy waves_remedy(const std::string& arm) {
  return {{"a grid of " + arm},
          "Threads then take elements in turn, in steps of the grid's size.",
          "At the launch"};
}

std::vector<std::string> waves_answer(const ComparisonRecord& record) {
  if (std::string note = simulation_note(record.device); !note.empty()) return {std::move(note)};
  const std::vector<ArmOutcome> outcomes = right_outcomes(record);
  const ArmOutcome* worst = nullptr;
  for (const ArmOutcome& outcome : outcomes) {
    if (outcome.verdict != EffectVerdict::slower) continue;
    if (worst == nullptr || outcome.time.ratio > worst->time.ratio) worst = &outcome;
  }
  std::vector<std::string> sentences;
  if (outcomes.empty()) {
    sentences.emplace_back("No grid but the first has a time.");
  } else if (worst != nullptr) {
    sentences.push_back(
        fmt::format("**The same work in {} is {}**. The blocks of the last wave run while other "
                    "processors have nothing to do.",
                    worst->name, speed_against(worst->time, record.alternatives.front())));
    sentences.emplace_back("Use whole waves, or so many blocks that the last wave hardly matters.");
  } else if (any_undecided(outcomes)) {
    sentences.push_back(not_decided("whether a wave that is not full costs time"));
  } else {
    sentences.emplace_back(
        "**A wave that is not full costs nothing here**: no grid is slower than the first.");
  }
  for (std::string& sentence : wrong_results(record)) sentences.push_back(std::move(sentence));
  for (std::string& sentence : what_ran(record)) sentences.push_back(std::move(sentence));
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
          .subject = waves_subject,
          .can_be_asked_of = has_grid_and_reference,
          .arms = waves_arms,
          .remedy = waves_remedy,
          .answer = waves_answer};
}

}  // namespace jitterscope::study::studies
