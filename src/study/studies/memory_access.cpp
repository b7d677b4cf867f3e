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
constexpr std::int64_t kEach = 4, kWidest = 4;  // elements that a thread moves, in pieces and at once

// Returns the kernel if it has the arguments of @access: n, step, x, y; else null.
const CudaKernel* coalesced_kernel(const Operation& operation) {
  constexpr std::size_t kArguments = 4;
  const CudaKernel* kernel = kernel_of(operation);
  if (kernel == nullptr || kernel->kernel != kCoalesced || kernel->arguments.size() != kArguments)
    return nullptr;
  return is_buffer(kernel->arguments[0]) || is_buffer(kernel->arguments[1]) ? nullptr : kernel;
}

bool is_coalesced_copy(const Operation& operation) { return coalesced_kernel(operation) != nullptr; }

// Moves `width` elements at once, four times as many in each thread.
Arm access_arm(const char* name, const char* function, std::int64_t step, std::int64_t width,
               const char* remedy) {
  const auto change = [=](CudaKernel& kernel) {
    kernel.kernel = function;
    kernel.arguments[1].integer = step;
    kernel.grid[0] = kernel.arguments[0].integer / (width * kEach * kernel.block[0]);
  };
  return changed_arm<CudaKernel>(name, change, {{remedy}, "", "In the kernel"});
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
  return {
      access_arm("coalesced", kCoalesced, 0, 1, ""),
      access_arm("8 bytes", "coalesced<float2>", 0, 2,
                 "float2 instead of float, from addresses that 8 bytes divide"),
      access_arm("16 bytes", "coalesced<float4>", 0, 4,
                 "float4 instead of float, from addresses that 16 bytes divide"),
      access_arm("misaligned", "misaligned", 1, 1, "x[i + 1] of thread i"),
      access_arm("stride 2", "strided", 2, 1, "x[2 * i] of thread i"),
      access_arm("stride 4", "strided", 4, 1, "x[4 * i] of thread i"),
      access_arm("stride 8", "strided", 8, 1, "x[8 * i] of thread i"),
      access_arm("stride 32", "strided", 32, 1, "x[32 * i] of thread i"),
      access_arm("random", "scattered", 0, 1, "x[index[i]] of thread i"),
  };
}

// Several times the last-level cache: 256 MiB each way on a GPU, 32 MiB on a CPU.
std::string access_subject(const DeviceDescription& device) {
  return fmt::format(
      "cuda:@access:coalesced<float>,reference=copied,n={},step=0,block=256,grid=n/4/block,x=f32[n],y=out:f32[n]",
      device.capabilities.is_host ? "8Mi" : "64Mi");
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
Sentences access_answer(const StudyResult& result) {
  const ComparisonRecord& record = result.record;
  const auto is_right = [](const Comparison& each) { return has_time(each) && each.second.amount; };
  const auto any = std::ranges::find_if(record.comparisons, is_right);
  Sentences sentences;
  if (any == record.comparisons.end()) {
    add(sentences, "No pattern but the first has a time.");
    add(sentences, wrong_results(result));
    return sentences;
  }
  const Comparison* worst = slowest_of(
      record.comparisons, [&](const Comparison& each) { return is_right(each) && is_slower(each); });
  const Comparison* best = fastest_of(
      record.comparisons, [&](const Comparison& each) { return is_right(each) && is_faster(each); });
  const std::string& first = record.alternatives.front();
  if (worst != nullptr) {
    add(sentences, fmt::format("**{} gets {} of the bytes that it needs, and {} {}**: it is {}.", first,
                               rate_of_side(worst->first), record.alternatives[worst->alternative],
                               rate_of_side(worst->second), speed_against(worst->time, first)));
    add(sentences, moved_sentence(record, *worst));
  } else {
    add(sentences, fmt::format("**{} gets {}, and no pattern is shown to be slower.**", first,
                               rate_of_side(any->first)));
  }
  add(sentences, best != nullptr
                     ? fmt::format("The fastest is {}, {}.", record.alternatives[best->alternative],
                                   speed_against(best->time, first))
                     : fmt::format("Nothing is shown to be faster than {}.", first));
  const bool is_open = std::ranges::any_of(
      record.comparisons, [&](const Comparison& each) { return is_right(each) && is_undecided(each); });
  if (is_open && (worst == nullptr || best == nullptr))
    add(sentences, not_decided("whether all patterns are as fast"));
  add(sentences, wrong_results(result));
  return sentences;
}

}  // namespace

