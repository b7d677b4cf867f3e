#include "commands/capture/record.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "base/quantity_text.hpp"
#include "record/describe_run.hpp"
#include "record/envelope.hpp"

namespace jitterscope {

namespace timeline {
constexpr auto enumerators(Follows) {
  using enum Follows;
  return std::array{clock,  common_factor, first_calls,   place, other_kernels,
                    copies, preceding,     other_process, trend};
}
constexpr auto enumerators(IdleCause) {
  using enum IdleCause;
  return std::array{allocation, loading,      synchronization, between_kernels,
                    launch,     other_stream, host_elsewhere,  unknown};
}
constexpr auto enumerators(KernelOrigin) {
  using enum KernelOrigin;
  return std::array{pytorch, triton, nccl, library, other};
}
constexpr auto enumerators(StepTrait) {
  using enum StepTrait;
  return std::array{
      longer_work,          idle,        idle_allocation,   idle_loading,        idle_synchronization,
      idle_between_kernels, idle_launch, idle_other_stream, idle_host_elsewhere, loading,
      more_copied,          first_steps, after_other_kind};
}
}  // namespace timeline

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCause>& cause) {
  fields("what", cause.what);
  fields("share", cause.share);
  fields("effect", cause.effect);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureWork>& work) {
  fields("label", work.label);
  fields("name", work.full_name);
  fields("grid", work.grid);
  fields("block", work.block);
  fields("calls", work.calls);
  fields("calls_per_step", work.calls_per_step);
  fields("share", work.share);
  fields("total_seconds", work.total);
  fields("median_seconds", work.median);
  fields("p5_seconds", work.p5);
  fields("p95_seconds", work.p95);
  fields("follows", work.follows);
  fields("rest", work.rest);
  fields("converts_layout", work.converts_layout);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureStepKind>& kind) {
  fields("count", kind.count);
  fields("launches", kind.launches);
  fields("median_seconds", kind.median);
  fields("low_seconds", kind.low);
  fields("high_seconds", kind.high);
  fields("p99_seconds", kind.p99);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureTrait>& trait) {
  fields("trait", trait.trait);
  fields("slow_steps", trait.slow);
  fields("other_steps", trait.other);
  fields("longer_seconds", trait.longer);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureOtherKernels>& other) {
  fields("origin", other.origin);
  fields("share", other.share);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCalls>& calls) {
  fields("calls", calls.calls);
  fields("explained", calls.explained);
  fields("replayable", calls.replayable);
  fields("others", calls.others);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureIdle>& idle) {
  fields("cause", idle.cause);
  fields("share", idle.share);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCopies>& copies) {
  fields("name", copies.name);
  fields("count", copies.count);
  fields("bytes", copies.bytes);
  fields("total_seconds", copies.total);
  fields("beside_kernels", copies.beside_kernels);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureLoss>& loss) {
  fields("count", loss.count);
  fields("sentence", loss.sentence);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureStepTime>& step) {
  fields("at_seconds", step.at);
  fields("seconds", step.time);
  fields.where(step.slow, "slow", step.slow);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureSensor>& sensor) {
  fields("at_seconds", sensor.at);
  fields("clock_hertz", sensor.clock);
  fields("held", sensor.held);
  fields("power_watts", sensor.power);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureSlice>& slice) {
  fields("stream", slice.stream);
  fields("begin_seconds", slice.begin);
  fields("end_seconds", slice.end);
  fields("label", slice.label);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CapturePicture>& picture) {
  fields("title", picture.title);
  fields("slices", picture.slices);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCommonFactor>& common) {
  fields("is_clock", common.is_clock);
  fields("share", common.share);
  fields("effect", common.effect);
  fields("kernels", common.kernels);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureSlowSteps>& slow) {
  fields("steps", slow.steps);
  fields("of", slow.of);
  fields("longer", slow.longer);
  fields("traits", slow.traits);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureCost>& cost) {
  fields("ratio", cost.ratio);
  fields("low", cost.low);
  fields("high", cost.high);
  fields("windows", cost.windows);
  fields("null_ratio", cost.null_ratio);
}

