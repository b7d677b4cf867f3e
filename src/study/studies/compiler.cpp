// Compiler study. It varies how the user's kernel is compiled: fast math, optimization level, register limits
// (direct or by launch bounds), and target GPU. It reports time, and each result's error against the kernel's
// reference or the first arm. Limits: only a reference shows errors of the first arm; a register limit that
// helps here may hurt on another GPU; code for an older GPU is compiled by the driver, whose compiler may
// have another version.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string_view>

#include "jitterscope/error.hpp"
#include "operation/cuda_kernel.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

constexpr const char* kAsTyped = "as typed";
constexpr std::string_view kArchitecture = "architecture=";

bool is_kernel(const Operation& operation) {
  return std::holds_alternative<CudaKernel>(operation.parameters());
}

const CudaKernel& kernel_of(const Operation& operation) {
  return std::get<CudaKernel>(operation.parameters());
}

template <class Change>
Arm compiler_arm(std::string name, Change change) {
  return {std::move(name), [change](OperationTrial& trial) {
            CudaKernel kernel = kernel_of(trial.operation);
            change(kernel);
            trial.operation = Operation(std::move(kernel));
          }};
}

// Returns the target of a build not renewed for this GPU, among those that both CUDA 12 and 13 support; a
// simulated GPU counts as new. nullopt if none is older.
std::optional<std::int64_t> older_architecture(const DeviceDescription& device) {
  constexpr std::int64_t kAmpere = 80, kTuring = 75;
  const auto own = std::ranges::find(device.properties, "compute_capability", &Property::key);
  if (own == device.properties.end()) return kAmpere;
  const double capability = std::strtod(own->value.c_str(), nullptr);
  if (capability > 8.0) return kAmpere;
  return capability == 8.0 ? std::optional(kTuring) : std::nullopt;
}

// This many blocks keep half of an H200's processor busy, and all of a small GPU's, which has room for 16.
std::int64_t blocks_on_a_processor(const StudyContext& context) {
  constexpr std::int64_t kThreads = 1024, kBlocks = 16;
  std::int64_t blocks = kBlocks;
  for (const Operation& operation : context.operations)
    blocks = std::min(blocks, kThreads / threads_in_block(kernel_of(operation)));
  return blocks;
}

std::vector<Arm> compiler_arms(const StudyContext& context) {
  const auto any = [&](auto holds) {
    return std::ranges::any_of(context.operations,
                               [&](const Operation& operation) { return holds(kernel_of(operation)); });
  };
  std::vector<Arm> arms = {compiler_arm(kAsTyped, [](CudaKernel&) {})};
  if (any([](const CudaKernel& kernel) { return !kernel.fast_math; })) {
    arms.push_back(compiler_arm("fast_math=1", [](CudaKernel& kernel) { kernel.fast_math = true; }));
  } else {
    arms.push_back(compiler_arm("fast_math=0", [](CudaKernel& kernel) { kernel.fast_math = false; }));
  }
  const auto add = [&](std::string name, auto change) {
    const bool differs = any([&](CudaKernel kernel) {
      const CudaKernel typed = kernel;
      change(kernel);
      return kernel != typed;
    });
    if (differs) arms.push_back(compiler_arm(std::move(name), change));
  };
  // Level 2 gives the code of level 3, byte for byte (NVRTC 12.1 and 13.0).
  for (const std::int64_t level : {std::int64_t{0}, std::int64_t{1}, kFullOptimization}) {
    add(fmt::format("optimize={}", level), [level](CudaKernel& kernel) { kernel.optimize = level; });
  }
  for (const std::int64_t registers : {32, 64, 128}) {
    const bool cannot_run = any([&](const CudaKernel& kernel) {
      return threads_in_block(kernel) * registers > kRegistersOfAProcessor;
    });
    if (cannot_run) continue;
    add(fmt::format("registers={}", registers), [registers](CudaKernel& kernel) {
      kernel.registers = registers;
      kernel.min_blocks = 0;
    });
  }
  for (const std::int64_t blocks : std::set{std::int64_t{1}, blocks_on_a_processor(context)}) {
    add(fmt::format("min_blocks={}", blocks), [blocks](CudaKernel& kernel) {
      kernel.min_blocks = blocks;
      kernel.registers = 0;
    });
  }
  if (const auto older = older_architecture(context.description)) {
    add(fmt::format("{}{}", kArchitecture, *older),
        [older = *older](CudaKernel& kernel) { kernel.architecture = older; });
  }
  // These arms show what a debug build and an old build cost.
  for (Arm& arm : arms) arm.is_remedy = arm.name != "optimize=0" && !arm.name.starts_with(kArchitecture);
  return arms;
}