Study access() {
  return {.id = "access",
          .question = "How fast is memory, by how neighbouring threads access it?",
          .concerns = "the kernel `coalesced<float>` of @access or of a changed copy",
          .is_remedy = false,
          .counts_memory = true,
          .is_about_kernels = true,
          .make_subject = access_subject,
          .can_be_asked_of = is_coalesced_copy,
          .arms = access_arms,
          .amount = access_amount,
          .answer = access_answer};
}

// Tiling study. It varies how a matrix product uses shared memory: not at all, by tiles of several sizes, by
// a tile whose reads fall into one bank, and by that tile with an extra column. It reports time and each
// result's error. Limits: caches do part of the work of tiles, so small tiles may gain nothing; products of
// the size of a library's tiles belong to the library.

namespace {

constexpr const char* kPlain = "plain";
constexpr std::int64_t kLargestTile = 32;

// Returns the side of the matrices: the first argument, a number, followed by a, b and c. 0 if there is none.
std::int64_t side_of(const CudaKernel& kernel) {
  constexpr std::size_t kArguments = 4;
  if (kernel.kernel != kPlain || kernel.arguments.size() != kArguments) return 0;
  return is_buffer(kernel.arguments[0]) ? 0 : kernel.arguments[0].integer;
}

bool is_plain_product(const Operation& operation) {
  const CudaKernel* kernel = kernel_of(operation);
  return kernel != nullptr && side_of(*kernel) > 0;
}

Arm tiling_arm(std::string name, std::string function, std::int64_t tile, Remedy remedy) {
  remedy.place = "In the kernel";
  const auto change = [function = std::move(function), tile](CudaKernel& kernel) {
    const std::int64_t blocks = side_of(kernel) / tile;
    kernel.kernel = function;
    kernel.grid = {blocks, blocks, 1};
    kernel.block = {tile, tile, 1};
  };
  return changed_arm<CudaKernel>(std::move(name), change, std::move(remedy));
}

Arm transposed_arm(const char* name, bool is_padded, Remedy remedy) {
  Arm arm = tiling_arm(name, fmt::format("transposed<{:d}>", is_padded), kLargestTile, std::move(remedy));
  arm.value = TransposedTile{is_padded};
  return arm;
}

std::vector<Arm> tiling_arms(const StudyContext& context) {
  for (const Operation& operation : context.operations) {
    const std::int64_t side = side_of(std::get<CudaKernel>(operation.parameters()));
    if (side % kLargestTile == 0) continue;
    throw UsageError(
        fmt::format("matrices of {0} x {0} have no whole tiles; take a multiple of {1}", side, kLargestTile));
  }
  std::vector<Arm> arms = {changed_arm<CudaKernel>(kPlain, [](CudaKernel&) {})};
  for (const std::int64_t tile : {std::int64_t{8}, std::int64_t{16}, kLargestTile}) {
    arms.push_back(tiling_arm(
        fmt::format("tile={}", tile), fmt::format("tiled<{}>", tile), tile,
        {{fmt::format("__shared__ float tile[{0}][{0}], with __syncthreads() after filling and after use",
                      tile)},
         "A block then has as many threads as a tile has elements."}));
  }
  arms.push_back(transposed_arm("conflicts", false,
                                {{"a transposed tile in shared memory"}, "Its reads fall into one bank."}));
  arms.push_back(transposed_arm(
      "padded", true,
      {{"__shared__ float tile[32][32 + 1]"}, "A tile takes a column more of shared memory."}));
  return arms;
}

// Each was compared with the first arm; both intervals together bound their ratio.
Sentences cost_of_conflicts(const StudyResult& result) {
  const std::vector<ArmOutcome> outcomes = arm_outcomes(result.record);
  const auto of_tile = [&](bool is_padded) {
    return std::ranges::find_if(outcomes, [&](const ArmOutcome& outcome) {
      const auto* tile = value_of<TransposedTile>(result, outcome.alternative);
      return tile != nullptr && tile->is_padded == is_padded;
    });
  };
  const auto conflicts = of_tile(false), padded = of_tile(true);
  const bool of_one_product = std::ranges::count(outcomes, std::size_t{1}, &ArmOutcome::alternative) <= 1;
  if (conflicts == outcomes.end() || padded == outcomes.end() || !of_one_product) return {};
  if (conflicts->is_wrong || padded->is_wrong) return {};
  const double ratio = conflicts->time.ratio / padded->time.ratio;
  const double low = conflicts->time.low / padded->time.high;
  const double high = conflicts->time.high / padded->time.low;
  if (ratio > 1.0 + result.record.margin && low > 1.0) {
    return {fmt::format(
        "Bank conflicts make a transposed tile slower: {}. A column more in it (padded) avoids them.",
        time_change_text(ratio - 1.0))};
  }
  if (high > 1.0 + result.record.margin) return {not_decided("whether bank conflicts cost time here")};
  return {fmt::format("Bank conflicts cost nothing here: {} against {} is {}.", conflicts->name, padded->name,
                      change_text(ratio - 1.0))};
}

}  // namespace

