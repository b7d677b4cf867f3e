// The first screen of a capture: its steps, whether all is there, what was found, idle time and kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "commands/capture/record.hpp"
#include "commands/capture/what_helps.hpp"
#include "measure/estimate.hpp"
#include "measure/where_to_work.hpp"

namespace jitterscope {
namespace {

constexpr std::size_t kSentenceIndent = 3;  // width of "1. ": Markdown then keeps the lines in the item

// "51.8 ms ± 0.1 %": a median with half its 95 % interval.
std::string median_text(Nanoseconds median, Nanoseconds low, Nanoseconds high) {
  const double half = 0.5 * (high - low).value();
  const double precision = median.value() > 0.0 ? half / median.value() : 0.0;
  const std::string time = time_text(median, std::max(precision, 1e-4));
  return precision > 0.2 ? fmt::format("{} ({})", time, time_range_text(low, high))
                         : fmt::format("{} ± {}", time, percent_text(precision));
}
std::string step_time_text(const CaptureStepKind& kind) {
  return median_text(kind.median, kind.low, kind.high);
}

// "1.98 M", "12345": a number that is read at a glance.
std::string number_text(std::int64_t number) {
  return number >= 1'000'000 ? fmt::format("{:.3g} M", static_cast<double>(number) * 1e-6)
                             : std::to_string(number);
}

std::string completeness_text(const CaptureDevice& device, bool has_losses) {
  std::string text = fmt::format("{} kernels", number_text(device.kernels));
  if (device.copies > 0)
    text += fmt::format(", {} {}", number_text(device.copies), device.copies == 1 ? "copy" : "copies");
  if (device.sets > 0)
    text += fmt::format(", {} {}", number_text(device.sets), device.sets == 1 ? "memset" : "memsets");
  if (!device.is_complete) return "the process was ended; its last second may be missing: " + text;
  if (!has_losses) return "complete: " + text + ", none lost";
  return fmt::format("**not complete**: {}; lost: {}", text,
                     device.lost > 0 ? number_text(device.lost) : "see below");
}

std::string headline(const CaptureDevice& device, bool has_losses) {
  const std::string place = fmt::format("in {} on {} ({}); {}", duration_text(device.length), device.gpu,
                                        process_label(device), completeness_text(device, has_losses));
  if (device.steps.empty()) {
    std::string ranges;
    for (const std::string& name : device.ranges)
      ranges += fmt::format(
          "{} '{}'", ranges.empty() ? "; steps may begin with ranges of the program's own: --ranges" : " or",
          one_line(name));
    return fmt::format("**No steps were found** {}. Steps: {}{}.", place, device.no_steps, ranges);
  }
  if (device.steps.size() > 1) return fmt::format("**{} kinds of steps** {}.", device.steps.size(), place);
  if (const auto& levels = device.levels) {
    return fmt::format("**{} of {}, then {} of {}** (medians, 95 %) {}.", counted(levels->earlier, "step"),
                       median_text(levels->before, levels->before_low, levels->before_high), levels->later,
                       median_text(levels->after, levels->after_low, levels->after_high), place);
  }
  return fmt::format("**{} steps of {}** (median, 95 %) {}.", device.steps[0].count,
                     step_time_text(device.steps[0]), place);
}

// Says the mean, p95 and p99 of a step whose times have a tail or levels: its median is not all of them.
std::string tail_text(const CaptureStepKind& kind) {
  constexpr double kMuch = 0.01;
  const auto differs = [&](Nanoseconds time) {
    return std::abs(time.value() - kind.median.value()) > kMuch * kind.median.value();
  };
  if (!(kind.mean.value() > 0.0) || !(differs(kind.mean) || differs(kind.p95) || differs(kind.p99)))
    return {};
  return fmt::format("A step takes {} on average; p95 {}, p99 {}.", time_text(kind.mean, 0.001),
                     time_text(kind.p95), time_text(kind.p99));
}

// The repetition within a step may be the program's own step.
std::string repetition_text(const CaptureRepetition& repetition) {
  constexpr std::size_t kMostNamed = 2;
  std::vector<std::string> rest;
  for (const CaptureWorkOfStep& each : repetition.rest) {
    if (each.calls < 0.5) continue;  // what a few steps have is none of a usual one
    const std::string times = each.calls < 1.5 ? "" : fmt::format("{:.0f} times ", each.calls);
    rest.push_back(fmt::format("{}{} ({})", times, each.label, time_text(each.time)));
  }
  return fmt::format(
      "A step is {:.0f} times the same {}, of {} in the median, and {}: layers of a network, or steps of the "
      "program's own of which every {} has something more. --ranges NAME takes its ranges.",
      repetition.times, counted(repetition.launches, "launch"), time_text(repetition.median),
      rest.empty() || rest.size() > kMostNamed ? "what comes in between" : joined(rest),
      ordinal(std::llround(repetition.times)));
}

Text headlines(const CaptureDevice& device, bool has_losses, std::size_t width) {
  constexpr std::size_t kTop = 4;
  Text text = wrapped(headline(device, has_losses), width);
  if (device.steps.size() == 1 && !device.levels) {
    if (const std::string tail = tail_text(device.steps[0]); !tail.empty()) text += wrapped(tail, width);
  }
  if (device.repetition) text += wrapped(repetition_text(*device.repetition), width);
  if (device.steps.size() < 2) return text;
  text += "\n";
  for (std::size_t i = 0; i < std::min(kTop, device.steps.size()); ++i) {
    const CaptureStepKind& kind = device.steps[i];
    text += list_item(fmt::format("{} × {} ({}), p99 {}", kind.count, step_time_text(kind),
                                  counted(kind.launches, "launch"), time_text(kind.p99)),
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

// A program's first steps load kernels and tune, which says nothing of the others.
bool are_first(const CaptureSlowSteps& slow) {
  return std::ranges::any_of(slow.traits, [&](const CaptureTrait& trait) {
    return trait.trait == timeline::StepTrait::first_steps && trait.slow == slow.steps;
  });
}

// Which steps are slow, and how long they take. Where all steps changed at once, a time alone is neither
// level's.
std::string which_are_slow(const CaptureSlowSteps& slow, bool has_levels) {
  constexpr double kRare = 0.05, kPrecision = 0.001;
  const double share = static_cast<double>(slow.steps) / static_cast<double>(slow.of);
  if (!slow.recurrence && share <= kRare) {
    const std::string which =
        are_first(slow) ? fmt::format("**{} of the first {} steps**", slow.steps, timeline::kFirstSteps)
                        : fmt::format("**{}** of {}", counted(slow.steps, "step"), slow.of);
    return fmt::format("{} {} slow ({}{})", which, slow.steps == 1 ? "is" : "are",
                       slow.steps == 1 ? "" : "in the median ", time_change_text(slow.longer));
  }
  const std::string which =
      slow.recurrence ? capitalised(recurring_text(slow.recurrence->slow, slow.recurrence->period, "step"))
                      : percent_text(share) + " of steps take";
  if (has_levels) return fmt::format("**{} {} longer** than the others", which, percent_text(slow.longer));
  std::string text = fmt::format("**{} {}**, the others {}", which, time_text(slow.time, kPrecision),
                                 time_text(slow.other_time, kPrecision));
  if (!slow.recurrence) return text;
  const Recurrence recurrence{slow.recurrence->period, slow.recurrence->slow, slow.other_time, slow.time};
  return text + fmt::format(" ({} on average)", time_text(mean_of(recurrence), kPrecision));
}

std::string slow_text(const CaptureSlowSteps& slow, bool has_levels) {
  std::string text = which_are_slow(slow, has_levels);
  const bool is_one = slow.steps == 1;
  if (slow.traits.empty() && slow.parts.empty())
    text += fmt::format("; nothing was seen that {} and others have not", is_one ? "it has" : "they have");
  for (std::size_t i = 0; i < slow.traits.size() && i < 2; ++i) {
    const CaptureTrait& trait = slow.traits[i];
    const std::string where = !is_one ? fmt::format("in {} of them ", trait.slow) : i == 0 ? "in it " : "";
    text += fmt::format("{} {}{}", i == 0 ? ":" : ", and", where, trait_text(trait));
    if (trait.other > 0) text += fmt::format(" (in {} of the others, too)", trait.other);
  }
  for (const CaptureLongerPart& part : slow.parts) {
    text += part.is_gap ? fmt::format("; {} {} longer before {}", is_one ? "it idles" : "they idle",
                                      time_text(part.longer), part.label)
                        : fmt::format("; {} takes {} longer", part.label, time_text(part.longer));
  }
  return text + ".";
}

std::string stretches_text(const CaptureLongStretches& found) {
  constexpr std::size_t kMostNamed = 3;
  constexpr double kAsEver = 0.1;
  std::string where;
  if (found.stretches.size() <= kMostNamed) {
    for (const CaptureStretch& stretch : found.stretches)
      where += fmt::format("{}from {} to {}",
                           where.empty()                 ? ""
                           : found.stretches.size() == 2 ? " and "
                                                         : ", ",
                           duration_text(stretch.begin), duration_text(stretch.end));
  } else {
    const auto [shortest, longest] =
        std::minmax_element(found.stretches.begin(), found.stretches.end(),
                            [](const auto& a, const auto& b) { return a.end - a.begin < b.end - b.begin; });
    where = fmt::format("in {} stretches of {} to {}", found.stretches.size(),
                        duration_text(shortest->end - shortest->begin),
                        duration_text(longest->end - longest->begin));
  }
  const bool is_idle = found.idle > found.busy;
  return fmt::format("**Steps take {} longer {}** ({} of {}): the GPU {} {} longer in each{}.",
                     percent_text(found.longer), where, found.steps, found.of, is_idle ? "idles" : "works",
                     time_text(is_idle ? found.idle : found.busy),
                     is_idle && found.busy < kAsEver * found.idle
                         ? ", and works as long as ever: the program or its host is slower then"
                         : "");
}

// That all kernels change together is a part of it, unless a cause of that is known.
bool explains_common(const std::optional<CaptureStepLevels>& levels, const CaptureCommonFactor& common) {
  return levels && !common.is_clock && std::abs(levels->busy.value()) > std::abs(levels->idle.value());
}

std::string levels_text(const CaptureStepLevels& levels, const CaptureDevice& device) {
  const auto more = [](double value) { return value < 0.0 ? "less" : "longer"; };
  const bool is_idle = std::abs(levels.idle.value()) > std::abs(levels.busy.value());
  const Nanoseconds part = is_idle ? levels.idle : levels.busy;
  return fmt::format(
      "**From step {} on steps take {} {}**, to the end ({} of {}, from {} on): the GPU {} {} {} in "
      "each{}.",
      levels.step, percent_text(std::abs(levels.longer())), more(levels.longer()), levels.later,
      levels.earlier + levels.later, duration_text(levels.at), is_idle ? "idles" : "works",
      time_text(Nanoseconds(std::abs(part.value()))), more(part.value()),
      device.common && explains_common(device.levels, *device.common)
          ? fmt::format("; {} change together", counted(device.common->kernels, "kernel"))
          : "");
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

std::string_view cause_of(const CaptureCommonFactor& common) {
  if (common.is_clock) return ", as NVML's clock falls, a cap holds it longer or more power is drawn";
  if (common.is_after_allocation) return ", in the first steps after memory was taken or given back";
  return "; nothing that was recorded moves with it";
}

std::vector<Finding> variations_of(const CaptureDevice& device) {
  std::vector<Finding> findings;
  if (const auto& levels = device.levels) {
    const double fewer = static_cast<double>(std::min(levels->earlier, levels->later)) /
                         static_cast<double>(levels->earlier + levels->later);
    findings.push_back({fewer * std::abs(levels->longer()), levels_text(*levels, device)});
  }
  if (device.common && !explains_common(device.levels, *device.common)) {
    findings.push_back(
        {device.busy * device.common->effect,
         fmt::format(
             "{} {} ({} to {}) of what the GPU's time in a step varies by: {} slow down together, by up to {}{}.",
             device.common->is_clock ? "**The clock** moves" : "**A factor common to all kernels** moves",
             percent_text(device.common->share), percent_text(device.common->low),
             percent_text(device.common->high), counted(device.common->kernels, "kernel"),
             change_text(device.common->effect), cause_of(*device.common))});
  }
  // That the GPU works longer in some steps is what a common factor says already.
  if (device.stretches && !(device.common && device.stretches->busy > device.stretches->idle)) {
    const double share =
        static_cast<double>(device.stretches->steps) / static_cast<double>(device.stretches->of);
    findings.push_back({share * device.stretches->longer, stretches_text(*device.stretches)});
  }
  const bool is_said = device.common && device.slow && device.slow->traits.size() == 1 &&
                       device.slow->traits[0].trait == timeline::StepTrait::longer_work &&
                       !device.slow->recurrence && device.slow->parts.empty();
  if (device.slow && !is_said) {
    const double share = static_cast<double>(device.slow->steps) / static_cast<double>(device.slow->of);
    findings.push_back({share * device.slow->longer, slow_text(*device.slow, device.levels.has_value())});
  }
  add_followed(device, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.size > b.size; });
  return findings;
}

// A GPU that mostly idles comes first, then causes that make more than a hundredth of the time, then what all
// steps have in common, then the other causes: the details alone list those that make next to nothing of it,
// as some of thousands of steps are always late by a few microseconds.
std::vector<std::string> findings_of(const CaptureDevice& device, bool details) {
  constexpr double kMuch = 0.01, kLeast = 0.005;
  constexpr double kMuchIdle = 0.2, kMuchConverted = 0.02, kMuchCopied = 0.02;
  const double idle = 1.0 - device.busy;
  const std::string limit = limit_of_faster_kernels(idle);
  const std::vector<Finding> variations = variations_of(device);
  std::vector<std::string> findings;
  const auto add_idle = [&] {
    findings.push_back(
        fmt::format("**The GPU idles {}** of the time{}{}{}.", percent_text(idle), limit.empty() ? "" : ": ",
                    limit, device.idle.empty() ? "; a capture with --detail mixed or full tells why" : ""));
  };
  if (!limit.empty()) add_idle();
  for (const Finding& each : variations) {
    if (each.size >= kMuch) findings.push_back(each.sentence);
  }
  if (idle >= kMuchIdle && limit.empty()) add_idle();
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
        "**{}** ({}) take {} of the time{}; {} of it is beside kernels.",
        // "copy from pinned memory to the GPU", "memset on the GPU"
        copies.name.starts_with("copy") ? "Copies" + copies.name.substr(4)
                                        : "Memsets" + copies.name.substr(6),
        number_text(copies.count), percent_text(copies.total.value() / device.length.value()),
        copies.bytes > 0.0 ? ", " + rate_text(copies.bytes / (copies.total.value() * 1e-9), "B/s") : "",
        percent_text(copies.beside_kernels)));
  }
  const auto is_small = [&](const Finding& each) { return each.size < kLeast && !details; };
  for (const Finding& each : variations) {
    if (each.size < kMuch && !is_small(each)) findings.push_back(each.sentence);
  }
  const auto small = std::ranges::count_if(variations, is_small);
  if (small > 0)
    findings.push_back(fmt::format("{} of less than {} of the time{}: --details.", counted(small, "cause"),
                                   percent_text(kLeast), small > 1 ? " each" : ""));
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
    // What does not run in steps of the most frequent kind has no calls there.
    const bool is_in_steps = !has_steps || work.calls_per_step > 0.0;
    calls.cells.push_back(!has_steps    ? std::to_string(work.calls)
                          : is_in_steps ? fmt::format("{:.3g}", work.calls_per_step)
                                        : "");
    share.cells.push_back(percent_text(work.share));
    median.cells.push_back(time_text(work.median));
    range.cells.push_back(time_range_text(work.p5, work.p95));
    std::string text;
    for (std::size_t k = 0; k < work.follows.size() && (k < 1 || shown.details); ++k) {
      text += (text.empty() ? "" : ", ") + follows_text(work.follows[k]);
    }
    follows.cells.push_back(text);
    rest.cells.push_back(work.rest ? percent_text(*work.rest) : "");
  }
  Text table = table_for({name, calls, share, median, range, follows, rest}, shown);
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
        fmt::format("{}{}{}", loss.count > 0 ? number_text(loss.count) + ": " : "", one_line(loss.sentence),
                    loss.times > 1 ? fmt::format(" ({} times)", loss.times) : ""),
        shown.width);
  }
  if (count < record.losses.size())
    text += list_item(fmt::format("{} more: --details", record.losses.size() - count), shown.width);
  return text.empty() ? Text() : Text("\nLost or not recorded:\n\n") + text;
}

