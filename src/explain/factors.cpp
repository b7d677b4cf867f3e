#include "explain/factors.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "device/operands.hpp"
#include "jitterscope/error.hpp"
#include "operation/operation.hpp"

// Every factor that a study can switch, and the list of all.

namespace jitterscope::explain::factors {

Factor idle(const FactorContext& context);
Factor load(const FactorContext& context);
Factor cache(const FactorContext& context);
Factor traffic(const FactorContext& context);
Factor queue(const FactorContext& context);
Factor host_delay(const FactorContext& context);
Factor synchronization(const FactorContext& context);
Factor launches(const FactorContext& context);
Factor data(const FactorContext& context);
Factor engine(const FactorContext& context);
Factor instrument(const FactorContext& context);
Factor host_scheduling(const FactorContext& context);
Factor allocator(const FactorContext& context);
Factor alignment(const FactorContext& context);
Factor row_stride(const FactorContext& context);
Factor heap(const FactorContext& context);
Factor contention_kernels(const FactorContext& context);
Factor contention_memory(const FactorContext& context);
Factor contention_link(const FactorContext& context);
Factor neighbour_kernels(const FactorContext& context);
Factor neighbour_memory(const FactorContext& context);
Factor neighbour_link(const FactorContext& context);

/// Adds doses of work beside the loop for 25, 50 and 100 % of the time; `beside` is the treatment's field for
/// it. Such a factor is tried last, since the work, on a queue or in a process, leaves the process changed.
Factor with_work_beside(Factor factor, CompanionWork work, std::optional<Companion> Treatment::*beside);

}  // namespace jitterscope::explain::factors

namespace jitterscope::explain {

// Treatments are applied in this order: idle after load.
std::vector<Factor> all_factors(const FactorContext& context) {
  return {factors::load(context),
          factors::idle(context),
          factors::cache(context),
          factors::launches(context),
          factors::data(context),
          factors::queue(context),
          factors::synchronization(context),
          factors::engine(context),
          factors::traffic(context),
          factors::host_delay(context),
          factors::host_scheduling(context),
          factors::allocator(context),
          factors::alignment(context),
          factors::row_stride(context),
          factors::heap(context),
          factors::instrument(context),
          factors::contention_kernels(context),
          factors::contention_memory(context),
          factors::contention_link(context),
          factors::neighbour_kernels(context),
          factors::neighbour_memory(context),
          factors::neighbour_link(context)};
}

FactorContext factor_context(Device& device, const TrialSubject& subject) {
  constexpr std::size_t kMostEngines = 4;
  FactorContext context{.device = device.describe(), .is_callable = subject.callable() != nullptr};
  const Operation* operation = subject.operation();
  context.has_row_strides =
      operation != nullptr && !context.device.capabilities.is_simulated && has_matrices(*operation);
  context.lies_in_pages = operation != nullptr;
  if (operation == nullptr) return context;
  context.operand_memory = operand_memory(*operation);
  if (!context.device.capabilities.is_simulated) context.alignment = Bytes(1);
  context.reads_data = !std::holds_alternative<Spin>(operation->parameters());
  for (const EngineListing& engine : device.list_engines(*operation)) {
    const bool is_known = std::ranges::find(context.engines, engine.tag) != context.engines.end();
    if (engine.source == EngineListing::Source::heuristic && !is_known &&
        context.engines.size() < kMostEngines) {
      context.engines.push_back(engine.tag);
    }
  }
  return context;
}

std::vector<Factor> chosen_factors(const FactorContext& context, const std::vector<std::string>& ids) {
  for (const std::string& id : ids) require_factor(id);
  std::vector<Factor> chosen = all_factors(context);
  std::erase_if(chosen, [&](const Factor& factor) {
    return !ids.empty() && std::ranges::find(ids, factor.id) == ids.end();
  });
  return chosen;
}

void require_factor(const std::string& id) {
  const std::vector<std::string> known = factor_ids();
  if (std::ranges::find(known, id) == known.end())
    throw UsageError(fmt::format("--factors: no factor is called '{}'{}", id, suggestion(id, known)));
}

std::vector<std::string> factor_ids() {
  std::vector<std::string> ids;
  for (const Factor& factor : all_factors(FactorContext())) ids.push_back(factor.id);
  return ids;
}

}  // namespace jitterscope::explain

