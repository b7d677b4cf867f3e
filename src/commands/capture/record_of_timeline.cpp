// Makes the record of a capture from its analysed timeline.
#include "commands/capture/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>

namespace jitterscope {
namespace {

using timeline::Analysis;
using timeline::DeviceAnalysis;
using timeline::DeviceWork;
using timeline::KernelVariation;
using timeline::Process;
using timeline::StepKind;
using timeline::Timeline;
using timeline::WorkKind;

Nanoseconds nanoseconds_of(double seconds) { return Nanoseconds(seconds * 1e9); }
Nanoseconds nanoseconds_between(timeline::Time from, timeline::Time to) {
  return Nanoseconds(static_cast<double>(to - from));
}

CaptureWork work_record(const timeline::WorkName& name, const KernelVariation& kernel) {
  CaptureWork work;
  work.label = kernel_label(name);
  work.full_name = timeline::full_name(name);
  if (name.kind == WorkKind::kernel) {
    work.grid.assign(std::begin(name.grid), std::end(name.grid));
    work.block.assign(std::begin(name.block), std::end(name.block));
  }
  work.calls = static_cast<std::int64_t>(kernel.calls);
  work.calls_per_step = kernel.calls_per_step;
  work.share = kernel.share;
  work.total = nanoseconds_of(kernel.seconds);
  work.median = nanoseconds_of(kernel.median);
  work.p5 = nanoseconds_of(kernel.p5);
  work.p95 = nanoseconds_of(kernel.p95);
  for (const timeline::FollowedCause& cause : kernel.follows)
    work.follows.push_back({cause.what, cause.share, cause.effect, cause.interval.low, cause.interval.high});
  work.rest = kernel.rest;
  work.converts_layout = timeline::converts_layout(name);
  return work;
}

// Names that would look the same are numbered.
void number_labels(std::vector<CaptureWork>& work) {
  std::map<std::string, std::size_t> seen, numbers;
  for (const CaptureWork& each : work) ++seen[each.label];
  for (CaptureWork& each : work) {
    if (seen[each.label] > 1) each.label += fmt::format(" #{}", ++numbers[each.label]);
  }
}

// The label under which the table of kernels shows work of this name.
std::string label_of_work(const CaptureDevice& device, const DeviceAnalysis& analysis, std::uint32_t what) {
  const auto& kernels = analysis.variation.kernels;
  const auto at = std::ranges::find(kernels, what, &KernelVariation::what);
  return at == kernels.end() ? "" : device.work[static_cast<std::size_t>(at - kernels.begin())].label;
}

std::string gpu_name(const Process& process, std::uint32_t number) {
  for (const timeline::ProcessDevice& each : process.device_names) {
    if (each.device == number && !each.name.empty()) {
      return process.device_names.size() > 1 ? fmt::format("{} (GPU {})", each.name, number) : each.name;
    }
  }
  return fmt::format("GPU {}", number);
}

void add_step_times(CaptureDevice& device, const DeviceAnalysis& analysis) {
  constexpr std::size_t kMost = 2000;
  const std::vector<timeline::Step>& steps = analysis.steps.steps;
  const std::size_t every = std::max<std::size_t>(1, steps.size() / kMost);
  std::vector<std::size_t> slow = analysis.slow.steps;
  slow.insert(slow.end(), analysis.slow.stretches.steps.begin(), analysis.slow.stretches.steps.end());
  std::sort(slow.begin(), slow.end());
  const std::size_t every_slow = std::max<std::size_t>(1, slow.size() / kMost);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto place = std::ranges::lower_bound(slow, i) - slow.begin();
    const bool is_slow =
        static_cast<std::size_t>(place) < slow.size() && slow[static_cast<std::size_t>(place)] == i;
    const bool is_shown = is_slow ? static_cast<std::size_t>(place) % every_slow == 0 : i % every == 0;
    if (steps[i].kind != 0 || !steps[i].is_whole || !is_shown) continue;
    device.step_times.push_back({nanoseconds_between(steps.front().begin, steps[i].begin),
                                 nanoseconds_between(steps[i].begin, steps[i].end), is_slow});
  }
}

// Means of NVML's readings over stretches within the steps, of the GPU that the device is.
void add_sensors(CaptureDevice& device, const Timeline& timeline, const Process& process,
                 const DeviceWork& work, const timeline::Span& within) {
  constexpr std::size_t kMost = 1000;
  std::optional<std::size_t> gpu;
  for (const timeline::ProcessDevice& each : process.device_names) {
    const auto found = std::find(timeline.gpus.begin(), timeline.gpus.end(), each.uuid);
    if (each.device == work.device && found != timeline.gpus.end())
      gpu = static_cast<std::size_t>(found - timeline.gpus.begin());
  }
  const capture::Sensors& sensors = timeline.sensors;
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; gpu && i < sensors.time.size(); ++i) {
    if (sensors.gpu[i] == *gpu && sensors.time[i] >= within.begin && sensors.time[i] <= within.end)
      rows.push_back(i);
  }
  if (rows.size() < 2) return;
  const std::size_t stretch = (rows.size() + kMost - 1) / kMost;
  const auto held = [&](std::size_t row) {
    return static_cast<double>(sensors.throttled_power[row]) +
           static_cast<double>(sensors.throttled_thermal[row]) +
           static_cast<double>(sensors.throttled_brake[row]);
  };
  for (std::size_t first = 0; first + 1 < rows.size(); first += stretch) {
    const std::size_t last = std::min(first + stretch, rows.size() - 1);
    double clock = 0.0, power = 0.0;
    for (std::size_t i = first; i < last; ++i) {
      clock += 1e6 * sensors.clock_mhz[rows[i]];
      power += 1e-3 * sensors.power_mw[rows[i]];
    }
    const double count = static_cast<double>(last - first);
    const auto length = static_cast<double>(sensors.time[rows[last]] - sensors.time[rows[first]]);
    device.sensors.push_back(
        {nanoseconds_between(within.begin, sensors.time[rows[first]]), Hertz(clock / count),
         length > 0 ? (held(rows[last]) - held(rows[first])) / length : 0.0, Watts(power / count)});
  }
}