// A rank, or the process with its GPU where there is no rank, or the process has several.
std::string label_of(const CaptureRecord& record, const CaptureDevice& device) {
  const auto of_process =
      std::count_if(record.devices.begin(), record.devices.end(),
                    [&](const CaptureDevice& each) { return each.process == device.process; });
  const std::string process = device.rank ? fmt::format("rank {}", *device.rank) : process_label(device);
  return of_process > 1 ? fmt::format("{}, {}", process, device.gpu) : process;
}

// GPUs in the order of their ranks.
std::vector<const CaptureDevice*> devices_by_rank(const CaptureRecord& record) {
  std::vector<const CaptureDevice*> devices;
  for (const CaptureDevice& device : record.devices) devices.push_back(&device);
  std::stable_sort(devices.begin(), devices.end(), [](const CaptureDevice* a, const CaptureDevice* b) {
    return a->rank.value_or(INT64_MAX) < b->rank.value_or(INT64_MAX);
  });
  return devices;
}

// Who waits in collectives, and for whom.
std::optional<std::string> waits_text(const CaptureRecord& record) {
  constexpr double kMuchWaited = 0.01;
  const CaptureDevice *waits = nullptr, *last = nullptr;
  for (const CaptureDevice* device : devices_by_rank(record)) {
    if (!device->waits) continue;
    if (waits == nullptr || device->waits->share > waits->waits->share) waits = device;
    if (last == nullptr || device->waits->last > last->waits->last) last = device;
  }
  if (waits == nullptr || waits->waits->share < kMuchWaited) return std::nullopt;
  const auto part = static_cast<double>(last->waits->last) / static_cast<double>(last->waits->collectives);
  return fmt::format(
      "**Waiting for other GPUs** in collectives takes {} of {}'s time; {} came last in {} of {}.",
      percent_text(waits->waits->share), label_of(record, *waits),
      last == waits ? "it itself" : label_of(record, *last), percent_text(part), last->waits->collectives);
}

