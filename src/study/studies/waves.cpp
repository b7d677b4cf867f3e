// Waves. Varies how many blocks share the same work: as many as run at once (a wave), a hundredth more, half
// a wave more, and two waves. Reports time: each block then has less to do, but blocks that are left over run
// alone. Can go wrong: the kernel has to compute the same with any grid, which its reference shows; the grid
// that the user gives has to be one wave.
#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "operation/cuda_kernel.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
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
  return {waves.name, [hundredths = waves.hundredths](Trial& trial) {
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

// A block on each processor, and 96 elements for each of its threads: parted by 1.5 and by 2 as well.
std::string waves_subject(const DeviceDescription& device) {
  constexpr std::int64_t kElements = 96, kThreads = 1024;
  return fmt::format(
      "cuda:@waves:waves,reference=waves_reference,grid={},block={},n={},x=f32[n],y=out:f32[n]",
      device.processors, kThreads, device.processors * kElements * kThreads);
}

Remedy waves_remedy(const std::string& arm) {
  return {
      {"a grid of " + arm}, "Threads then take elements in turn, by the size of the grid.", "At the launch"};
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
        fmt::format("**The same work in {} is {}**: the blocks of the last wave run while other "
                    "processors have nothing to do.",
                    worst->name, speed_against(worst->time, record.alternatives.front())));
    sentences.emplace_back("Take whole waves, or so many blocks that the last wave does not count.");
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
          .question = "What does a last wave of blocks cost that is not full?",
          .concerns =
              "kernels of your own with reference= that compute the same with any grid, given as one wave",
          .is_remedy = false,
          .subject = waves_subject,
          .can_be_asked_of = has_grid_and_reference,
          .arms = waves_arms,
          .remedy = waves_remedy,
          .answer = waves_answer};
}

}  // namespace jitterscope::study::studies