template <class Fields>
void describe(Fields& fields, Described<Fields, CaptureDevice>& device) {
  fields("process", device.process);
  fields("gpu", device.gpu);
  fields("length_seconds", device.length);
  fields("is_complete", device.is_complete);
  fields("kernels", device.kernels);
  fields("copies", device.copies);
  fields("lost", device.lost);
  fields("names", device.names);
  fields("audited", device.audited);
  fields("corrected", device.corrected);
  fields("steps", device.steps);
  fields("no_steps", device.no_steps);
  fields("busy", device.busy);
  fields("idle", device.idle);
  fields("idle_windows", device.idle_windows);
  fields("common_factor", device.common);
  fields("slow_steps", device.slow);
  fields("cost", device.cost);
  fields("calls", device.calls);
  fields("work", device.work);
  fields("copied", device.copied);
  fields("step_times", device.step_times);
  fields("sensors", device.sensors);
  fields("pictures", device.pictures);
}

template <class Fields>
void describe_content(Fields& fields, Described<Fields, CaptureRecord>& record) {
  fields("source", record.source);
  fields.require("devices");
  fields("devices", record.devices);
  fields("losses", record.losses);
}

std::string write_record(const CaptureRecord& record) { return write_envelope("capture", record); }

void read_fields(const Json& document, const std::string& name, CaptureRecord& record) {
  record = read_envelope<CaptureRecord>(document, name);
}

namespace {

constexpr std::size_t kSentenceIndent = 3;  // width of "1. ": Markdown then keeps the lines in the item

using timeline::Analysis;
using timeline::DeviceAnalysis;
using timeline::DeviceWork;
using timeline::KernelVariation;
using timeline::Process;
using timeline::Step;
using timeline::StepKind;
using timeline::Timeline;
using timeline::WorkKind;

Nanoseconds nanoseconds_of(double seconds) { return Nanoseconds(seconds * 1e9); }
Nanoseconds nanoseconds_between(timeline::Time from, timeline::Time to) {
  return Nanoseconds(static_cast<double>(to - from));
}

// At most so long: the beginning says the algorithm, the end the variant. --kernel shows names whole.
std::string shortened(const std::string& name) {
  constexpr std::size_t kMost = 44, kEnd = 12;
  return name.size() <= kMost ? name
                              : name.substr(0, kMost - kEnd - 1) + "…" + name.substr(name.size() - kEnd);
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
    work.follows.push_back({cause.what, cause.share, cause.effect});
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
  const std::vector<Step>& steps = analysis.steps.steps;
  const std::size_t every = std::max<std::size_t>(1, steps.size() / kMost);
  std::size_t slow = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    while (slow < analysis.slow.steps.size() && analysis.slow.steps[slow] < i) ++slow;
    const bool is_slow = slow < analysis.slow.steps.size() && analysis.slow.steps[slow] == i;
    if (steps[i].kind != 0 || !steps[i].is_whole || (i % every != 0 && !is_slow) ||
        device.step_times.size() >= 2 * kMost)
      continue;
    device.step_times.push_back({nanoseconds_between(steps.front().begin, steps[i].begin),
                                 nanoseconds_between(steps[i].begin, steps[i].end), is_slow});
  }
}

// Means of NVML's readings over stretches, of the GPU that the device is.
void add_sensors(CaptureDevice& device, const Timeline& timeline, const Process& process,
                 const DeviceWork& work) {
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
    if (sensors.gpu[i] == *gpu) rows.push_back(i);
  }
  if (rows.size() < 2 || work.size() == 0) return;
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
        {nanoseconds_between(work.begin.front(), sensors.time[rows[first]]), Hertz(clock / count),
         length > 0 ? (held(rows[last]) - held(rows[first])) / length : 0.0, Watts(power / count)});
  }
}