Study tiling() {
  return {.id = "tiling",
          .question = "How much do tiles in shared memory speed up a matrix product?",
          .concerns = "the kernel `plain` of @tiling or of a changed copy",
          .is_about_kernels = true,
          .shows_what_ran = true,
          .subject =
              "cuda:@tiling:plain,reference=product_reference,n=1024,block=32x8,grid=n/32xn/8,a=f32[n*n],"
              "b=f32[n*n],c=out:f32[n*n]",
          .can_be_asked_of = is_plain_product,
          .arms = tiling_arms,
          .details = cost_of_conflicts};
}

// Hierarchy study. It varies where loads are served: shared memory, caches, memory, host. It reports the
// latency of dependent loads, the bandwidth of all processors together, and the rate of atomic additions. The
// arms do different things, so none is faster than another. Limits: the capacity of each level is guessed
// from the size of the last-level cache; loads that miss the TLB take longer, as in rings of hundreds of
// megabytes.

namespace {

constexpr const char* kCarried = "@hierarchy";
// The far half: from A100 on, the L2 has two halves, and a processor finds in the nearer half what fits
// there. The rest comes from the farther one: on an H100 PCIe a load takes 151 ns in rings of up to 20 MB,
// and 271 ns in rings of 35 to 47 MB (gpu-benches, gpu-latency/h100_pcie.txt).
constexpr std::int64_t kKibi = 1024, kMebi = kKibi * kKibi;
constexpr std::int64_t kCell = 8;   // bytes of an address in a ring
constexpr std::int64_t kWord = 16;  // bytes that a thread reads at once

// What is measured of a level. Names are short enough for a table.
struct Level {
  using Place = MemoryLevel::Place;
  const char *level, *quantity;
  std::string operation;
  Place place = Place::other;
  std::string name() const { return fmt::format("{}: {}", level, quantity); }
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
      {"shared memory", "latency",
       chase_text(file, "chase_shared", "chased", 2 * kKibi, kCell, 0, 64 * kKibi, 1, 256)},
      {"L1", "latency",
       chase_text(file, "chase<ThroughL1>", "chased", 32 * kKibi / kLine, kLine, 0, 32 * kKibi, 1, kThreads)},
      {"L2", "latency",
       chase_text(file, "chase<PastL1>", "chased", in_cache / kLine, kLine, 0, 8 * kKibi, 1, kThreads),
       Level::Place::near_half},
      {"L2, far half", "latency",
       chase_text(file, "chase<HeldByL2>", "chased", cache / 8 / kLine, kLine, cache / 8 * 5, 32 * kKibi, 1,
                  kThreads),
       Level::Place::far_half},
      {"memory", "latency",
       chase_text(file, "chase<PastL1>", "chased", beyond / kLine, kLine, 2 * cache, 4 * kKibi, 1, kThreads)},
      {"host copy", "latency", "copy:bytes=4,kind=h2d,memory=pinned", Level::Place::host_latency},
      {"shared memory", "bandwidth",
       stream_text(file, "stream_shared", 32 * kKibi, true, 2001, processors, kThreads)},
      {"L1", "bandwidth",
       stream_text(file, "stream<ThroughL1>", 128 * kKibi, true, 501, processors, kThreads)},
      {"L2", "bandwidth", stream_text(file, "stream<PastL1>", 64 * kKibi, true, 101, full, kThreads)},
      {"memory", "bandwidth", stream_text(file, "stream<PastL1>", 4 * kMebi, false, 1, full, kThreads)},
      {"host copy", "bandwidth", "copy:bytes=64Mi,kind=h2d,memory=pinned", Level::Place::host_bandwidth},
      {"atomics", "one address", add_text(file, 1, 4, full, kThreads)},
      {"atomics", "own addresses", add_text(file, full * kThreads, 256, full, kThreads)},
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
      {"L1", "latency", chase(16 * kKibi, 0, kMebi)},
      {"L2", "latency", chase(128 * kKibi, 0, 256 * kKibi)},
      {"last level", "latency", chase(power_of_two_up_to(cache / 4), 0, 32 * kKibi)},
      {"memory", "latency", chase(beyond, cache, 16 * kKibi)},
      {"L1", "bandwidth", stream(16 * kKibi, 2001)},
      {"L2", "bandwidth", stream(128 * kKibi, 201)},
      {"memory", "bandwidth", stream(std::max(power_of_two_up_to(2 * cache / cores), 16 * kMebi), 1)},
      {"atomics", "one address", add_text(file, 1, 16 * kKibi, cores, 1)},
  };
}

