#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "operation/cuda_kernel.hpp"
#include "study/answers.hpp"
#include "study/studies/studies.hpp"

// Access study. It varies where neighbouring threads find their elements: adjacent in pieces of 4, 8 and 16
// bytes, some elements apart, shifted by one element from memory's sectors, or anywhere. It reports time and
// the rate in needed bytes. Limits: arrays that fit into a cache show the cache; each arm copies the same
// elements, which the reference verifies.

namespace jitterscope::study::studies {
namespace {

constexpr const char* kCoalesced = "coalesced<float>";

// The kernel of one arm. `width` elements are moved at once, and a thread moves four times as many.
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

// Returns the kernel if it has the arguments of @access: n, step, x, y; else null.
const CudaKernel* coalesced_kernel(const Operation& operation) {
  constexpr std::size_t kArguments = 4;
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  if (kernel == nullptr || kernel->kernel != kCoalesced || kernel->arguments.size() != kArguments)
    return nullptr;
  return is_buffer(kernel->arguments[0]) || is_buffer(kernel->arguments[1]) ? nullptr : kernel;
}

bool is_coalesced_copy(const Operation& operation) { return coalesced_kernel(operation) != nullptr; }

Arm access_arm(const Pattern& pattern) {
  return {pattern.name, [pattern](OperationTrial& trial) {
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
    throw UsageError(fmt::format(
        "{} elements cannot be divided by all patterns; use a power of two, at least {}, and a block "
        "size that is a power of two",
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

// Reports the counted memory traffic of the worst pattern, if it was counted.
std::string moved_sentence(const ComparisonRecord& record, const Comparison& worst) {
  if (!worst.first.counters || !worst.second.counters) return {};
  const auto moved = moved_bytes(worst.second.counters->reading);
  const auto least = moved_bytes(worst.first.counters->reading);
  if (!moved || !least) return {};
  return fmt::format("By its counters, memory then moves {1} for the same {0}, and {2} with {3}.",
                     bytes_text(Bytes(static_cast<std::int64_t>(worst.second.amount->count))),
                     bytes_text(*moved), bytes_text(*least), record.alternatives.front());
}

// For one copy: reports the coalesced rate, the worst rate, and whether wider pieces gain.
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
          .concerns = "the kernel `coalesced<float>` of @access or of a changed copy",
          .is_remedy = false,
          .counts_memory = true,
          .subject = access_subject,
          .can_be_asked_of = is_coalesced_copy,
          .arms = access_arms,
          .remedy = access_remedy,
          .amount = access_amount,
          .answer = access_answer};
}

// Tiling study. It varies how a matrix product uses shared memory: not at all, by tiles of several sizes, by
// a tile whose reads fall into one bank, and by that tile with an extra column. It reports time and each
// result's error. Limits: caches do part of the work of tiles, so small tiles may gain nothing; products of
// the size of a library's tiles belong to the library.

namespace {

constexpr const char* kPlain = "plain";
constexpr const char* kConflicts = "conflicts";
constexpr const char* kPadded = "padded";
constexpr std::int64_t kLargestTile = 32;

// Returns the side of the matrices: the first argument, a number, followed by a, b and c. 0 if there is none.
std::int64_t side_of(const CudaKernel& kernel) {
  constexpr std::size_t kArguments = 4;
  if (kernel.kernel != kPlain || kernel.arguments.size() != kArguments) return 0;
  return is_buffer(kernel.arguments[0]) ? 0 : kernel.arguments[0].integer;
}

bool is_plain_product(const Operation& operation) {
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  return kernel != nullptr && side_of(*kernel) > 0;
}

Arm tiling_arm(std::string name, std::string function, std::int64_t tile) {
  return {std::move(name), [function = std::move(function), tile](OperationTrial& trial) {
            CudaKernel kernel = std::get<CudaKernel>(trial.operation.parameters());
            const std::int64_t blocks = side_of(kernel) / tile;
            kernel.kernel = function;
            kernel.grid = {blocks, blocks, 1};
            kernel.block = {tile, tile, 1};
            trial.operation = Operation(std::move(kernel));
          }};
}

std::vector<Arm> tiling_arms(const StudyContext& context) {
  for (const Operation& operation : context.operations) {
    const std::int64_t side = side_of(std::get<CudaKernel>(operation.parameters()));
    if (side % kLargestTile == 0) continue;
    throw UsageError(
        fmt::format("matrices of {0} x {0} have no whole tiles; take a multiple of {1}", side, kLargestTile));
  }
  std::vector<Arm> arms = {{kPlain, [](OperationTrial&) {}}};
  for (const std::int64_t tile : {std::int64_t{8}, std::int64_t{16}, kLargestTile}) {
    arms.push_back(tiling_arm(fmt::format("tile={}", tile), fmt::format("tiled<{}>", tile), tile));
  }
  arms.push_back(tiling_arm(kConflicts, "transposed<0>", kLargestTile));
  arms.push_back(tiling_arm(kPadded, "transposed<1>", kLargestTile));
  return arms;
}

std::string tiling_subject(const DeviceDescription&) {
  return "cuda:@tiling:plain,reference=product_reference,n=1024,block=32x8,grid=n/32xn/8,a=f32[n*n],b=f32[n*n],"
         "c=out:f32[n*n]";
}

Remedy tiling_remedy(const std::string& arm) {
  const std::string place = "In the kernel";
  if (arm == kConflicts)
    return {{"a transposed tile in shared memory"}, "Its reads fall into one bank.", place};
  if (arm == kPadded) {
    return {{"__shared__ float tile[32][32 + 1]"}, "A tile takes a column more of shared memory.", place};
  }
  const std::string size = arm.substr(arm.find('=') + 1);
  return {{fmt::format("__shared__ float tile[{0}][{0}], with __syncthreads() after filling and after use",
                       size)},
          "A block then has as many threads as a tile has elements.",
          place};
}

const ArmOutcome* tiling_outcome(const std::vector<ArmOutcome>& outcomes, std::string_view name) {
  const auto found = std::ranges::find(outcomes, name, &ArmOutcome::name);
  return found == outcomes.end() || found->is_wrong ? nullptr : &*found;
}

std::vector<std::string> tiling_answer(const ComparisonRecord& record) {
  if (std::string note = simulation_note(record.device); !note.empty()) return {std::move(note)};
  std::vector<std::string> sentences = answer_by_fastest(record, tiling_remedy);
  const std::vector<ArmOutcome> outcomes = arm_outcomes(record);
  const ArmOutcome* conflicts = tiling_outcome(outcomes, kConflicts);
  const ArmOutcome* padded = tiling_outcome(outcomes, kPadded);
  const bool of_one_product = std::ranges::count(outcomes, std::size_t{1}, &ArmOutcome::alternative) <= 1;
  if (conflicts != nullptr && padded != nullptr && of_one_product) {
    // Each was compared with the first arm; both intervals together bound their ratio.
    const double ratio = conflicts->time.ratio / padded->time.ratio;
    const double low = conflicts->time.low / padded->time.high;
    if (ratio > 1.0 + record.margin && low > 1.0) {
      sentences.push_back(fmt::format(
          "Bank conflicts make a transposed tile slower: {}. A column more in it (padded) avoids them.",
          time_change_text(ratio - 1.0)));
    } else if (conflicts->time.high / padded->time.low <= 1.0 + record.margin) {
      sentences.push_back(fmt::format("Bank conflicts cost nothing here: {} against {} is {}.", kConflicts,
                                      kPadded, change_text(ratio - 1.0)));
    } else {
      sentences.push_back(not_decided("whether bank conflicts cost time here"));
    }
  }
  for (std::string& sentence : what_ran(record)) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace

Study tiling() {
  return {.id = "tiling",
          .question = "How much do tiles in shared memory speed up a matrix product?",
          .concerns = "the kernel `plain` of @tiling or of a changed copy",
          .subject = tiling_subject,
          .can_be_asked_of = is_plain_product,
          .arms = tiling_arms,
          .remedy = tiling_remedy,
          .answer = tiling_answer};
}

// Hierarchy study. It varies where loads are served: shared memory, caches, memory, host. It reports the
// latency of dependent loads, the bandwidth of all processors together, and the rate of atomic additions. The
// arms do different things, so none is faster than another. Limits: the capacity of each level is guessed
// from the size of the last-level cache; loads that miss the TLB take longer, as in rings of hundreds of
// megabytes.

namespace {

constexpr const char* kCarried = "@hierarchy";
// From A100 on, the L2 has two halves, and a processor finds in the nearer half what fits there. The rest
// comes from the farther one: on an H100 PCIe a load takes 151 ns in rings of up to 20 MB, and 271 ns in
// rings of 35 to 47 MB (gpu-benches, gpu-latency/h100_pcie.txt).
constexpr const char* kNear = "L2: latency";
constexpr const char* kFar = "L2, far half: latency";
constexpr const char* kHostLatency = "host copy: latency";
constexpr const char* kHostBandwidth = "host copy: bandwidth";
constexpr std::int64_t kKibi = 1024, kMebi = kKibi * kKibi;
constexpr std::int64_t kCell = 8;   // bytes of an address in a ring
constexpr std::int64_t kWord = 16;  // bytes that a thread reads at once

// Names are short enough for a table.
struct Level {
  std::string name, operation;
};

// A ring of `lines` lines, followed by `push_out` bytes that evict it from a cache.
std::string chase_text(const std::string& file, const char* kernel, const char* reference, std::int64_t lines,
                       std::int64_t line, std::int64_t push_out, std::int64_t loads, std::int64_t blocks,
                       std::int64_t threads) {
  return fmt::format(
      "cuda:{}:{},reference={},grid={},block={},lines={},step={},more={},loads={},cells=i64[{}],state=i64[4],"
      "end=out:i32[1]",
      file, kernel, reference, blocks, threads, lines, line / kCell, push_out / kCell, loads,
      (lines * line + push_out) / kCell);
}

// Reads `bytes` in each block `repeats` times; the number is odd, as an even one leaves nothing to compare.
std::string stream_text(const std::string& file, const char* kernel, std::int64_t bytes, bool apart,
                        std::int64_t repeats, std::int64_t blocks, std::int64_t threads) {
  return fmt::format(
      "cuda:{}:{},reference=streamed,grid={},block={},words={},apart={},repeats={},x=i32[{}],y=out:i32[{}]",
      file, kernel, blocks, threads, bytes / kWord / threads, apart ? 1 : 0, repeats, blocks * bytes / 4,
      blocks * threads);
}

std::string add_text(const std::string& file, std::int64_t places, std::int64_t repeats, std::int64_t blocks,
                     std::int64_t threads) {
  return fmt::format(
      "cuda:{}:add,reference=added,grid={},block={},places={},repeats={},counters=inout:i32[{}]", file,
      blocks, threads, places, repeats, places);
}

std::int64_t power_of_two_up_to(std::int64_t bytes) {
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 1))));
}

// Each takes some milliseconds at most, so that the launch, 1 to 3 µs, is a few thousandths of it. The far
// half's ring and the bytes that evict it from the nearer half fill three quarters of the L2. Each thread
// first reads 300 lines of 37.5 MiB, which wait for each other only in part: a hundredth of the 32,768 loads
// that follow. (A ring of three quarters without eviction was in the nearer half as often as not: 190 ns on
// an H200.)
std::vector<Level> gpu_levels(const DeviceDescription& device, const std::string& file) {
  constexpr std::int64_t kLine = 128, kThreads = 1024;
  const std::int64_t cache = std::max(device.last_level_cache.value(), kMebi);
  const std::int64_t processors = device.processors,
                     full = 2 * processors;  // two blocks of 1024 threads on each
  const std::int64_t in_cache = power_of_two_up_to(cache / 8), beyond = 8 * power_of_two_up_to(cache);
  return {
      {"shared memory: latency",
       chase_text(file, "chase_shared", "chased", 2 * kKibi, kCell, 0, 64 * kKibi, 1, 256)},
      {"L1: latency",
       chase_text(file, "chase<ThroughL1>", "chased", 32 * kKibi / kLine, kLine, 0, 32 * kKibi, 1, kThreads)},
      {"L2: latency",
       chase_text(file, "chase<PastL1>", "chased", in_cache / kLine, kLine, 0, 8 * kKibi, 1, kThreads)},
      {kFar, chase_text(file, "chase<HeldByL2>", "chased", cache / 8 / kLine, kLine, cache / 8 * 5,
                        32 * kKibi, 1, kThreads)},
      {"memory: latency",
       chase_text(file, "chase<PastL1>", "chased", beyond / kLine, kLine, 2 * cache, 4 * kKibi, 1, kThreads)},
      {kHostLatency, "copy:bytes=4,kind=h2d,memory=pinned"},
      {"shared memory: bandwidth",
       stream_text(file, "stream_shared", 32 * kKibi, true, 2001, processors, kThreads)},
      {"L1: bandwidth", stream_text(file, "stream<ThroughL1>", 128 * kKibi, true, 501, processors, kThreads)},
      {"L2: bandwidth", stream_text(file, "stream<PastL1>", 64 * kKibi, true, 101, full, kThreads)},
      {"memory: bandwidth", stream_text(file, "stream<PastL1>", 4 * kMebi, false, 1, full, kThreads)},
      {kHostBandwidth, "copy:bytes=64Mi,kind=h2d,memory=pinned"},
      {"atomics: one address", add_text(file, 1, 4, full, kThreads)},
      {"atomics: own addresses", add_text(file, full * kThreads, 256, full, kThreads)},
  };
}

// Uses cache sizes that every current CPU has at least, and one thread of a block on each core.
std::vector<Level> cpu_levels(const DeviceDescription& device, const std::string& file) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t cache = std::max(device.last_level_cache.value(), 4 * kMebi);
  const std::int64_t cores = std::max(device.processors, 1);
  const std::int64_t beyond = 8 * power_of_two_up_to(cache);
  const auto chase = [&](std::int64_t bytes, std::int64_t push_out, std::int64_t loads) {
    return chase_text(file, "chase<PastL1>", "chased", bytes / kLine, kLine, push_out, loads, 1, 1);
  };
  const auto stream = [&](std::int64_t bytes, std::int64_t repeats) {
    return stream_text(file, "stream<PastL1>", bytes, true, repeats, cores, 1);
  };
  return {
      {"L1: latency", chase(16 * kKibi, 0, kMebi)},
      {"L2: latency", chase(128 * kKibi, 0, 256 * kKibi)},
      {"last level: latency", chase(power_of_two_up_to(cache / 4), 0, 32 * kKibi)},
      {"memory: latency", chase(beyond, cache, 16 * kKibi)},
      {"L1: bandwidth", stream(16 * kKibi, 2001)},
      {"L2: bandwidth", stream(128 * kKibi, 201)},
      {"memory: bandwidth", stream(std::max(power_of_two_up_to(2 * cache / cores), 16 * kMebi), 1)},
      {"atomics: one address", add_text(file, 1, 16 * kKibi, cores, 1)},
  };
}

std::vector<Level> levels_of(const DeviceDescription& device, const std::string& file) {
  return device.capabilities.is_host ? cpu_levels(device, file) : gpu_levels(device, file);
}

bool is_chase(const Operation& operation) {
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  return kernel != nullptr && (kernel->kernel == "chase_shared" || kernel->kernel == "chase<PastL1>");
}

std::vector<Arm> hierarchy_arms(const StudyContext& context) {
  if (context.description.capabilities.is_simulated) {
    throw UsageError(
        context.description.id +
        ": a simulated GPU has no levels that a kernel could tell apart; use --device cuda or cpu");
  }
  std::vector<Arm> arms;
  const std::string& file = std::get<CudaKernel>(context.operations.front().parameters()).file;
  for (const Level& level : levels_of(context.description, file)) {
    arms.push_back({level.name, [operation = Operation::parse(level.operation)](OperationTrial& trial) {
                      trial.operation = operation;
                    }});
  }
  return arms;
}

std::string hierarchy_subject(const DeviceDescription& device) {
  return levels_of(device, kCarried).front().operation;
}

Remedy hierarchy_remedy(const std::string&) { return {}; }

std::int64_t number_of(const CudaKernel& kernel, std::string_view name) {
  const auto found = std::ranges::find(kernel.arguments, name, &KernelArgument::name);
  return found == kernel.arguments.end() ? 0 : found->integer;
}

std::optional<Amount> hierarchy_amount(const Operation& operation) {
  using enum Amount::Unit;
  if (const auto* copy = std::get_if<Copy>(&operation.parameters())) {
    constexpr std::int64_t kOneLoad = 4;
    return copy->bytes <= kOneLoad ? Amount{loads, 1.0} : Amount{bytes, static_cast<double>(copy->bytes)};
  }
  const auto* kernel = std::get_if<CudaKernel>(&operation.parameters());
  if (kernel == nullptr) return std::nullopt;
  if (const std::int64_t chased = number_of(*kernel, "loads"); chased > 0) {
    return Amount{loads, static_cast<double>(chased)};
  }
  const auto threads = static_cast<double>(kernel->grid[0] * threads_in_block(*kernel));
  const auto repeats = static_cast<double>(number_of(*kernel, "repeats"));
  if (const std::int64_t words = number_of(*kernel, "words"); words > 0) {
    return Amount{bytes, threads * repeats * static_cast<double>(words * kWord)};
  }
  return Amount{additions, threads * repeats};
}

struct LevelOutcome {
  std::string name;
  const ComparedSide* side;
};

std::vector<LevelOutcome> level_outcomes(const ComparisonRecord& record) {
  std::vector<LevelOutcome> outcomes;
  for (const Comparison& comparison : record.comparisons) {
    if (!comparison.failure.empty()) continue;
    const auto& of_first = comparison.first.verification;
    const bool first_is_right = !of_first || of_first->passed;
    if (outcomes.empty() && first_is_right)
      outcomes.push_back({record.alternatives.front(), &comparison.first});
    if (!is_wrong(comparison))
      outcomes.push_back({record.alternatives[comparison.alternative], &comparison.second});
  }
  std::erase_if(outcomes, [](const LevelOutcome& outcome) { return !outcome.side->amount; });
  return outcomes;
}

double bytes_per_second(const ComparedSide& side) {
  return side.amount->count / (side.time.median.value() * 1e-9);
}

Nanoseconds time_of_a_load(const ComparedSide& side) { return side.time.median / side.amount->count; }

// Returns "1.2 ns (L1), 4 ns (L2)", for the outcomes counted in that unit.
std::string outcomes_text(const std::vector<LevelOutcome>& outcomes, Amount::Unit unit) {
  std::vector<std::string> parts;
  for (const auto& [name, side] : outcomes) {
    if (side->amount->unit != unit || name == kFar || name == kHostLatency || name == kHostBandwidth)
      continue;
    const std::string level = name.substr(0, name.find(':'));
    parts.push_back(fmt::format("{} ({})",
                                unit == Amount::Unit::loads
                                    ? time_text(time_of_a_load(*side), side->time.precision())
                                    : rate_text(bytes_per_second(*side), "B/s"),
                                level));
  }
  return joined(parts);
}

std::string halves_sentence(const std::vector<LevelOutcome>& outcomes, double margin) {
  const auto near = std::ranges::find(outcomes, kNear, &LevelOutcome::name);
  const auto far = std::ranges::find(outcomes, kFar, &LevelOutcome::name);
  if (near == outcomes.end() || far == outcomes.end()) return {};
  const double ratio = time_of_a_load(*far->side) / time_of_a_load(*near->side);
  if (ratio <= 1.0 + margin) return "All of the L2 is equally far from a processor.";
  return fmt::format(
      "Data that fills more than half of the L2 takes {} a load ({}): it comes from the half that is "
      "farther from "
      "the processor.",
      time_text(time_of_a_load(*far->side), far->side->time.precision()), time_change_text(ratio - 1.0));
}

std::string host_sentence(const std::vector<LevelOutcome>& outcomes) {
  const auto shortest = std::ranges::find(outcomes, kHostLatency, &LevelOutcome::name);
  const auto longest = std::ranges::find(outcomes, kHostBandwidth, &LevelOutcome::name);
  if (shortest == outcomes.end() || longest == outcomes.end()) return {};
  return fmt::format("A copy of 4 bytes from the host takes {}; one of 64 MiB comes at {}.",
                     time_text(shortest->side->time.median, shortest->side->time.precision()),
                     rate_text(bytes_per_second(*longest->side), "B/s"));
}

std::vector<std::string> hierarchy_answer(const ComparisonRecord& record) {
  const std::vector<LevelOutcome> outcomes = level_outcomes(record);
  std::vector<std::string> sentences;
  if (const std::string loads = outcomes_text(outcomes, Amount::Unit::loads); !loads.empty()) {
    sentences.push_back(fmt::format("**A load takes {}**, where the next one waits for it.", loads));
  }
  if (const std::string bytes = outcomes_text(outcomes, Amount::Unit::bytes); !bytes.empty()) {
    sentences.push_back(fmt::format("**All processors together read {}.**", bytes));
  }
  if (std::string halves = halves_sentence(outcomes, record.margin); !halves.empty()) {
    sentences.push_back(std::move(halves));
  }
  if (std::string host = host_sentence(outcomes); !host.empty()) sentences.push_back(std::move(host));
  if (sentences.empty()) sentences.emplace_back("No level has a time.");
  for (std::string& sentence : wrong_results(record)) sentences.push_back(std::move(sentence));
  return sentences;
}

}  // namespace

Study hierarchy() {
  return {.id = "hierarchy",
          .question = "How long does a load from each level of memory take, and how much bandwidth has it?",
          .concerns = "the machine, with the kernels of @hierarchy or of a changed copy",
          .is_remedy = false,
          .subject = hierarchy_subject,
          .can_be_asked_of = is_chase,
          .arms = hierarchy_arms,
          .remedy = hierarchy_remedy,
          .amount = hierarchy_amount,
          .answer = hierarchy_answer};
}

}  // namespace jitterscope::study::studies