void add_pictures(CaptureDevice& device, const Process& process, const DeviceWork& work,
                  const DeviceAnalysis& analysis) {
  constexpr std::size_t kMostSlices = 3000;
  std::vector<std::size_t> whole;
  const std::vector<Step>& steps = analysis.steps.steps;
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
    const Step& step = steps[index];
    for (std::size_t i = step.first; i < step.last && picture.slices.size() < kMostSlices; ++i) {
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
  for (const timeline::Loss& loss : process.losses) device.lost += static_cast<std::int64_t>(loss.count);
  device.names = static_cast<std::int64_t>(analysis.names);
  device.audited = static_cast<std::int64_t>(analysis.audited);
  device.corrected = static_cast<std::int64_t>(analysis.corrected);
  for (const StepKind& kind : analysis.steps.kinds) {
    device.steps.push_back({static_cast<std::int64_t>(kind.count), static_cast<std::int64_t>(kind.work),
                            nanoseconds_of(kind.seconds), nanoseconds_of(kind.interval.low),
                            nanoseconds_of(kind.interval.high), nanoseconds_of(kind.p99)});
  }
  device.no_steps = analysis.steps.reason;
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
    device.common = {common.moves_with_sensors, common.step_share, common.effect,
                     static_cast<std::int64_t>(common.kernels)};
  }
  if (!analysis.slow.steps.empty()) {
    device.slow = {static_cast<std::int64_t>(analysis.slow.steps.size()),
                   static_cast<std::int64_t>(analysis.slow.of),
                   analysis.slow.longer,
                   {}};
    for (const timeline::TraitOfSlowSteps& trait : analysis.slow.traits) {
      device.slow->traits.push_back({trait.trait, static_cast<std::int64_t>(trait.slow),
                                     static_cast<std::int64_t>(trait.other), nanoseconds_of(trait.seconds)});
    }
  }
  if (analysis.cost) {
    device.cost = {analysis.cost->ratio, analysis.cost->interval.low, analysis.cost->interval.high,
                   static_cast<std::int64_t>(analysis.cost->windows), analysis.cost->null_ratio};
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
  for (const KernelVariation& kernel : analysis.variation.kernels) {
    device.work.push_back(work_record(process.names[kernel.what], kernel));
  }
  number_labels(device.work);
  for (const timeline::CopySummary& copy : analysis.copy_summary) {
    device.copied.push_back({timeline::full_name(process.names[copy.what]),
                             static_cast<std::int64_t>(copy.count), copy.bytes, copy.beside_kernels,
                             nanoseconds_of(copy.seconds)});
  }
  add_step_times(device, analysis);
  add_sensors(device, timeline, process, work);
  add_pictures(device, process, work, analysis);
  return device;
}

// "51.8 ms ± 0.1 %": a value with half its interval.
std::string step_time_text(const CaptureStepKind& kind) {
  const double half = 0.5 * (kind.high - kind.low).value();
  const double precision = kind.median.value() > 0.0 ? half / kind.median.value() : 0.0;
  const std::string time = time_text(kind.median, std::max(precision, 1e-4));
  return precision > 0.2 ? fmt::format("{} ({})", time, time_range_text(kind.low, kind.high))
                         : fmt::format("{} ± {}", time, percent_text(precision));
}

// "1.98 M", "12345": a number that is read at a glance.
std::string number_text(std::int64_t number) {
  return number >= 1'000'000 ? fmt::format("{:.3g} M", static_cast<double>(number) * 1e-6)
                             : std::to_string(number);
}

std::string completeness_text(const CaptureDevice& device, bool has_losses) {
  std::string text = fmt::format("{} kernels", number_text(device.kernels));
  if (device.copies > 0) text += fmt::format(", {} copies", number_text(device.copies));
  if (!device.is_complete) return "the process was ended; its last second may be missing: " + text;
  if (!has_losses) return "complete: " + text + ", none lost";
  return fmt::format("**not complete**: {}; lost: {}", text,
                     device.lost > 0 ? number_text(device.lost) : "see below");
}

std::string headline(const CaptureDevice& device, bool has_losses) {
  const std::string place = fmt::format("in {} on {} ({}); {}", duration_text(device.length), device.gpu,
                                        one_line(device.process), completeness_text(device, has_losses));
  if (device.steps.empty())
    return fmt::format("**No steps were found** {}. Steps: {}.", place, device.no_steps);
  if (device.steps.size() > 1) return fmt::format("**{} kinds of steps** {}.", device.steps.size(), place);
  return fmt::format("**{} steps of {}** {}.", device.steps[0].count, step_time_text(device.steps[0]), place);
}

Text headlines(const CaptureDevice& device, bool has_losses, std::size_t width) {
  constexpr std::size_t kTop = 4;
  Text text = wrapped(headline(device, has_losses), width);
  if (device.steps.size() < 2) return text;
  text += "\n";
  for (std::size_t i = 0; i < std::min(kTop, device.steps.size()); ++i) {
    const CaptureStepKind& kind = device.steps[i];
    text += list_item(fmt::format("{} × {} ({} launches), p99 {}", kind.count, step_time_text(kind),
                                  kind.launches, time_text(kind.p99)),
                      width);
  }
  if (device.steps.size() > kTop)
    text += list_item(fmt::format("{} more", device.steps.size() - kTop), width);
  return text;
}

std::string calls_text(const CaptureCalls& calls) {
  if (calls.calls == 0) return "No call of cuDNN, cuBLASLt or cuBLAS was seen.";
  std::string text = fmt::format("{} explain {} of kernel time, and {} can be run again",
                                 counted(calls.calls, "library call"), percent_text(calls.explained),
                                 percent_text(calls.replayable));
  for (std::size_t i = 0; i < calls.others.size(); ++i) {
    text += fmt::format("{} {} {}", i == 0 ? "; without a call:" : ",", percent_text(calls.others[i].share),
                        timeline::words_for(calls.others[i].origin));
  }
  return text + ".";
}

std::string cost_text(const CaptureDevice& device) {
  std::string text;
  if (device.cost) {
    text = fmt::format(
        "Cost of the recording that goes away with it: {} ({} to {}; {} windows with and without{}).",
        change_text(device.cost->ratio), change_text(device.cost->low), change_text(device.cost->high),
        device.cost->windows,
        device.cost->null_ratio ? fmt::format("; with and with: {}", change_text(*device.cost->null_ratio))
                                : "");
  }
  if (device.audited == 0) return text;
  if (!text.empty()) text += ' ';
  return text + (device.corrected > 0
                     ? fmt::format("Names audited: {} of {} corrected.", device.corrected, device.audited)
                     : fmt::format("Names audited: {} of {}, all right.", device.audited, device.names));
}

std::string trait_text(const CaptureTrait& trait) {
  const std::string_view phrase = timeline::phrase_of(trait.trait);
  if (!timeline::is_idle(trait.trait)) return std::string(phrase);
  return fmt::format("the GPU idles {} longer{}{}", time_text(trait.longer), phrase.empty() ? "" : " while ",
                     phrase);
}

std::string slow_text(const CaptureSlowSteps& slow) {
  std::string text = fmt::format("**{}** of {} are slow (in the median {})", counted(slow.steps, "step"),
                                 slow.of, time_change_text(slow.longer));
  if (slow.traits.empty()) text += "; nothing was seen that they have and others have not";
  for (std::size_t i = 0; i < slow.traits.size() && i < 2; ++i) {
    const CaptureTrait& trait = slow.traits[i];
    text += fmt::format("{} in {} of them {}", i == 0 ? ":" : ", and", trait.slow, trait_text(trait));
    if (trait.other > 0) text += fmt::format(" (in {} of the others, too)", trait.other);
  }
  return text + ".";
}

// A cause of variation, and about how much of the time it makes.
struct Finding {
  double size = 0.0;
  std::string sentence;
};

// Kernels that follow the same cause are said together, with the range of their effects.
void add_followed(const CaptureDevice& device, std::vector<Finding>& findings) {
  std::map<timeline::Follows, std::vector<double>> effects;
  std::map<timeline::Follows, double> share;
  for (const CaptureWork& work : device.work) {
    for (const CaptureCause& cause : work.follows) {
      effects[cause.what].push_back(cause.effect);
      share[cause.what] += work.share;
    }
  }
  for (auto& [cause, values] : effects) {
    // The place in the step is a kernel's own; a common factor was said before.
    if (cause == timeline::Follows::common_factor || cause == timeline::Follows::place || share[cause] < 0.01)
      continue;
    if (cause == timeline::Follows::clock && device.common) continue;
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const bool are_same = change_text(*least) == change_text(*most);
    findings.push_back(
        {device.busy * share[cause] * std::max(std::abs(*least), std::abs(*most)),
         fmt::format("{} with {} of the GPU's time {} **{}**: {}.",
                     counted(static_cast<std::int64_t>(values.size()), "kernel"), percent_text(share[cause]),
                     values.size() == 1 ? "follows" : "follow", timeline::to_string(cause),
                     are_same ? time_change_text(*most)
                              : fmt::format("{} to {}", change_text(*least), change_text(*most)))});
  }
}

std::vector<Finding> variations_of(const CaptureDevice& device) {
  std::vector<Finding> findings;
  if (device.common) {
    findings.push_back(
        {device.busy * device.common->effect,
         fmt::format(
             "{} {} of what the GPU's time in a step varies by: {} slow down together, by up to {}{}.",
             device.common->is_clock ? "**The clock** moves" : "**A factor common to all kernels** moves",
             percent_text(device.common->share), counted(device.common->kernels, "kernel"),
             change_text(device.common->effect),
             device.common->is_clock ? ", as NVML's clock falls, a cap holds it longer or more power is drawn"
                                     : "; nothing that was recorded moves with it")});
  }
  // That the GPU works longer in some steps is what a common factor says already.
  const bool is_said = device.common && device.slow && device.slow->traits.size() == 1 &&
                       device.slow->traits[0].trait == timeline::StepTrait::longer_work;
  if (device.slow && !is_said) {
    const double share = static_cast<double>(device.slow->steps) / static_cast<double>(device.slow->of);
    findings.push_back({share * device.slow->longer, slow_text(*device.slow)});
  }
  add_followed(device, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.size > b.size; });
  return findings;
}

