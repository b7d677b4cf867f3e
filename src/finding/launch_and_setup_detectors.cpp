#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "finding/evidence.hpp"
#include "finding/finding.hpp"
#include "measure/rates_and_totals.hpp"
#include "operation/operation.hpp"

// Detects that the host needs longer to launch than the device to run, so that an eager program's GPU waits.

namespace jitterscope {

std::vector<Finding> find_launch_bound(const Result& result, const FindingContext& context) {
  // On a CPU the launch call is the work itself.
  if (!context.on_gpu || result.launch_cost <= Nanoseconds(0)) return {};
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    const Nanoseconds time = measurement.time.median;
    // An eager time already includes the launch cost, and does not show how long the GPU works.
    if (measurement.conditions.queue == QueueMode::eager || time <= Nanoseconds(0)) continue;
    const double factor = result.launch_cost / time;
    if (!(factor > 1.0)) continue;
    Finding finding;
    finding.id = "launch_bound";
    finding.headline =
        fmt::format("the host needs {} to launch {} of work", time_text(result.launch_cost), time_text(time));
    finding.sentence = fmt::format(
        "One launch takes the host {}, {:.2f} times the {} that the GPU works ({}): in a program that "
        "launches eagerly, the GPU waits.",
        time_text(result.launch_cost), factor, time_text(time), conditions_text(measurement.conditions));
    finding.remedy = "Replay it from a CUDA graph, or do more per launch: a larger batch, fused operations.";
    finding.evidence = {evidence("launch_cost", result.launch_cost), evidence("time", time),
                        evidence_ratio("launch_cost_over_time", factor)};
    candidates.push_back({factor - 1.0, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

// Detects launches that cannot be held: they wait for the GPU before they return, or have more kernels than
// its queue holds. Also detects single lost rounds, in which a launch blocked the host only once.

std::vector<Finding> find_waits_for_gpu(const Result& result, const FindingContext& context) {
  if (!result.waits_for_device || result.measurements.empty()) return {};
  // For a copy from pageable memory, find_pageable gives the cause.
  if (!find_pageable(result, context).empty()) return {};
  const Nanoseconds time = result.measurements.front().time.median;
  Finding finding;
  finding.id = "waits_for_gpu";
  finding.headline = "each launch waits for the GPU, so the host's work is in these times";
  finding.sentence = fmt::format(
      "A launch waits for the GPU before it returns, or fills its queue (the call takes {}), so the "
      "queue could not be held: the host's work is in the time of {}.",
      time_text(result.launch_cost), time_text(time));
  finding.remedy =
      "Quote it as the time that a program sees; --kernels shows the GPU's own work, and --instrument "
      "cupti times from the first kernel to the last.";
  finding.evidence = {evidence("launch_cost", result.launch_cost), evidence("time", time)};
  return {finding};
}

std::vector<Finding> find_lost_rounds(const Result& result, const FindingContext& /*context*/) {
  std::int64_t lost = 0, kept = 0;
  for (const Measurement& measurement : result.measurements) {
    lost += measurement.lost_rounds;
    kept += std::ssize(measurement.rounds);
  }
  if (lost == 0) return {};
  Finding finding;
  finding.id = "lost_rounds";
  finding.headline = fmt::format("{} of {} rounds were lost", lost, lost + kept);
  finding.sentence = fmt::format(
      "{} of {} rounds are not in the times: a launch did not return while the queue was held (it loaded "
      "a kernel, compiled, tuned or allocated), or the host was stopped.",
      lost, lost + kept);
  finding.remedy = "Call the function more often before measuring, so that everything is loaded.";
  finding.evidence = {{"lost", lost}, {"rounds", kept}};
  return {finding};
}

// Detects copies to and from pageable memory: they wait for the queue, so it cannot be held.

std::vector<Finding> find_pageable(const Result& result, const FindingContext& context) {
  const Operation* operation = operation_of(result.subject);
  const Copy* copy = operation != nullptr ? std::get_if<Copy>(&operation->parameters()) : nullptr;
  const bool is_pageable =
      copy != nullptr && copy->kind != CopyKind::d2d && copy->memory == HostMemory::pageable;
  if (!context.on_gpu || !is_pageable || result.measurements.empty()) return {};
  Finding finding;
  finding.id = "pageable";
  finding.headline = "pageable memory: the host's copying is in these times";
  finding.sentence =
      "The driver copies pageable memory through its own buffers and waits for the queue, so these "
      "launches could not be held: the host's work is in their times.";
  finding.remedy =
      "Page-lock the memory (memory=pinned; in PyTorch pin_memory=True), or quote the time as one of "
      "pageable memory.";
  finding.evidence = {evidence("time", result.measurements.front().time.median)};
  return {finding};
}

// Explains how and why the time of a launch depends on the number of launches in a loop.

namespace {

constexpr double kNoticed = 0.02;  // relative; a smaller dependence is not explained

struct Loops {
  const IterationRun& shortest;
  const IterationRun& longest;
};

Loops loops_of(const std::vector<IterationRun>& runs) {
  const auto [shortest, longest] = std::ranges::minmax_element(runs, {}, &IterationRun::count);
  return {*shortest, *longest};
}

// Time of the launches after the first: the median of two launches would be half the first one.
Nanoseconds later_time(const IterationRun& run) { return run.count < 3 ? run.minimum : run.median; }

std::optional<Nanoseconds> burst_time(const Result& result, CacheState cache) {
  for (const Measurement& measurement : result.measurements) {
    const Conditions& conditions = measurement.conditions;
    const bool wanted =
        conditions.cache == cache && conditions.load == Load::burst && conditions.queue != QueueMode::eager;
    if (wanted && measurement.time.rounds > 0) return measurement.time.median;
  }
  return std::nullopt;
}

// Compares the first launch with later ones, and collects measured causes that can make it longer.
class FirstLaunch {
 public:
  FirstLaunch(const Result& result, const IterationRun& run, const IterationRun& longest, bool on_gpu)
      : run_(run), later_(later_time(longest)), excess_(run.first - later_), on_gpu_(on_gpu) {
    add_call(result);
    add_cold(result);
    add_clock(longest);
  }

  bool is_noticed() const { return excess_ > later_ * kNoticed; }

  std::string sentence(const std::string& name) const {
    std::string text =
        fmt::format("{} takes {}, later ones {}", name, time_text(run_.first), time_text(later_));
    if (!causes_.empty()) text += ": " + joined(causes_, "; ");
    const Nanoseconds rest = excess_ - explained_;
    if (rest <= std::max(later_ * kNoticed, excess_ * kRoughly)) return text + ".";
    text += causes_.empty() ? "; the difference is" : "; the other " + time_text(rest) + " are";
    text += " not explained by what was measured";
    return text + (cold_is_known_ ? "." : " (cold caches were not: --cache warm,cold).");
  }

 private:
  static constexpr double kRoughly = 0.2;  // the parts overlap, and add up only this well

  // The queue is empty, so the GPU waits between the two events until the call has launched something. A
  // usual call is hidden by the work between event and kernel; a call longer than the excess cannot lie there
  // completely. On a CPU the call is the work itself.
  void add_call(const Result& result) {
    const Nanoseconds more = run_.first_launch_call - result.launch_cost;
    if (!on_gpu_ || more < later_ * kNoticed || more > excess_ * (1.0 + kRoughly)) return;
    explained_ += more;
    causes_.push_back(fmt::format("its launch call takes the host {}, while the GPU waits",
                                  time_text(run_.first_launch_call)));
  }

  void add_cold(const Result& result) {
    const auto warm = burst_time(result, CacheState::warm), cold = burst_time(result, CacheState::cold);
    cold_is_known_ = warm && cold;
    if (!cold_is_known_ || *cold - *warm < later_ * kNoticed) return;
    explained_ += *cold - *warm;
    causes_.push_back(fmt::format("cold caches add {}, measured apart", time_text(*cold - *warm)));
  }

  void add_clock(const IterationRun& longest) {
    if (run_.clocks.empty() || longest.clocks.empty()) return;
    const Hertz first = run_.clocks.front().clock, last = longest.clocks.back().clock;
    if (first.value() <= 0 || last / first - 1.0 < kNoticed) return;
    explained_ += later_ * (last / first - 1.0);
    causes_.push_back(fmt::format("it runs at {}, the last ones at {}", clock_text(first), clock_text(last)));
  }

  const IterationRun& run_;
  Nanoseconds later_, excess_, explained_;
  bool on_gpu_;
  bool cold_is_known_ = false;
  std::vector<std::string> causes_;
};

// The clock is a reason only if it moves the time in the direction of the change.
std::string clock_sentence(const Loops& loops, bool slower, bool on_gpu) {
  const auto& clocks = loops.longest.clocks;
  if (clocks.size() < 2) return {};
  const double change = clocks.back().clock / clocks.front().clock - 1.0;
  if (std::abs(change) < kNoticed || (change < 0) != slower) return {};
  return fmt::format("The {} {} from {} to {} within {} launches.", clock_word(on_gpu),
                     change > 0 ? "rises" : "falls", clock_text(clocks.front().clock),
                     clock_text(clocks.back().clock), loops.longest.count);
}

std::string cap_sentence(const Loops& loops, bool slower) {
  if (!slower) return {};
  const Nanoseconds length = loops.longest.host_time * static_cast<double>(loops.longest.count);
  const auto share = [&](const std::optional<Nanoseconds>& throttled) {
    return throttled && length.value() > 0 ? *throttled / length : 0.0;
  };
  const double power = share(loops.longest.throttled_power), heat = share(loops.longest.throttled_thermal);
  if (std::max(power, heat) < kNoticed) return {};
  return fmt::format("{} limits the clock for {} of the longest loop.",
                     power >= heat ? "The power cap" : "Heat", percent_text(std::max(power, heat)));
}

// Does not use the loop's own host time: a host that waits for a full queue seems as slow as the GPU.
std::string host_sentence(const Result& result, const Loops& loops, bool on_gpu) {
  const auto time = burst_time(result, CacheState::warm);
  if (!on_gpu || !time || result.launch_cost <= *time) return {};
  if (later_time(loops.longest) < *time * (1.0 + kNoticed)) return {};
  return fmt::format(
      "A launch call takes the host {}, more than the {} that the GPU works: the queue runs empty, and "
      "the events around a launch include part of the wait.",
      time_text(result.launch_cost), time_text(*time));
}

double change_of(const Loops& loops) { return loops.longest.mean / loops.shortest.mean - 1.0; }

std::string dependence(const Loops& loops) {
  if (loops.shortest.count == loops.longest.count) {
    return fmt::format(
        "A loop of {} took {} for each launch; a second count would show whether the time depends on the "
        "count.",
        loops.longest.count, time_text(loops.longest.mean));
  }
  const std::string both =
      fmt::format("{} in a loop of {}, {} in one of {}", time_text(loops.shortest.mean), loops.shortest.count,
                  time_text(loops.longest.mean), loops.longest.count);
  if (std::abs(change_of(loops)) < kNoticed)
    return "The mean time hardly depends on the number of launches: " + both + ".";
  return fmt::format("The mean time depends on the number of launches: {} ({}).", both,
                     change_text(change_of(loops)));
}

// Returns sentences that say why, or that the reason is not known.
std::vector<std::string> reasons(const Result& result, const Loops& loops, bool on_gpu) {
  std::vector<std::string> why;
  const auto add = [&](std::string sentence) {
    if (!sentence.empty()) why.push_back(std::move(sentence));
  };
  const double change = change_of(loops);
  // If long loops are slower, the first launch is no reason: a short loop spreads it over fewer launches.
  if (loops.longest.count > 1 && change < kNoticed) {
    const IterationRun& very_first = result.iterations.front();
    const FirstLaunch first(result, very_first, loops.longest, on_gpu);
    if (first.is_noticed()) add(first.sentence("The first launch of all"));
    const FirstLaunch again(result, loops.longest, loops.longest, on_gpu);
    if (&loops.longest != &very_first && again.is_noticed()) {
      add(again.sentence(fmt::format("The first launch of the loop of {}", loops.longest.count)));
    }
  }
  if (std::abs(change) >= kNoticed) {
    add(clock_sentence(loops, change > 0, on_gpu));
    add(cap_sentence(loops, change > 0));
    if (why.empty()) add("The measurements do not show why.");
  }
  add(host_sentence(result, loops, on_gpu));
  return why;
}

std::string remedy(const Result& result) {
  std::string times = "the times above, which exclude first launches and state their conditions";
  if (result.measurements.empty()) times = "a time in stated conditions, without first launches";
  return "Quote a loop's mean only with its number of launches, or quote " + times + ".";
}

}  // namespace

std::vector<Finding> find_iteration_count(const Result& result, const FindingContext& context) {
  if (result.iterations.empty()) return {};
  const Loops loops = loops_of(result.iterations);
  Finding finding;
  finding.id = "iteration_count";
  finding.headline =
      fmt::format("{} a launch in a loop of {}, {} in one of {}", time_text(loops.shortest.mean),
                  loops.shortest.count, time_text(loops.longest.mean), loops.longest.count);
  finding.effect = std::abs(change_of(loops));
  finding.sentence = dependence(loops);
  for (const std::string& why : reasons(result, loops, context.on_gpu)) finding.sentence += ' ' + why;
  finding.remedy = remedy(result);
  const IterationRun& very_first = result.iterations.front();
  finding.evidence = {evidence_count("shortest_loop", loops.shortest.count),
                      evidence("shortest_loop_mean", loops.shortest.mean),
                      evidence_count("longest_loop", loops.longest.count),
                      evidence("longest_loop_mean", loops.longest.mean),
                      evidence("first_launch", very_first.first),
                      evidence("first_launch_call", very_first.first_launch_call)};
  return {finding};
}

// Detects that a record or the user named an engine, but another one ran.

std::vector<Finding> find_engine_ignored(const Result& result, const FindingContext& context) {
  const Operation* operation = operation_of(result.subject);
  const std::string engine = operation != nullptr ? engine_of(*operation) : std::string();
  if (engine.empty() || !result.failure.empty() || engine == result.algorithm) return {};
  const bool is_choice = engine == "autotune" || engine == "best";
  if (is_choice && context.on_gpu) return {};
  Finding finding;
  finding.id = kEngineIgnoredFinding;
  finding.headline = fmt::format("engine {} was asked for, and another one ran", engine);
  finding.sentence =
      fmt::format("The engine {} was asked for; {} on {} ran {} instead.", engine, result.provider,
                  context.device.name, result.algorithm.empty() ? "what it chose" : result.algorithm);
  finding.remedy = "Run it on the GPU and with the library versions of the record.";
  finding.evidence = {{"asked_for", engine}, {"ran", result.algorithm}};
  return {finding};
}

// Detects a kernel on a simulated GPU, which does not look at what the kernel computes.

std::vector<Finding> find_only_moved(const Result& result, const FindingContext& context) {
  const Operation* operation = operation_of(result.subject);
  const bool is_found = operation != nullptr && is_only_moved(*operation, context.device);
  if (!is_found || result.measurements.empty()) return {};
  Finding finding;
  finding.id = kOnlyMovedFinding;
  finding.headline = "simulated: the time is for moving the kernel's buffers once, without its arithmetic";
  finding.sentence = kOnlyMoved;
  finding.remedy = "Measure it on a GPU: --device cuda.";
  finding.evidence = {evidence("time", result.measurements.front().time.median)};
  return {finding};
}

// Detects operands that toggle few wires: they draw less power, so the clock stays higher than with real
// data.

std::vector<Finding> find_zeros(const Result& result, const FindingContext& context) {
  const auto flattered = std::ranges::find_if(result.measurements, [](const Measurement& measurement) {
    return measurement.conditions.data == DataKind::zeros || measurement.conditions.data == DataKind::ones;
  });
  if (flattered == result.measurements.end()) return {};
  const std::string_view data = to_string(*flattered->conditions.data);
  Finding finding;
  finding.id = "zeros";
  finding.headline = fmt::format("operands of {} draw less power than real data", data);
  finding.sentence = fmt::format(
      "The operands are all {}, which draw less power than real data, so clocks are higher and times "
      "shorter{}.",
      data,
      context.on_gpu ? " wherever the power cap is near (a matrix product ran 12 % faster on zeros)" : "");
  finding.remedy =
      "Measure with --data normal, which is the default, for numbers that hold for real tensors.";
  finding.evidence = {{"data", std::string(data)}};
  return {finding};
}

// Detects other users of the device, who take time, cache, bandwidth and power: from the device's list of
// processes, and from negative slopes.

namespace {

struct NegativeSlopes {
  std::int64_t slopes = 0, negative = 0, negative_rounds = 0;
  Nanoseconds lowest = {};
  std::vector<std::size_t> rounds = {};  // that have one
};

// Counts slopes further below zero than the instrument's own error: a slice of 2 ms shifts each of 80 to 800
// launches by 2.5 to 25 µs.
NegativeSlopes negative_slopes(const Measurement& measurement) {
  const Nanoseconds off = std::max(measurement.constant.uncertainty, microseconds(1));
  const std::span<const Round> settled = settled_rounds(measurement);
  const std::size_t first = measurement.rounds.size() - settled.size();
  NegativeSlopes found;
  for (std::size_t i = 0; i < settled.size(); ++i) {
    const std::vector<Nanoseconds>& slopes = settled[i].launches;
    const auto negative =
        std::ranges::count_if(slopes, [&](Nanoseconds slope) { return slope < Nanoseconds(0) - off; });
    found.slopes += std::ssize(slopes);
    found.negative += negative;
    if (negative == 0) continue;
    found.rounds.push_back(first + i);
    found.lowest = std::min(found.lowest, std::ranges::min(slopes));
    if (settled[i].time() <= Nanoseconds(0)) ++found.negative_rounds;
  }
  return found;
}

std::string rounds_text(std::int64_t rounds) {
  if (rounds == 0) return {};
  return fmt::format(" {} even in {} median.",
                     rounds == 1 ? "1 round is below zero" : fmt::format("{} rounds are below zero", rounds),
                     rounds == 1 ? "its" : "their");
}

}  // namespace

std::vector<Finding> find_core_taken(const Result& result, const FindingContext&) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    TakenByOthers others;
    others.add(measurement.rounds);
    const double share = others.share();
    if (share < kTakenWorthSaying) continue;
    Finding finding;
    finding.id = "core_taken";
    finding.headline = fmt::format("other programs had the core for {} of the time", percent_text(share));
    finding.sentence = fmt::format(
        "Other programs had this thread's core for {} of the time between the readings of the clock ({}). The times "
        "leave that out, but not what the others did to caches and clock.",
        percent_text(share), conditions_text(measurement.conditions));
    finding.remedy = "Close what else runs here, or give the measurement a free core with taskset -c.";
    finding.evidence = {evidence("taken", others.taken), evidence_ratio("taken", share)};
    candidates.push_back({share, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

std::vector<Finding> find_device_taken(const Result& result, const FindingContext&) {
  std::vector<Candidate> candidates;
  for (const Measurement& measurement : result.measurements) {
    if (measurement.instrument != Instrument::graph) continue;
    const NegativeSlopes found = negative_slopes(measurement);
    if (found.negative == 0) continue;
    const double share = static_cast<double>(found.negative) / static_cast<double>(found.slopes);
    Finding finding;
    finding.id = kOtherProcessFinding;
    finding.headline =
        fmt::format("something else used the device during rounds: {} of {} slopes are below zero",
                    found.negative, found.slopes);
    finding.sentence = fmt::format(
        "{} of {} slopes between two recordings are below zero, down to {} ({}): something else used the "
        "device during the shorter recording. During the longer one it makes a slope too long.{} The "
        "median includes all slopes; percentiles and modes exclude those below zero.",
        found.negative, found.slopes, time_text(found.lowest), conditions_text(measurement.conditions),
        rounds_text(found.negative_rounds));
    finding.remedy = "Measure when the device is free; until then use only the median, as an upper bound.";
    finding.evidence = {
        evidence_count("negative_slopes", found.negative), evidence_count("slopes", found.slopes),
        evidence_count("negative_rounds", found.negative_rounds), evidence("lowest", found.lowest)};
    finding.places = places_of(found.rounds, measurement, result);
    candidates.push_back({share, measurement.conditions, finding});
  }
  return strongest(std::move(candidates));
}

std::vector<Finding> find_other_process(const FindingContext& context) {
  if (!context.on_gpu || !context.other_processes || context.other_processes->empty()) return {};
  const std::vector<std::string>& processes = *context.other_processes;
  Finding finding;
  finding.id = kOtherProcessFinding;
  finding.headline = fmt::format("other processes use {}: {}", context.device.id, processes.size());
  finding.sentence = fmt::format(
      "{} other {} {} use of {}: {}.", processes.size(), processes.size() == 1 ? "process" : "processes",
      processes.size() == 1 ? "makes" : "make", context.device.id, joined(processes));
  finding.remedy =
      "Measure when they are done, or on another device; until then take all times as upper bounds.";
  finding.evidence = {evidence_count("processes", static_cast<std::int64_t>(processes.size())),
                      {"process_list", joined(processes)}};
  return {finding};
}

// Detects a record of one cuDNN version replayed on another: each version numbers its engines anew.

std::vector<Finding> find_other_cudnn(const FindingContext& context) {
  if (context.recorded_cudnn.empty()) return {};
  for (const LibraryInfo& library : context.device.libraries) {
    if (library.name != "cudnn" || library.version.empty() || library.version == context.recorded_cudnn)
      continue;
    Finding finding;
    finding.id = "other_cudnn";
    finding.headline =
        fmt::format("recorded with cuDNN {}, run with cuDNN {}", context.recorded_cudnn, library.version);
    finding.sentence = fmt::format(
        "The record was made with cuDNN {}, and cuDNN {} is used here ({}): its "
        "heuristics may choose other engines, and an engine's tag may name another one.",
        context.recorded_cudnn, library.version, library.path);
    finding.remedy =
        "Name the folder of the recorded version in JITTERSCOPE_LIBRARY_PATH to run the same engines.";
    finding.evidence = {{"recorded", context.recorded_cudnn}, {"used", library.version}};
    return {finding};
  }
  return {};
}

// Detects that eviction was not proven: times called cold may have hit the cache.

std::vector<Finding> find_cold_not_proven(const FindingContext& context) {
  if (!context.cache_proof || context.cache_proof->proven) return {};
  const CacheProof& proof = *context.cache_proof;
  Finding finding;
  finding.id = "cold_not_proven";
  finding.headline = "eviction is not proven to empty the cache: cold is a lower bound";
  finding.sentence = fmt::format(
      "Cold is not proven: a probe reads in {} after eviction, in {} when never touched and in {} when "
      "cached.",
      time_text(proof.evicted_read, 0.001), time_text(proof.untouched_read, 0.001),
      time_text(proof.cached_read, 0.001));
  finding.remedy =
      "Take the cold and dirty times as lower bounds; repeat on a device that nobody else uses, as another "
      "process disturbs the proof.";
  finding.evidence = {evidence("evicted_read", proof.evicted_read),
                      evidence("untouched_read", proof.untouched_read),
                      evidence("cached_read", proof.cached_read)};
  return {finding};
}

}  // namespace jitterscope
