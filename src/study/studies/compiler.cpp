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
#include <string>
#include <utility>
#include <vector>

#include "operation/cuda_kernel.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

bool is_kernel(const Operation& operation) { return kernel_of(operation) != nullptr; }

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
    blocks = std::min(blocks, kThreads / threads_in_block(*kernel_of(operation)));
  return blocks;
}

std::vector<Arm> compiler_arms(const StudyContext& context) {
  constexpr const char* kNvcc = "With nvcc";
  const auto any = [&](const auto& holds) {
    return std::ranges::any_of(context.operations,
                               [&](const Operation& operation) { return holds(*kernel_of(operation)); });
  };
  std::vector<Arm> arms = {changed_arm<CudaKernel>("as typed", [](CudaKernel&) {})};
  // Adds an arm if it changes a kernel.
  const auto add = [&](std::string name, const auto& change, Remedy remedy) {
    const bool differs = any([&](CudaKernel kernel) {
      const CudaKernel typed = kernel;
      change(kernel);
      return kernel != typed;
    });
    if (differs) arms.push_back(changed_arm<CudaKernel>(std::move(name), change, std::move(remedy)));
    return differs;
  };
  const bool has_fast_math = add("fast_math=1", [](CudaKernel& kernel) { kernel.fast_math = true; },
                                 {{"-use_fast_math"},
                                  "Only where it matters: __fdividef, __expf, __sinf, rsqrtf in the source.",
                                  kNvcc});
  if (!has_fast_math) {
    add("fast_math=0", [](CudaKernel& kernel) { kernel.fast_math = false; },
        {{"no -use_fast_math"}, "", kNvcc});
  }
  // Level 2 gives the code of level 3, byte for byte (NVRTC 12.1 and 13.0).
  for (const std::int64_t level : {std::int64_t{0}, std::int64_t{1}, kFullOptimization}) {
    const bool is_added =
        add(fmt::format("optimize={}", level), [level](CudaKernel& kernel) { kernel.optimize = level; },
            {{fmt::format("-Xptxas -O{}", level)}, "It holds for all kernels of the file.", kNvcc});
    if (is_added) arms.back().is_remedy = level != 0;  // it shows what a debug build costs
  }
  for (const std::int64_t registers : {32, 64, 128}) {
    const bool cannot_run = any([&](const CudaKernel& kernel) {
      return threads_in_block(kernel) * registers > kRegistersOfAProcessor;
    });
    if (cannot_run) continue;
    const auto change = [registers](CudaKernel& kernel) {
      kernel.registers = registers;
      kernel.min_blocks = 0;
    };
    add(fmt::format("registers={}", registers), change,
        {{fmt::format("-maxrregcount {}", registers)},
         "__launch_bounds__ at the kernel holds for it alone.",
         kNvcc});
  }
  for (const std::int64_t blocks : std::set{std::int64_t{1}, blocks_on_a_processor(context)}) {
    const auto change = [blocks](CudaKernel& kernel) {
      kernel.min_blocks = blocks;
      kernel.registers = 0;
    };
    add(fmt::format("min_blocks={}", blocks), change,
        {{fmt::format("__global__ void __launch_bounds__(threads, {})", blocks)},
         "threads is the size of a block; larger blocks can no longer be launched.",
         "At the kernel"});
  }
  if (const auto older = older_architecture(context.description)) {
    const bool is_added =
        add(fmt::format("architecture={}", *older),
            [older = *older](CudaKernel& kernel) { kernel.architecture = older; },
            {{fmt::format("-arch=compute_{}", *older)},
             "The driver compiles it when the program starts, and again after each update of the driver.",
             kNvcc});
    if (is_added) {
      arms.back().is_remedy = false;  // it shows what an old build costs
      arms.back().value = OlderGpu();
    }
  }
  return arms;
}

// Reports what a build for older GPUs costs.
Sentences cost_of_older_code(const StudyResult& result) {
  for (const ArmOutcome& outcome : arm_outcomes(result.record)) {
    const bool is_older = value_of<OlderGpu>(result, outcome.alternative) != nullptr;
    if (!is_older || !is_slower(outcome) || outcome.is_wrong) continue;
    return {
        fmt::format("Code that was built for an older GPU ({}) is {}. Build for this one: nvcc -arch=native.",
                    outcome.name, speed_against(outcome.time, result.record.alternatives.front()))};
  }
  return {};
}

}  // namespace

Study compiler() {
  return {
      .id = "compiler",
      .question =
          "Does another way to compile a kernel make it faster: fast math, optimization, registers, launch "
          "bounds?",
      .concerns = "kernels of your own (cuda:FILE.cu:KERNEL)",
      .is_about_kernels = true,
      .asks_for_reference = true,
      .shows_what_ran = true,
      // Arithmetic, so that the compiler's work shows.
      .subject =
          "cuda:@bodies:bodies<float>,reference=bodies<double>,n=16Ki,block=128,grid=n/block,x=f32[n],y=f32[n],"
          "z=f32[n],force=out:f32[n]",
      .can_be_asked_of = is_kernel,
      .arms = compiler_arms,
      .details = cost_of_older_code};
}

}  // namespace jitterscope::study::studies