// Causes that make more than a hundredth of the time come first, then what all steps have in common, then the
// other causes.
std::vector<std::string> findings_of(const CaptureDevice& device) {
  constexpr double kMuch = 0.01;
  const std::vector<Finding> variations = variations_of(device);
  std::vector<std::string> findings;
  for (const Finding& each : variations) {
    if (each.size >= kMuch) findings.push_back(each.sentence);
  }
  constexpr double kMuchIdle = 0.2, kMuchConverted = 0.02, kMuchCopied = 0.02;
  if (1.0 - device.busy >= kMuchIdle) {
    findings.push_back(
        fmt::format("**The GPU idles {}** of the time{}.", percent_text(1.0 - device.busy),
                    device.idle.empty() ? "; a capture with --detail mixed or full tells why" : ""));
  }
  double conversions = 0.0;
  for (const CaptureWork& work : device.work) conversions += work.converts_layout ? work.share : 0.0;
  if (conversions >= kMuchConverted) {
    findings.push_back(fmt::format(
        "**Conversions between NCHW and NHWC** take {} of the GPU's time: a model and inputs in channels_last "
        "need none.",
        percent_text(conversions)));
  }
  for (const CaptureCopies& copies : device.copied) {
    if (copies.total.value() < kMuchCopied * device.length.value()) continue;
    findings.push_back(fmt::format(
        "**{}**: {}, {} in all{}, {} of their time beside kernels.", copies.name, number_text(copies.count),
        time_text(copies.total),
        copies.bytes > 0.0 ? ", " + rate_text(copies.bytes / (copies.total.value() * 1e-9), "B/s") : "",
        percent_text(copies.beside_kernels)));
  }
  for (const Finding& each : variations) {
    if (each.size < kMuch) findings.push_back(each.sentence);
  }
  return findings;
}