// Arithmetic, so that the compiler's work shows.
std::string compiler_subject(const DeviceDescription&) {
  return "cuda:@bodies:bodies<float>,reference=bodies<double>,n=16Ki,block=128,grid=n/block,x=f32[n],y=f32[n],"
         "z=f32[n],force=out:f32[n]";
}

Remedy compiler_remedy(const std::string& arm) {
  const std::string place = "With nvcc";
  if (arm == "fast_math=1") {
    return {{"-use_fast_math"},
            "Only where it matters: __fdividef, __expf, __sinf, rsqrtf in the source.",
            place};
  }
  if (arm == "fast_math=0") return {{"no -use_fast_math"}, "", place};
  const std::string value = arm.substr(arm.find('=') + 1);
  if (arm.starts_with("optimize"))
    return {{"-Xptxas -O" + value}, "It holds for all kernels of the file.", place};
  if (arm.starts_with("min_blocks")) {
    return {{"__global__ void __launch_bounds__(threads, " + value + ")"},
            "threads is the size of a block; larger blocks can no longer be launched.",
            "At the kernel"};
  }
  if (arm.starts_with(kArchitecture)) {
    return {{"-arch=compute_" + value},
            "The driver compiles it when the program starts, and again after each update of the driver.",
            place};
  }
  return {{"-maxrregcount " + value}, "__launch_bounds__ at the kernel holds for it alone.", place};
}

// Reports what a build for older GPUs costs.
std::string older_code_sentence(const ComparisonRecord& record) {
  for (const ArmOutcome& outcome : arm_outcomes(record)) {
    const bool costs = outcome.verdict == statistics::EffectVerdict::slower && !outcome.is_wrong;
    if (!outcome.name.starts_with(kArchitecture) || !costs) continue;
    return fmt::format(
        "Code that was built for an older GPU ({}) is {}. Build for this one: nvcc -arch=native.",
        outcome.name, speed_against(outcome.time, record.alternatives.front()));
  }
  return {};
}

std::vector<std::string> compiler_answer(const ComparisonRecord& record) {
  if (const std::string note = simulation_note(record.device); !note.empty()) {
    std::vector<std::string> sentences = {note};
    if (std::string hint = reference_hint(record); !hint.empty()) sentences.push_back(std::move(hint));
    return sentences;
  }
  std::vector<std::string> sentences = answer_by_fastest(record, compiler_remedy);
  if (std::string older = older_code_sentence(record); !older.empty()) sentences.push_back(std::move(older));
  for (std::string& sentence : what_ran(record)) sentences.push_back(std::move(sentence));
  if (std::string hint = reference_hint(record); !hint.empty()) sentences.push_back(std::move(hint));
  return sentences;
}

}  // namespace

Study compiler() {
  return {
      .id = "compiler",
      .question =
          "Does another way to compile a kernel make it faster: fast math, optimization, registers, launch "
          "bounds?",
      .concerns = "kernels of your own (cuda:FILE.cu:KERNEL)",
      .subject = compiler_subject,
      .can_be_asked_of = is_kernel,
      .arms = compiler_arms,
      .remedy = compiler_remedy,
      .answer = compiler_answer};
}

}  // namespace jitterscope::study::studies