std::vector<Level> levels_of(const DeviceDescription& device, const std::string& file) {
  return device.capabilities.is_host ? cpu_levels(device, file) : gpu_levels(device, file);
}

bool is_chase(const Operation& operation) {
  const CudaKernel* kernel = kernel_of(operation);
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
    const Operation of_level = Operation::parse(level.operation);
    arms.push_back(arm_of(level.name(), [of_level](const Operation&) { return of_level; }));
    arms.back().value = MemoryLevel{level.level, level.place};
  }
  return arms;
}

std::string hierarchy_subject(const DeviceDescription& device) {
  return levels_of(device, kCarried).front().operation;
}

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
  const CudaKernel* kernel = kernel_of(operation);
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
  const MemoryLevel* level;
  const ComparedSide* side;
};

std::vector<LevelOutcome> level_outcomes(const StudyResult& result) {
  std::vector<LevelOutcome> outcomes;
  const auto add = [&](std::size_t alternative, const ComparedSide& side) {
    if (side.amount) outcomes.push_back({value_of<MemoryLevel>(result, alternative), &side});
  };
  bool is_first = true;
  for (const Comparison& comparison : result.record.comparisons) {
    if (!comparison.failure.empty()) continue;
    const auto& of_first = comparison.first.verification;
    if (is_first && (!of_first || of_first->passed)) {
      add(0, comparison.first);
      is_first = false;
    }
    if (!is_wrong(comparison)) add(comparison.alternative, comparison.second);
  }
  return outcomes;
}