std::string idle_text(const CaptureDevice& device) {
  std::string text = fmt::format("GPU{}: {} busy, {} idle", device.steps.empty() ? "" : " in the steps",
                                 percent_text(device.busy), percent_text(1.0 - device.busy));
  std::string list;
  for (const CaptureIdle& idle : device.idle) {
    if (idle.share < 0.01 * (1.0 - device.busy)) continue;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", timeline::to_string(idle.cause),
                        percent_text(idle.share));
  }
  if (list.empty() || (device.idle.size() == 1 && device.idle[0].cause == timeline::IdleCause::unknown))
    return text + ".";
  return fmt::format("{} ({}; from {}).", text, list, counted(device.idle_windows, "window"));
}

Text kernel_table(const CaptureDevice& device, const ShownPage& shown) {
  constexpr std::size_t kTop = 8;
  const std::size_t count =
      shown.details ? device.work.size() : std::min(shown.top.value_or(kTop), device.work.size());
  const bool has_steps = !device.steps.empty();
  TableColumn name{"kernel [blocks]", Align::left, {}},
      calls{has_steps ? "calls/step" : "calls", Align::right, {}, 3};
  TableColumn share{"share", Align::right, {}}, median{"median", Align::right, {}};
  TableColumn range{"p5–p95", Align::right, {}, 2}, follows{"follows", Align::left, {}},
      rest{"rest", Align::right, {}, 4};
  for (std::size_t i = 0; i < count; ++i) {
    const CaptureWork& work = device.work[i];
    name.cells.push_back(work.label);
    calls.cells.push_back(has_steps ? fmt::format("{:.3g}", work.calls_per_step)
                                    : std::to_string(work.calls));
    share.cells.push_back(percent_text(work.share));
    median.cells.push_back(time_text(work.median));
    range.cells.push_back(time_range_text(work.p5, work.p95));
    std::string text;
    for (std::size_t k = 0; k < work.follows.size() && (k < 1 || shown.details); ++k) {
      text += (text.empty() ? "" : ", ") + follows_text(work.follows[k]);
    }
    follows.cells.push_back(text);
    rest.cells.push_back(percent_text(work.rest));
  }
  Text table = fitted_table({name, calls, share, median, range, follows, rest}, shown.width);
  if (count < device.work.size()) {
    table += fmt::format("{} more: --details; one of them: --kernel REGEX\n", device.work.size() - count);
  }
  return table;
}

