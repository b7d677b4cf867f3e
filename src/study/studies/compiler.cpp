// Compiler. Varies how a kernel of the user's is compiled: fast math, and how many registers a thread may
// take. Reports time, and where the kernel names a reference the error of each result. Can go wrong: without
// a reference nothing says what fast math did to the results; a limit on registers that helps here may hurt
// on another GPU.
#include <fmt/format.h>

#include <algorithm>

#include "jitterscope/error.hpp"
#include "operation/cuda_kernel.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

constexpr const char* kAsTyped = "as typed";

bool is_kernel(const Operation& operation) {
  return std::holds_alternative<CudaKernel>(operation.parameters());
}

const CudaKernel& kernel_of(const Operation& operation) {
  return std::get<CudaKernel>(operation.parameters());
}

template <class Change>
Arm compiler_arm(std::string name, Change change) {
  return {std::move(name), [change](Trial& trial) {
            CudaKernel kernel = kernel_of(trial.operation);
            change(kernel);
            trial.operation = Operation(std::move(kernel));
          }};
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
  for (const std::int64_t registers : {32, 64, 128}) {
    const bool cannot_run = any([&](const CudaKernel& kernel) {
      return threads_in_block(kernel) * registers > kRegistersOfAProcessor;
    });
    const bool differs = any([&](const CudaKernel& kernel) { return kernel.registers != registers; });
    if (cannot_run || !differs) continue;
    arms.push_back(compiler_arm(fmt::format("registers={}", registers),
                                [registers](CudaKernel& kernel) { kernel.registers = registers; }));
  }
  return arms;
}

// Arithmetic, so that what the compiler makes of it shows.
std::string compiler_subject(const DeviceDescription&) {
  return "cuda:@bodies:bodies<float>,reference=bodies<double>,n=16Ki,block=128,grid=n/block,x=f32[n],y=f32[n],"
         "z=f32[n],force=out:f32[n]";
}

Remedy compiler_remedy(const std::string& arm) {
  const std::string place = "With nvcc";
  if (arm == "fast_math=1") {
    return {{"-use_fast_math"},
            "Where it matters alone: __fdividef, __expf, __sinf, rsqrtf in the source.",
            place};
  }
  if (arm == "fast_math=0") return {{"no -use_fast_math"}, "", place};
  return {{"-maxrregcount " + arm.substr(arm.find('=') + 1)},
          "__launch_bounds__ at the kernel holds for it alone.",
          place};
}

std::vector<std::string> compiler_answer(const ComparisonRecord& record) {
  std::vector<std::string> sentences = answer_by_fastest(record, compiler_remedy);
  for (std::string& sentence : what_ran(record)) sentences.push_back(std::move(sentence));
  const bool all_verified = std::ranges::all_of(record.comparisons, [](const Comparison& comparison) {
    return !comparison.failure.empty() || comparison.second.verification.has_value();
  });
  if (!all_verified) {
    sentences.emplace_back(
        "No results were compared: name a kernel that computes the same exactly, by reference=, and run on a GPU.");
  }
  return sentences;
}

}  // namespace

Study compiler() {
  return {.id = "compiler",
          .question = "Does another way to compile a kernel make it faster: fast math, fewer registers?",
          .concerns = "kernels of your own (cuda:FILE.cu:KERNEL)",
          .subject = compiler_subject,
          .can_be_asked_of = is_kernel,
          .arms = compiler_arms,
          .remedy = compiler_remedy,
          .answer = compiler_answer};
}

}  // namespace jitterscope::study::studies
