// Access. Varies where neighbouring threads find their elements: next to each other in pieces of 4, 8 and 16
// bytes, some elements apart, one element further than memory's sectors begin, anywhere. Reports time and the
// rate in bytes that were needed. Can go wrong: arrays that fit into a cache show the cache; each arm copies
// the same elements, which the reference shows.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "operation/cuda_kernel.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

namespace jitterscope::study::studies {
namespace {

constexpr const char* kCoalesced = "coalesced<float>";

// One arm's kernel; `width` elements are moved at once, and a thread moves four times as many.
struct Pattern {
  const char* name;
  const char* function;
  std::int64_t step = 0, width = 1;
  const char* remedy = "";
};
constexpr Pattern kPatterns[] = {
    {"coalesced", kCoalesced},
    {"8 bytes", "coalesced<float2>", 0, 2, "float2 instead of float, from addresses that 8 bytes divide"},
    {"16 bytes", "coalesced<float4>", 0, 4, "float4 instead of float, from addresses that 16 bytes divide"},
    {"misaligned", "misaligned", 1, 1, "x[i + 1] of thread i"},
    {"stride 2", "strided", 2, 1, "x[2 * i] of thread i"},
    {"stride 4", "strided", 4, 1, "x[4 * i] of thread i"},
    {"stride 8", "strided", 8, 1, "x[8 * i] of thread i"},
    {"stride 32", "strided", 32, 1, "x[32 * i] of thread i"},
    {"random", "scattered", 0, 1, "x[index[i]] of thread i"},
};
constexpr std::int64_t kEach = 4, kWidest = 4;

// As @access has it: n, step, x, y.
const CudaKernel* coalesced_kernel(const Operation& operation) {
  constexpr std::size_t kArguments = 4;
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  if (kernel == nullptr || kernel->kernel != kCoalesced || kernel->arguments.size() != kArguments)
    return nullptr;
  return is_buffer(kernel->arguments[0]) || is_buffer(kernel->arguments[1]) ? nullptr : kernel;
}

bool is_coalesced_copy(const Operation& operation) { return coalesced_kernel(operation) != nullptr; }

Arm access_arm(const Pattern& pattern) {
  return {pattern.name, [pattern](Trial& trial) {
            CudaKernel kernel = std::get<CudaKernel>(trial.operation.parameters());
            kernel.kernel = pattern.function;
            kernel.arguments[1].integer = pattern.step;
            kernel.grid[0] = kernel.arguments[0].integer / (pattern.width * kEach * kernel.block[0]);
            trial.operation = Operation(std::move(kernel));
          }};
}

std::vector<Arm> access_arms(const StudyContext& context) {
  for (const Operation& operation : context.operations) {
    const CudaKernel& kernel = *coalesced_kernel(operation);
    const std::int64_t count = kernel.arguments[0].integer, least = kWidest * kEach * kernel.block[0];
    if (count >= least && std::has_single_bit(static_cast<std::uint64_t>(count)) && count % least == 0)
      continue;
    throw UsageError(
        fmt::format("{} elements cannot be parted alike by all patterns; take a power of two, at "
                    "least {}, and a block of a power of two",
                    count, least));
  }
  std::vector<Arm> arms;
  for (const Pattern& pattern : kPatterns) arms.push_back(access_arm(pattern));
  return arms;
}

// Several times the last-level cache: 256 MiB each way on a GPU, 32 MiB on a CPU.
std::string access_subject(const DeviceDescription& device) {
  return fmt::format(
      "cuda:@access:coalesced<float>,reference=copied,n={},step=0,block=256,grid=n/4/block,x=f32[n],y=out:f32[n]",
      device.capabilities.is_host ? "8Mi" : "64Mi");
}

Remedy access_remedy(const std::string& arm) {
  const auto* pattern = std::ranges::find(kPatterns, arm, &Pattern::name);
  return {{pattern->remedy}, "", "In the kernel"};
}

std::optional<Amount> access_amount(const Operation& operation) {
  return Amount{Amount::Unit::bytes, static_cast<double>(operation.bytes().value())};
}

std::string rate_of_side(const ComparedSide& side) {
  return rate_text(side.amount->count / (side.time.median.value() * 1e-9), "B/s");
}

// What memory moved for what the worst pattern needed, where that was counted.
std::string moved_sentence(const ComparisonRecord& record, const Comparison& worst) {
  if (!worst.first.counters || !worst.second.counters) return {};
  const auto moved = moved_bytes(worst.second.counters->reading);
  const auto least = moved_bytes(worst.first.counters->reading);
  if (!moved || !least) return {};
  return fmt::format("For the same {} memory moves {} then, and {} {}, by its counters.",
                     bytes_text(Bytes(static_cast<std::int64_t>(worst.second.amount->count))),
                     bytes_text(*moved), bytes_text(*least), record.alternatives.front());
}

// Of one copy: what the coalesced one gets, what the worst gets, and whether wider pieces gain.
std::vector<std::string> access_answer(const ComparisonRecord& record) {
  if (std::string note = simulation_note(record.device); !note.empty()) return {std::move(note)};
  std::vector<const Comparison*> right;
  for (const Comparison& comparison : record.comparisons) {
    if (has_time(comparison) && comparison.second.amount) {
      right.push_back(&comparison);
    }
  }
  std::vector<std::string> sentences;
  if (right.empty()) {
    sentences.emplace_back("No pattern but the first has a time.");
  } else {
    using enum statistics::EffectVerdict;
    const Comparison *worst = nullptr, *best = nullptr;
    for (const Comparison* each : right) {
      const double ratio = each->time.ratio;
      if (each->verdict == slower && (worst == nullptr || ratio > worst->time.ratio)) worst = each;
      if (each->verdict == faster && (best == nullptr || ratio < best->time.ratio)) best = each;
    }
    const std::string& first = record.alternatives.front();
    if (worst != nullptr) {
      sentences.push_back(fmt::format("**{} gets {} of the bytes that it needs, and {} {}**: it is {}.",
                                      first, rate_of_side(worst->first),
                                      record.alternatives[worst->alternative], rate_of_side(worst->second),
                                      speed_against(worst->time, first)));
      if (std::string moved = moved_sentence(record, *worst); !moved.empty())
        sentences.push_back(std::move(moved));
    } else {
      sentences.push_back(fmt::format("**{} gets {}, and no pattern is shown to be slower.**", first,
                                      rate_of_side(right.front()->first)));
    }
    if (best != nullptr) {
      sentences.push_back(fmt::format("The fastest is {}, {}.", record.alternatives[best->alternative],
                                      speed_against(best->time, first)));
    } else {
      sentences.push_back(fmt::format("Nothing is shown to be faster than {}.", first));
    }
    const bool is_open =
        std::ranges::any_of(right, [](const Comparison* each) { return each->verdict == undecided; });
    if (is_open && (worst == nullptr || best == nullptr)) {
      sentences.push_back(not_decided("whether all patterns are as fast"));
    }
  }
  for (std::string& sentence : wrong_results(record)) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace

Study access() {
  return {.id = "access",
          .question = "How fast is memory, by how neighbouring threads access it?",
          .concerns = "the kernel `coalesced<float>` of @access, or of a copy of it that you changed",
          .is_remedy = false,
          .counts_memory = true,
          .subject = access_subject,
          .can_be_asked_of = is_coalesced_copy,
          .arms = access_arms,
          .remedy = access_remedy,
          .amount = access_amount,
          .answer = access_answer};
}

}  // namespace jitterscope::study::studies