Text devices_table(const CaptureRecord& record, const ShownPage& shown) {
  if (record.devices.size() < 2) return {};
  constexpr std::size_t kTop = 8;
  const std::size_t count = shown.details ? record.devices.size() : std::min(kTop, record.devices.size());
  const std::vector<const CaptureDevice*> devices = devices_by_rank(record);
  const bool has_waits = std::any_of(devices.begin(), devices.end(),
                                     [](const CaptureDevice* each) { return each->waits.has_value(); });
  TableColumn name{"GPU of", Align::left, {}}, steps{"steps", Align::right, {}},
      median{"median", Align::right, {}}, kernels{"kernels", Align::right, {}, 1},
      idle{"idle", Align::right, {}}, waits{"waits for others", Align::right, {}},
      last{"comes last", Align::right, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const CaptureDevice& device = *devices[i];
    name.cells.push_back(label_of(record, device));
    steps.cells.push_back(device.steps.empty() ? "none found" : std::to_string(device.steps[0].count));
    median.cells.push_back(device.steps.empty() ? "" : time_text(device.steps[0].median));
    kernels.cells.push_back(number_text(device.kernels));
    idle.cells.push_back(percent_text(1.0 - device.busy));
    waits.cells.push_back(device.waits ? percent_text(device.waits->share) : "");
    last.cells.push_back(device.waits ? percent_text(static_cast<double>(device.waits->last) /
                                                     static_cast<double>(device.waits->collectives))
                                      : "");
  }
  std::vector<TableColumn> columns{name, steps, median, kernels, idle};
  if (has_waits) {
    columns.push_back(waits);
    columns.push_back(last);
  }
  Text text = Text("\n") + fitted_table(columns, shown.width);
  if (count < devices.size()) text += fmt::format("{} more: --details\n", devices.size() - count);
  return text;
}

}  // namespace