// Clock after idle. Intervention: a longer idle before the loop. Signature: the time follows the clock, so
// cycles stay; the effect saturates once the clock has fallen to its lowest. Confused with: other state that
// an idle device loses (a sleeping link, a cache that another program has filled).

namespace jitterscope::explain::factors {

Factor idle(const FactorContext& context) {
  Factor factor{
      .id = "idle",
      .cause = "an idle before the loop",
      .usual = duration_text(Treatment().idle) + " idle",
      .doses_grow = true,
      .remedy = "Keep the device busy before what is timed, or time behind a fixed idle and say so."};
  for (const Nanoseconds time : {milliseconds(50), milliseconds(150), milliseconds(400)}) {
    factor.doses.push_back(
        {duration_text(time) + " idle", [time](Treatment& treatment) { treatment.idle = time; }});
  }
  if (context.device.capabilities.is_host) {
    factor.not_available = "the clock of a CPU belongs to its other programs too";
  }
  return factor;
}

// Power and heat. Intervention: a large product right before the loop, for a quarter of a time and for all of
// it (no setting is changed). Signature: the clock falls, cycles stay; what limits the average of power does
// less for the quarter. Power acts within 0.1 s, heat over seconds; a study of seconds cannot tell the two
// apart, so they are named together.

Factor load(const FactorContext& context) {
  Factor factor{.id = "load",
                .cause = "a heavy load right before (power or heat)",
                .usual = "none",
                .doses_grow = true,
                .remedy =
                    "Let the device rest before what is timed, or time under the load that it will run "
                    "in (--load sustained).",
                .not_told_from = {"power", "temperature"}};
  const auto add = [&factor](Nanoseconds time, double duty, const char* duty_text) {
    factor.doses.push_back(
        {duration_text(time) + " of products" + duty_text, [time, duty](Treatment& treatment) {
           treatment.load = time;
           treatment.load_duty = duty;
           treatment.idle = Nanoseconds(0);
         }});
  };
  add(milliseconds(100), 0.25, ", a quarter of the time");
  add(milliseconds(100), 1.0, "");
  add(milliseconds(300), 1.0, "");
  if (!context.device.power_limit) factor.not_available = "this device limits no power that could be read";
  return factor;
}

// L2 state. Intervention: operands are evicted before each launch, with clean or modified lines left there,
// or another kernel has just written the inputs. Signature: a step in time, the clock unchanged. Confused
// with: the power that eviction draws, which the clock shows.

Factor cache(const FactorContext& context) {
  Factor factor{
      .id = "cache",
      .cause = "operands that are not in the cache",
      .usual = "warm operands",
      .doses = {{"cold operands", [](Treatment& treatment) { treatment.cache = CacheState::cold; }}},
      .remedy = "Time in the cache state that the program has (--cache warm, cold or produced).",
      .shows_in_counters = true};
  if (!context.is_callable) {
    factor.doses.push_back(
        {"operands just written", [](Treatment& treatment) { treatment.cache = CacheState::produced; }});
  }
  factor.doses.push_back(
      {"cold, modified lines", [](Treatment& treatment) { treatment.cache = CacheState::dirty; }});
  return factor;
}

// L2 state, graded. Intervention: another kernel moves a part of the cache's size before each launch, as a
// neighbouring layer does. Signature: grows with the bytes until the cache's size is reached.

Factor traffic(const FactorContext& context) {
  Factor factor{.id = "traffic",
                .cause = "other kernels' data in the cache",
                .usual = "nothing copied between launches",
                .doses_grow = true,
                .remedy =
                    "Time the layer where it runs (--in-sequence), or let launches that share data "
                    "follow each other.",
                .shows_in_counters = true};
  const auto size = static_cast<double>(context.device.last_level_cache.value());
  for (const double share : {0.25, 0.5, 1.0}) {
    const Bytes bytes(static_cast<std::int64_t>(share * size));
    factor.doses.push_back({fmt::format("{:g} cache{} copied", share, share == 1.0 ? "" : "s"),
                            [bytes](Treatment& treatment) { treatment.traffic = bytes; }});
  }
  if (!(size > 0.0)) factor.not_available = "the size of the last-level cache is not known";
  return factor;
}

// Launch. Intervention: all launches are queued in a held queue, or recorded as a graph. Signature: a
// constant per launch, the clock unchanged; no effect if a launch runs longer than the host needs to make it.

Factor queue(const FactorContext& context) {
  Factor factor{
      .id = "queue",
      .cause = "how work is launched (a queue that runs empty)",
      .usual = "launches one by one",
      .doses = {{"a graph", [](Treatment& treatment) { treatment.queue = QueueMode::graph; }},
                {"a held queue", [](Treatment& treatment) { treatment.queue = QueueMode::saturated; }}},
      .remedy =
          "Record short launches as a graph, or launch ahead; events around a launch into an "
          "empty queue read the host."};
  if (!context.device.capabilities.launches_return_early) {
    factor.not_available = "a launch returns when its work is done";
  } else if (context.launches_wait) {
    factor.not_available = "a launch waits for the device";
  } else if (!context.fits_queue) {
    factor.doses.pop_back();  // the queue would be held for launches that wait for its release
  }
  return factor;
}

// Host cost. Intervention: each launch call takes the host a known time longer. Signature: no effect until
// the host is slower than the device, then all of the delay. Confused with: nothing else that adds up.

Factor host_delay(const FactorContext& context) {
  Factor factor{.id = "host_delay",
                .cause = "a slower host",
                .usual = "no delay",
                .doses_grow = true,
                .remedy = "The host is the limit: launch ahead, record a graph, or do less per launch."};
  for (const Nanoseconds time : {microseconds(2), microseconds(5), microseconds(20)}) {
    factor.doses.push_back({duration_text(time) + " more per call",
                            [time](Treatment& treatment) { treatment.host_delay = time; }});
  }
  if (!context.device.capabilities.launches_return_early) {
    factor.not_available = "a launch returns when its work is done, so that a slower host shows at once";
  }
  return factor;
}

// Synchronization. Intervention: the host waits after each launch: as the driver does, by polling, or asleep
// until an interrupt. Signature: the queue is empty at each launch; the clock may fall between short ones.

Factor synchronization(const FactorContext& context) {
  Factor factor{
      .id = "synchronization",
      .cause = "a wait behind each launch",
      .usual = "one wait behind the loop",
      .doses = {{"a wait behind each", [](Treatment& treatment) { treatment.wait = WaitBehindEach::usual; }},
                {"polling behind each",
                 [](Treatment& treatment) { treatment.wait = WaitBehindEach::polling; }}},
      .remedy = "Wait once behind many launches; where each must be waited for, spin rather than sleep."};
  if (context.device.capabilities.waits_can_sleep) {
    factor.doses.push_back(
        {"a sleep behind each", [](Treatment& treatment) { treatment.wait = WaitBehindEach::asleep; }});
  }
  if (!context.device.capabilities.launches_return_early) {
    factor.not_available = "a launch returns when its work is done";
  }
  return factor;
}

// Number of launches: "my kernel is faster after 100 iterations". Intervention: shorter loops after the same
// idle. Signature: the first launches meet an empty queue, and a clock that still rises. The time of a loop
// of few launches is a multiple of a few timer steps: if a step is a large part of it, the mean of such
// readings is biased.

Factor launches(const FactorContext& context) {
  constexpr Nanoseconds kLongestLoop = seconds(1);
  constexpr double kCoarse = 0.02;  // simulated: 1 us of 3 us made 10 of 12 studies name a false cause
  const bool is_known = context.launch_time > Nanoseconds(0);  // known when the study begins
  const std::int64_t usual = usual_launches(context.launch_time);
  Factor factor{
      .id = "launches",
      .cause = "the number of launches in the loop",
      .usual = is_known ? fmt::format("a loop of {}", usual) : "a loop of 5 ms",
      .remedy = "Time as many launches in a row as the program makes, or leave the first ones out."};
  const double step = is_known ? context.timer_grain / context.launch_time : 0.0;
  bool is_coarse = false;
  for (const std::int64_t count : {200, 3, 1}) {
    if (context.launch_time * static_cast<double>(count) > kLongestLoop && count > 1) continue;
    if (is_known && count == usual) continue;
    if (is_known && count < usual && step > kCoarse * std::sqrt(static_cast<double>(count))) {
      is_coarse = true;
      continue;
    }
    factor.doses.push_back(
        {fmt::format("a loop of {}", count), [count](Treatment& treatment) { treatment.launches = count; }});
  }
  if (is_coarse) {
    (factor.doses.empty() ? factor.not_available : factor.note) =
        fmt::format("the timer moves in steps of {}, {} of a launch, too coarse for shorter loops",
                    time_text(context.timer_grain), percent_text(step));
  }
  return factor;
}

// Input values. Intervention: other values in the same places, each kind with fewer bits that differ between
// neighbours than the one before: f32 normal values 13.6, uniform 13.1, half of them zeros 12.3
// (tests/explain/factors_test.cpp), zeros none. Signature: power and with it the clock move, cycles stay; no
// effect if the power limit is far, which rests between launches test. Confused with: arithmetic that takes a
// short cut at zeros, which moves cycles and leaves the clock; a memory that compresses.

Factor data(const FactorContext& context) {
  const auto dose = [](const char* text, DataKind kind) {
    return Dose{text, [kind](Treatment& treatment) { treatment.data = kind; }};
  };
  Factor factor{.id = "data",
                .cause = "what the operands hold",
                .usual = "normal values",
                .doses = {dose("uniform", DataKind::uniform), dose("sparse", DataKind::sparse),
                          dose("zeros", DataKind::zeros)},
                .doses_grow = true,
                .remedy = "Time with values like the program's.",
                .may_be_power = true};
  if (context.is_callable) {
    factor.not_available = "what a function reads is its own";
  } else if (!context.reads_data) {
    factor.not_available = "the operation reads no data";
  }
  return factor;
}

// Engine. Intervention: the other engines that PyTorch's autotuning tries. Signature: other kernels, other
// cycles. Whether a program meets the effect depends on the engine that its own choice takes.

Factor engine(const FactorContext& context) {
  Factor factor{.id = "engine",
                .cause = "which engine or algorithm runs it",
                .usual = "the engine named, or PyTorch's choice",
                .remedy = "Name the engine, or let the library choose by timing (jitterscope engines).",
                .shows_in_counters = true};
  factor.note = context.engine_note;
  for (std::size_t i = context.engines.size(); i-- > 1;) {
    const std::string tag = context.engines[i];
    factor.doses.push_back({tag, [tag](Treatment& treatment) { treatment.engine = tag; }});
  }
  if (context.engines.size() < 2) factor.not_available = "there is nothing to choose from";
  return factor;
}

// The instrument. Intervention: the same work read by jitterscope's own instrument (a held queue, the
// constant subtracted, a slope of recordings for short launches). Signature: a constant time, not a constant
// percentage.

Factor instrument(const FactorContext&) {
  return {.id = "instrument",
          .cause = "what the timing method itself adds",
          .usual = "events around each launch",
          .doses = {{"our own instrument", [](Treatment& treatment) { treatment.is_own_reading = true; }}},
          .remedy = "Take the method's constant off (jitterscope methods shows each method's)."};
}

// Host scheduling. Intervention: the launching thread stays on one core, then shares it with a thread of ours
// that computes for a part of the time; both end after the loop. Signature: late launches, so that the queue
// runs empty; none if launches are made far ahead. Confused with: a slower host.

Factor host_scheduling(const FactorContext& context) {
  Factor factor{
      .id = "host_scheduling",
      .cause = "another thread on the core that launches",
      .usual = "any free core",
      .doses_grow = true,
      .only_slows = true,
      .remedy = "Give the launching thread a core of its own (taskset), and keep other threads off it."};
  for (const double share : {0.0, 0.25, 0.5, 1.0}) {
    const std::string text =
        share == 0.0 ? "one fixed core" : fmt::format("a core {:.0f} % busy", share * 100.0);
    factor.doses.push_back({text, [share](Treatment& treatment) { treatment.core_shared = share; }});
  }
  if (context.device.capabilities.is_simulated) factor.not_available = "a simulated host has no scheduler";
  return factor;
}

// The allocator. Intervention: memory of the outputs' size is allocated before each launch and freed after
// it, from the driver or from a pool. Signature: the driver waits for the device when it frees memory, so the
// queue runs empty; a pool costs only host time. Confused with: a wait after each launch, a slower host.

Factor allocator(const FactorContext& context) {
  Factor factor{.id = "allocator",
                .cause = "memory that is taken and given back around each launch",
                .usual = "memory taken before the loop",
                .doses = {{"memory from the driver",
                           [](Treatment& treatment) { treatment.allocator = MemorySource::driver; }},
                          {"memory from a pool",
                           [](Treatment& treatment) { treatment.allocator = MemorySource::pool; }}},
                .remedy = "Allocate before the loop, or from a pool in stream order (cudaMallocAsync)."};
  if (context.is_callable) {
    factor.not_available = "a function allocates what it needs itself";
  } else if (!context.device.capabilities.allocates_memory) {
    factor.not_available =
        context.device.capabilities.is_simulated
            ? "a simulated GPU has no allocator"
            : "this device's memory is the program's own, and costs when it is first touched";
  }
  return factor;
}

// Alignment. Intervention: operands begin some bytes after their usual start. Signature: a step in cycles if
// kernels read narrower words or the library takes another kernel; the clock unchanged. Confused with: the
// place in memory, which the moved operands change, too; it is drawn anew for each block.

Factor alignment(const FactorContext& context) {
  Factor factor{
      .id = "alignment",
      .cause = "how operands are aligned",
      .usual = "the usual start of operands",
      .remedy = "Keep views and slices at multiples of 256 bytes, or of what the last harmless dose had.",
      .shows_in_counters = true};
  if (!context.alignment) {
    factor.not_available = context.device.capabilities.is_simulated
                               ? "operands of a simulated GPU have no addresses"
                               : "its operands cannot be moved by bytes";
    return factor;
  }
  for (const std::int64_t bytes : {256, 128, 64, 32, 16, 8, 4, 2}) {
    if (bytes % context.alignment->value() != 0) continue;
    factor.doses.push_back({fmt::format("a start {} bytes further", bytes),
                            [bytes](Treatment& treatment) { treatment.offset = Bytes(bytes); }});
  }
  if (factor.doses.empty())
    factor.not_available = "its kernels need operands at multiples of more than 256 bytes";
  return factor;
}

// Leading dimensions. Intervention: each row of a product's matrices is followed by padding. Signature: a
// step in cycles, the clock unchanged: rows a power of two apart share few sets of a cache and few channels
// of the memory, rows at odd places are read by narrower words, and the library may take another kernel.
// Confused with: larger operands, of which fewer stay in the cache; alignment; the place in memory, which is
// drawn anew for each block.

Factor row_stride(const FactorContext& context) {
  const auto dose = [](const char* text, RowStride rows) {
    return Dose{text, [rows](Treatment& treatment) { treatment.rows = rows; }};
  };
  Factor factor{
      .id = "row_stride",
      .cause = "how far the rows of the matrices lie apart (leading dimensions)",
      .usual = "rows one behind the other",
      .doses = {dose("8 elements between rows", {.padding = 8}),
                dose("64 elements between rows", {.padding = 64}),
                dose("rows at powers of two", {.power_of_two = true})},
      .remedy = "Give views and slices the leading dimension of the fastest dose, or copy them before.",
      .shows_in_counters = true};
  if (context.has_row_strides) return factor;
  factor.not_available = context.device.capabilities.is_simulated
                             ? "operands of a simulated GPU have no addresses"
                             : "only a product of matrices by a library that is told of them has leading "
                               "dimensions, and this is none";
  return factor;
}

// A fragmented heap. Intervention: operands consist of pages from all over the device's memory, with pages in
// use between them, as from an allocator without a free stretch of their size. Signature: a step in time, the
// clock unchanged, that grows as the pieces get smaller: more address translation entries, no huge pages on a
// CPU, other slices of the cache and channels of the memory on a GPU. Confused with: the place in memory,
// which is drawn anew for each block. Shows nothing for operands smaller than a page (2 MiB on a GPU, 4 KiB
// on a CPU), nor on a system that gives its pages out at random anyway.

Factor heap(const FactorContext& context) {
  Factor factor{.id = "heap",
                .cause = "a fragmented heap, of whose pieces the operands are made",
                .usual = "one stretch for each operand",
                .doses_grow = true,
                .remedy = "Allocate what is large early and keep it, or take huge pages.",
                .shows_in_counters = true};
  for (const std::int64_t pages : {16, 4, 1}) {
    factor.doses.push_back(
        {pages == 1 ? std::string("single pages") : fmt::format("pieces of {} pages", pages),
         [pages](Treatment& treatment) { treatment.heap_piece = pages; }});
  }
  // Pages are mapped one by one, again for each block; on a GPU each takes some 10 us.
  constexpr Bytes kMost(std::int64_t{4} << 30);
  if (!context.lies_in_pages) {
    factor.not_available = "its operands lie where others put them, or it has none";
  } else if (context.operand_memory > kMost) {
    factor.not_available =
        "to put more than 4 GiB of operands together of pages would take longer than the study";
  }
  return factor;
}

// Contention. Intervention: a second queue runs work of ours beside the loop for a part of the time.
// Signature: launches wait for processors (kernels), for the memory (copies within it) or for neither (copies
// from the host, which have engines of their own); the clock may fall, since more work takes more power.
// Confused with: that power, and the host's time for launching the other work, which a load and a slower host
// have too. On CUDA a second stream makes recordings slower from then on (docs/method.md), so these are tried
// last.

Factor with_work_beside(Factor factor, CompanionWork work, std::optional<Companion> Treatment::*beside) {
  factor.doses_grow = true;
  factor.is_tried_last = true;
  for (const double duty : {0.25, 0.5, 1.0}) {
    factor.doses.push_back(
        {fmt::format("work {:.0f} % of the time", duty * 100.0), [=](Treatment& treatment) {
           treatment.*beside = Companion{work, duty};
         }});
  }
  return factor;
}

namespace {

// Sets what the three factors have in common; id, cause and remedy are each one's own.
Factor contention(Factor factor, CompanionWork work, const FactorContext& context) {
  factor.usual = "nothing else on the device";
  factor = with_work_beside(std::move(factor), work, &Treatment::companion);
  if (!context.device.capabilities.runs_queues_beside) {
    factor.not_available = "this device has one queue, and runs one thing after the other";
  }
  return factor;
}

}  // namespace

Factor contention_kernels(const FactorContext& context) {
  return contention(
      {.id = "contention_kernels",
       .cause = "kernels of another queue on all processors",
       .remedy = "Give the work that matters a stream of higher priority, or run the other after it."},
      CompanionWork::kernels, context);
}

Factor contention_memory(const FactorContext& context) {
  return contention(
      {.id = "contention_memory",
       .cause = "another queue that moves data within the device's memory",
       .remedy = "Keep large copies and memory-bound kernels of other streams away from this work."},
      CompanionWork::memory, context);
}

Factor contention_link(const FactorContext& context) {
  return contention({.id = "contention_link",
                     .cause = "another queue that copies from the host",
                     .remedy = "Copy inputs while work runs that does not notice, or copy less."},
                    CompanionWork::link, context);
}

// Contention by another process. Intervention: a fresh process of ours runs work on the same device beside
// the loop for a part of the time, and rests between loops. Signature: two processes share a GPU in turns of
// some milliseconds, so most launches take their usual time or wait for a whole turn; on a CPU both have
// threads on the same cores. Confused with: another queue of the same process (contention_*), which runs
// beside and not in turns; the power that more work takes; the memory that a second process needs. The
// process is there during plain loops, too, at rest.

namespace {

// Sets what the three factors have in common; id, cause and remedy are each one's own.
Factor neighbour(Factor factor, CompanionWork work, const FactorContext& context) {
  factor.usual = "no other process at work";
  factor = with_work_beside(std::move(factor), work, &Treatment::neighbour);
  if (context.device.capabilities.is_simulated) {
    factor.not_available = "a simulated GPU lives in one process, and no other can work on it";
  } else if (!context.starts_processes) {
    factor.not_available = "no other process can be started from here; `jitterscope explain` does";
  }
  return factor;
}

}  // namespace

Factor neighbour_kernels(const FactorContext& context) {
  const bool is_host = context.device.capabilities.is_host;
  return neighbour({.id = "neighbour_kernels",
                    .cause = "another process that computes on all processors",
                    .remedy = is_host ? "Keep other programs off these cores (a queue of jobs, taskset)."
                                      : "Let one process have the device at a time (exclusive mode, a queue "
                                        "of jobs), or divide it (MIG)."},
                   CompanionWork::kernels, context);
}

Factor neighbour_memory(const FactorContext& context) {
  return neighbour({.id = "neighbour_memory",
                    .cause = "another process that moves data within the device's memory",
                    .remedy = "Keep other processes' large copies away from this work."},
                   CompanionWork::memory, context);
}

Factor neighbour_link(const FactorContext& context) {
  Factor factor = neighbour({.id = "neighbour_link",
                             .cause = "another process that copies from the host",
                             .remedy = "Keep other processes' transfers away from this work, or copy less."},
                            CompanionWork::link, context);
  if (context.device.capabilities.is_host) factor.not_available = "a CPU's memory is the host's";
  return factor;
}

}  // namespace jitterscope::explain::factors