void add_pictures(CaptureDevice& device, const Process& process, const DeviceWork& work,
                  const DeviceAnalysis& analysis) {
  constexpr std::size_t kMostSlices = 3000, kMostStreams = 32;
  std::vector<std::size_t> whole;
  const std::vector<timeline::Step>& steps = analysis.steps.steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind == 0 && steps[i].is_whole) whole.push_back(i);
  }
  if (whole.empty()) return;
  std::sort(whole.begin(), whole.end(), [&](std::size_t a, std::size_t b) {
    return steps[a].end - steps[a].begin < steps[b].end - steps[b].begin;
  });
  const auto add = [&](std::size_t index, const char* which) {
    CapturePicture picture;
    picture.title = fmt::format("step {}, {}", index + 1, which);
    const timeline::Step& step = steps[index];
    picture.length = nanoseconds_between(step.begin, step.end);
    std::set<std::uint32_t> streams;
    for (std::size_t i = step.first; i < step.last && picture.slices.size() < kMostSlices; ++i) {
      if (streams.size() == kMostStreams && !streams.contains(work.stream[i])) continue;
      streams.insert(work.stream[i]);
      picture.slices.push_back({work.stream[i], nanoseconds_between(step.begin, work.begin[i]),
                                nanoseconds_between(step.begin, work.end[i]),
                                kernel_label(process.names[work.what[i]])});
    }
    device.pictures.push_back(std::move(picture));
  };
  add(whole[whole.size() / 2], "the median");
  if (whole.size() > 1) add(whole.back(), "the slowest");
}