Text table_for(std::vector<TableColumn> columns, const ShownPage& shown) {
  if (shown.details) {
    for (TableColumn& column : columns) column.spare = 0;
  }
  return fitted_table(std::move(columns), shown.width, AllColumns::details);
}

std::string follows_text(const CaptureCause& cause) {
  return fmt::format("{} {} ({})", timeline::to_string(cause.what), percent_text(cause.share),
                     change_text(cause.effect));
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
  std::vector<std::string> findings = findings_of(device, shown.details);
  if (std::optional<std::string> waits = waits_text(record)) findings.push_back(std::move(*waits));
  for (std::size_t i = 0; i < findings.size(); ++i) {
    text += numbered_item(i + 1, findings[i], shown.width, kSentenceIndent);
  }
  if (findings.empty()) {
    const bool table_names_some =
        std::ranges::any_of(device.work, [](const CaptureWork& work) { return !work.follows.empty(); });
    text += wrapped(fmt::format("Nothing was found that the times follow{}.",
                                table_names_some ? ", beyond what the table names" : ""),
                    shown.width);
  }
  text += "\n" + wrapped(idle_text(device), shown.width);
  if (const std::string help = what_helps(record, device); !help.empty()) text += wrapped(help, shown.width);
  constexpr double kAlways = 0.95;
  if (device.with_others >= kAlways) {
    text += "\n" + wrapped(
                       "Another process was on this GPU all the time: the times hold what it took, and "
                       "nothing here tells how much.",
                       shown.width);
  }
  text += "\n" + kernel_table(device, shown);
  text += devices_table(record, shown);
  return text + losses_text(record, shown);
}

Headline headline_of(const CaptureRecord& record) {
  if (record.devices.empty()) return {.subject = "capture of " + record.source, .number = "nothing"};
  const CaptureDevice& device = record.devices.front();
  Headline headline{.subject = process_label(device), .marks = {duration_text(device.length)}};
  if (device.steps.empty()) {
    headline.number = percent_text(device.busy);
    headline.error = "of the time the GPU works";
    headline.marks.emplace_back("no steps were found");
  } else {
    const CaptureStepKind& kind = device.steps.front();
    const double precision = 0.5 * (kind.high - kind.low).value() / std::max(kind.median.value(), 1.0);
    headline.subject = "a step of " + headline.subject;
    headline.number = time_text(kind.median, std::max(precision, 1e-4));
    headline.error = "± " + percent_text(precision);
    if (device.levels) {
      headline.number = time_text(device.levels->after);
      headline.error =
          fmt::format("from step {} on, {} before", device.levels->step, time_text(device.levels->before));
    }
    headline.marks.push_back(counted(kind.count, "step"));
    headline.marks.push_back(percent_text(1.0 - device.busy) + " idle");
  }
  if (!device.is_complete || !record.losses.empty()) headline.marks.emplace_back("not complete");
  return headline;
}

}  // namespace jitterscope