Text losses_text(const CaptureRecord& record, const ShownPage& shown) {
  constexpr std::size_t kTop = 5;
  Text text;
  const std::size_t count = shown.details ? record.losses.size() : std::min(kTop, record.losses.size());
  for (std::size_t i = 0; i < count; ++i) {
    const CaptureLoss& loss = record.losses[i];
    text += list_item(
        fmt::format("{}{}", loss.count > 0 ? number_text(loss.count) + ": " : "", one_line(loss.sentence)),
        shown.width);
  }
  if (count < record.losses.size())
    text += list_item(fmt::format("{} more: --details", record.losses.size() - count), shown.width);
  return text.empty() ? Text() : Text("\nLost or not recorded:\n\n") + text;
}

}  // namespace

std::string kernel_label(const timeline::WorkName& name) {
  return shortened(timeline::short_name(name)) +
         (name.kind == WorkKind::kernel ? fmt::format(" [{}]", name.blocks()) : "");
}

std::string follows_text(const CaptureCause& cause) {
  return fmt::format("{} {} ({})", timeline::to_string(cause.what), percent_text(cause.share),
                     change_text(cause.effect));
}

CaptureRecord make_capture_record(const Timeline& timeline, const Analysis& analysis) {
  CaptureRecord record;
  record.source = timeline.source;
  for (const DeviceAnalysis& device : analysis.devices)
    record.devices.push_back(device_record(timeline, device));
  if (!record.devices.empty()) record.device.name = record.devices.front().gpu;
  const bool several = timeline.processes.size() > 1;
  for (const Process& process : timeline.processes) {
    const std::string prefix = several ? process.label + ": " : "";
    for (const timeline::Loss& loss : process.losses) {
      record.losses.push_back({static_cast<std::int64_t>(loss.count), prefix + loss.sentence});
    }
    if (!process.problem.empty()) record.losses.push_back({0, process.label + ": " + process.problem});
  }
  for (const std::string& problem : timeline.problems) record.losses.push_back({0, problem});
  return record;
}