double bytes_per_second(const ComparedSide& side) {
  return side.amount->count / (side.time.median.value() * 1e-9);
}

Nanoseconds time_of_a_load(const ComparedSide& side) { return side.time.median / side.amount->count; }

const ComparedSide* side_at(const std::vector<LevelOutcome>& outcomes, MemoryLevel::Place place) {
  const auto found = std::ranges::find_if(
      outcomes, [&](const LevelOutcome& outcome) { return outcome.level->place == place; });
  return found == outcomes.end() ? nullptr : found->side;
}

// Returns "1.2 ns (L1), 4 ns (L2)", for the outcomes counted in that unit.
std::string outcomes_text(const std::vector<LevelOutcome>& outcomes, Amount::Unit unit) {
  using enum MemoryLevel::Place;
  std::vector<std::string> parts;
  for (const auto& [level, side] : outcomes) {
    if (side->amount->unit != unit || (level->place != other && level->place != near_half)) continue;
    parts.push_back(fmt::format("{} ({})",
                                unit == Amount::Unit::loads
                                    ? time_text(time_of_a_load(*side), side->time.precision())
                                    : rate_text(bytes_per_second(*side), "B/s"),
                                level->name));
  }
  return joined(parts);
}

std::string halves_sentence(const std::vector<LevelOutcome>& outcomes, double margin) {
  const ComparedSide* near = side_at(outcomes, MemoryLevel::Place::near_half);
  const ComparedSide* far = side_at(outcomes, MemoryLevel::Place::far_half);
  if (near == nullptr || far == nullptr) return {};
  const double ratio = time_of_a_load(*far) / time_of_a_load(*near);
  if (ratio <= 1.0 + margin) return "All of the L2 is equally far from a processor.";
  return fmt::format(
      "Data that fills more than half of the L2 takes {} a load ({}): it comes from the half that is "
      "farther from the processor.",
      time_text(time_of_a_load(*far), far->time.precision()), time_change_text(ratio - 1.0));
}

std::string host_sentence(const std::vector<LevelOutcome>& outcomes) {
  const ComparedSide* shortest = side_at(outcomes, MemoryLevel::Place::host_latency);
  const ComparedSide* longest = side_at(outcomes, MemoryLevel::Place::host_bandwidth);
  if (shortest == nullptr || longest == nullptr) return {};
  return fmt::format("A copy of 4 bytes from the host takes {}; one of 64 MiB comes at {}.",
                     time_text(shortest->time.median, shortest->time.precision()),
                     rate_text(bytes_per_second(*longest), "B/s"));
}

Sentences hierarchy_answer(const StudyResult& result) {
  const std::vector<LevelOutcome> outcomes = level_outcomes(result);
  Sentences sentences;
  if (const std::string loads = outcomes_text(outcomes, Amount::Unit::loads); !loads.empty()) {
    add(sentences, fmt::format("**A load takes {}**, where the next one waits for it.", loads));
  }
  if (const std::string bytes = outcomes_text(outcomes, Amount::Unit::bytes); !bytes.empty()) {
    add(sentences, fmt::format("**All processors together read {}.**", bytes));
  }
  add(sentences, halves_sentence(outcomes, result.record.margin));
  add(sentences, host_sentence(outcomes));
  if (sentences.empty()) add(sentences, "No level has a time.");
  add(sentences, wrong_results(result));
  return sentences;
}

}  // namespace

Study hierarchy() {
  return {.id = "hierarchy",
          .question = "How long does a load from each level of memory take, and how much bandwidth has it?",
          .concerns = "the machine, with the kernels of @hierarchy or of a changed copy",
          .is_remedy = false,
          .make_subject = hierarchy_subject,
          .can_be_asked_of = is_chase,
          .arms = hierarchy_arms,
          .amount = hierarchy_amount,
          .answer = hierarchy_answer};
}

}  // namespace jitterscope::study::studies