CaptureDevice device_record(const Timeline& timeline, const DeviceAnalysis& analysis) {
  const Process& process = timeline.processes[analysis.process];
  const DeviceWork& work = process.devices[analysis.device];
  CaptureDevice device;
  device.process = process.label;
  device.gpu = gpu_name(process, work.device);
  device.length = nanoseconds_of(analysis.seconds);
  device.is_complete = process.is_complete;
  device.kernels = static_cast<std::int64_t>(analysis.kernels);
  device.copies = static_cast<std::int64_t>(analysis.copies);
  device.sets = static_cast<std::int64_t>(analysis.sets);
  for (const timeline::Loss& loss : process.losses) device.lost += static_cast<std::int64_t>(loss.count);
  device.names = static_cast<std::int64_t>(analysis.names);
  device.audited = static_cast<std::int64_t>(analysis.audited);
  device.corrected = static_cast<std::int64_t>(analysis.corrected);
  for (const KernelVariation& kernel : analysis.variation.kernels) {
    device.work.push_back(work_record(process.names[kernel.what], kernel));
  }
  number_labels(device.work);
  for (const StepKind& kind : analysis.steps.kinds) {
    device.steps.push_back({static_cast<std::int64_t>(kind.count), static_cast<std::int64_t>(kind.work),
                            nanoseconds_of(kind.seconds), nanoseconds_of(kind.interval.low),
                            nanoseconds_of(kind.interval.high), nanoseconds_of(kind.p99),
                            nanoseconds_of(kind.mean), nanoseconds_of(kind.p95)});
  }
  if (const auto& within = analysis.steps.repetition) {
    const StepKind& piece = within->pieces->kinds.front();
    device.repetition = {
        within->times, static_cast<std::int64_t>(piece.work), nanoseconds_of(piece.seconds), {}};
    for (const timeline::WorkOfStep& each : within->rest) {
      device.repetition->rest.push_back(
          {label_of_work(device, analysis, each.what), each.calls, nanoseconds_of(each.seconds)});
    }
  }
  if (const auto& levels = analysis.slow.levels) {
    const std::vector<timeline::Step>& steps = analysis.steps.steps;
    device.levels =
        CaptureStepLevels{.step = static_cast<std::int64_t>(levels->step) + 1,
                          .earlier = static_cast<std::int64_t>(levels->earlier),
                          .later = static_cast<std::int64_t>(levels->later),
                          .at = nanoseconds_between(steps.front().begin, steps[levels->step].begin),
                          .before = nanoseconds_of(levels->before.median),
                          .before_low = nanoseconds_of(levels->before.interval.low),
                          .before_high = nanoseconds_of(levels->before.interval.high),
                          .after = nanoseconds_of(levels->after.median),
                          .after_low = nanoseconds_of(levels->after.interval.low),
                          .after_high = nanoseconds_of(levels->after.interval.high),
                          .busy = nanoseconds_of(levels->busy),
                          .idle = nanoseconds_of(levels->idle)};
  }
  device.no_steps = analysis.steps.reason;
  if (device.steps.empty()) device.ranges = timeline::repeated_ranges(process);
  device.with_others = analysis.variation.with_others;
  const double idle = analysis.idle.idle_share();
  device.busy = 1.0 - idle;
  for (std::size_t i = 0; i < timeline::kIdleCauses; ++i) {
    if (analysis.idle.shares[i] > 0.0)
      device.idle.push_back({static_cast<timeline::IdleCause>(i), analysis.idle.shares[i] * idle});
  }
  std::stable_sort(device.idle.begin(), device.idle.end(),
                   [](const CaptureIdle& a, const CaptureIdle& b) { return a.share > b.share; });
  device.idle_windows = static_cast<std::int64_t>(analysis.idle.windows);
  const timeline::CommonFactor& common = analysis.variation.common;
  if (common.kernels > 0 && !common.by_step.empty() && !common.is_of_other_process) {
    const timeline::ShareOfSeries& share = common.step_share;
    device.common = {common.moves_with_sensors,
                     common.moves_with_memory,
                     share.share,
                     share.interval.low,
                     share.interval.high,
                     common.effect,
                     static_cast<std::int64_t>(common.kernels)};
  }
  if (const timeline::LongStretches& stretches = analysis.slow.stretches; !stretches.spans.empty()) {
    const timeline::Time begin = analysis.steps.steps.front().begin;
    device.stretches = {{},
                        static_cast<std::int64_t>(stretches.steps.size()),
                        static_cast<std::int64_t>(analysis.slow.of),
                        stretches.longer,
                        nanoseconds_of(stretches.busy),
                        nanoseconds_of(stretches.idle)};
    for (const timeline::Span& span : stretches.spans)
      device.stretches->stretches.push_back(
          {nanoseconds_between(begin, span.begin), nanoseconds_between(begin, span.end)});
  }
  if (!analysis.slow.steps.empty()) {
    device.slow = {static_cast<std::int64_t>(analysis.slow.steps.size()),
                   static_cast<std::int64_t>(analysis.slow.of),
                   analysis.slow.longer,
                   {},
                   nanoseconds_of(analysis.slow.seconds),
                   nanoseconds_of(analysis.slow.other_seconds),
                   {},
                   {}};
    if (const auto& recurrence = analysis.slow.recurrence)
      device.slow->recurrence = {recurrence->period, recurrence->slow};
    for (const timeline::LongerPart& part : analysis.slow.parts) {
      device.slow->parts.push_back(
          {label_of_work(device, analysis, part.what), part.is_gap, nanoseconds_of(part.seconds)});
    }
    for (const timeline::TraitOfSlowSteps& trait : analysis.slow.traits) {
      device.slow->traits.push_back({trait.trait, static_cast<std::int64_t>(trait.slow),
                                     static_cast<std::int64_t>(trait.other), nanoseconds_of(trait.seconds)});
    }
  }
  if (analysis.cost) {
    device.cost = {analysis.cost->ratio, analysis.cost->interval.low, analysis.cost->interval.high,
                   static_cast<std::int64_t>(analysis.cost->windows), analysis.cost->null_ratio};
  }
  if (process.rank) device.rank = *process.rank;
  if (analysis.waits && analysis.seconds > 0.0) {
    device.waits = {std::min(1.0, analysis.waits->seconds / analysis.seconds),
                    static_cast<std::int64_t>(analysis.waits->collectives),
                    static_cast<std::int64_t>(analysis.waits->last)};
  }
  if (const auto coverage = timeline::call_coverage(process, work)) {
    device.calls = {
        static_cast<std::int64_t>(coverage->calls), coverage->explained, coverage->replayable, {}};
    for (std::size_t i = 0; i < timeline::kKernelOrigins; ++i) {
      if (coverage->others[i] > 0.0)
        device.calls->others.push_back({static_cast<timeline::KernelOrigin>(i), coverage->others[i]});
    }
    std::ranges::stable_sort(device.calls->others, std::greater(), &CaptureOtherKernels::share);
  }
  for (const timeline::CopySummary& copy : analysis.copy_summary) {
    device.copied.push_back({timeline::full_name(process.names[copy.what]),
                             static_cast<std::int64_t>(copy.count), copy.bytes, copy.beside_kernels,
                             nanoseconds_of(copy.seconds)});
  }
  add_step_times(device, analysis);
  const std::vector<timeline::Step>& steps = analysis.steps.steps;
  add_sensors(device, timeline, process, work,
              steps.empty() ? work.span() : timeline::Span{steps.front().begin, steps.back().end});
  add_pictures(device, process, work, analysis);
  return device;
}

}  // namespace