Text record_text(const CaptureRecord& record, const ShownPage& shown) {
  if (record.devices.empty()) {
    return wrapped(fmt::format("**Nothing was captured** in '{}': no process used a GPU.", record.source),
                   shown.width) +
           losses_text(record, shown);
  }
  const CaptureDevice& device = record.devices.front();
  Text text = headlines(device, !record.losses.empty(), shown.width);
  if (device.calls) text += "\n" + wrapped(calls_text(*device.calls), shown.width);
  if (const std::string cost = cost_text(device); !cost.empty()) text += "\n" + wrapped(cost, shown.width);
  text += "\n";
  const std::vector<std::string> findings = findings_of(device);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    text += numbered_item(i + 1, findings[i], shown.width, kSentenceIndent);
  }
  if (findings.empty()) {
    text += wrapped("Nothing was found that the times follow, beyond what the table names.", shown.width);
  }
  text += "\n" + wrapped(idle_text(device), shown.width) + "\n" + kernel_table(device, shown);
  if (record.devices.size() > 1) {
    constexpr std::size_t kTop = 8;
    text += "\nOther GPUs and processes:\n\n";
    const std::size_t count =
        shown.details ? record.devices.size() : std::min(kTop + 1, record.devices.size());
    for (std::size_t i = 1; i < count; ++i) {
      const CaptureDevice& other = record.devices[i];
      text += list_item(
          fmt::format("{} {} idle.", headline(other, other.lost > 0), percent_text(1.0 - other.busy)),
          shown.width);
    }
    if (count < record.devices.size()) {
      text += list_item(fmt::format("{} more: --details", record.devices.size() - count), shown.width);
    }
  }
  return text + losses_text(record, shown);
}

Headline headline_of(const CaptureRecord& record) {
  if (record.devices.empty()) return {.subject = "capture of " + record.source, .number = "nothing"};
  const CaptureDevice& device = record.devices.front();
  Headline headline{.subject = one_line(device.process), .marks = {duration_text(device.length)}};
  if (device.steps.empty()) {
    headline.number = percent_text(device.busy);
    headline.error = "of the time the GPU works";
    headline.marks.emplace_back("no steps were found");
  } else {
    const CaptureStepKind& kind = device.steps.front();
    const double precision = 0.5 * (kind.high - kind.low).value() / kind.median.value();
    headline.subject = "a step of " + headline.subject;
    headline.number = time_text(kind.median, std::max(precision, 1e-4));
    headline.error = "± " + percent_text(precision);
    headline.marks.push_back(counted(kind.count, "step"));
    headline.marks.push_back(percent_text(1.0 - device.busy) + " idle");
  }
  if (!device.is_complete || !record.losses.empty()) headline.marks.emplace_back("not complete");
  return headline;
}

}  // namespace jitterscope