std::string shortened_name(const std::string& name, std::size_t most) {
  constexpr std::size_t kEnd = 12;
  return name.size() <= most ? name : name.substr(0, most - kEnd - 1) + "…" + name.substr(name.size() - kEnd);
}

std::string process_label(const CaptureDevice& device) {
  constexpr std::size_t kMost = 60;
  std::string label = one_line(device.process);
  if (label.size() <= kMost) return label;
  const std::size_t space = label.rfind(' ', kMost - 2);
  label.resize(space == std::string::npos || space < kMost / 3 ? kMost - 2 : space);
  return label + " …";
}

std::string kernel_label(const timeline::WorkName& name, std::size_t most) {
  return shortened_name(timeline::short_name(name), most) +
         (name.kind == WorkKind::kernel ? fmt::format(" [{}]", name.blocks()) : "");
}

CaptureRecord make_capture_record(const Timeline& timeline, const Analysis& analysis) {
  CaptureRecord record;
  record.source = timeline.source;
  record.can_be_run = timeline.holds_operators ||
                      std::ranges::any_of(timeline.processes,
                                          [](const Process& each) { return !each.operations.id.empty(); });
  for (const DeviceAnalysis& device : analysis.devices)
    record.devices.push_back(device_record(timeline, device));
  if (!record.devices.empty()) record.device.name = record.devices.front().gpu;
  const bool several = timeline.processes.size() > 1;
  for (const Process& process : timeline.processes) {
    const std::string prefix = several ? process.label + ": " : "";
    // Losses with the same sentence are listed once, with their counts added.
    std::map<std::string, std::size_t> known;
    for (const timeline::Loss& loss : process.losses) {
      const auto [at, is_new] = known.try_emplace(loss.sentence, record.losses.size());
      if (is_new) record.losses.push_back({0, prefix + loss.sentence, 0});
      record.losses[at->second].count += static_cast<std::int64_t>(loss.count);
      ++record.losses[at->second].times;
    }
    if (!process.problem.empty()) record.losses.push_back({0, process.label + ": " + process.problem});
  }
  for (const std::string& problem : timeline.problems) record.losses.push_back({0, problem});
  return record;
}

}  // namespace jitterscope
