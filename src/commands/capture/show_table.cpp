#include "commands/capture/show_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <regex>

#include "base/quantity_text.hpp"
#include "jitterscope/error.hpp"
#include "output/text.hpp"

namespace jitterscope {
namespace {

using timeline::Analysis;
using timeline::DeviceAnalysis;
using timeline::KernelVariation;
using timeline::Process;
using timeline::StepKind;
using timeline::Timeline;
using timeline::WorkKind;

// "51.8 ms ± 0.1 %": a value with half its interval.
std::string seconds_text(double seconds) { return time_text(Nanoseconds(seconds * 1e9)); }

std::string step_time_text(const StepKind& kind) {
  const double half = 0.5 * (kind.interval.high - kind.interval.low);
  const double precision = kind.seconds > 0.0 ? half / kind.seconds : 0.0;
  const std::string time = time_text(Nanoseconds(kind.seconds * 1e9), std::max(precision, 1e-4));
  if (precision > 0.2) {
    return fmt::format(
        "{} ({})", time,
        time_range_text(Nanoseconds(kind.interval.low * 1e9), Nanoseconds(kind.interval.high * 1e9)));
  }
  return fmt::format("{} ± {}", time, percent_text(precision));
}

// "1.98 M", "12 345": a number that is read at a glance.
std::string number_text(double number) {
  if (number >= 1e6) return fmt::format("{:.3g} M", number * 1e-6);
  return fmt::format("{}", static_cast<std::int64_t>(number));
}

std::string gpu_name(const Process& process, const DeviceAnalysis& device) {
  const std::uint32_t number = process.devices[device.device].device;
  for (const timeline::ProcessDevice& each : process.device_names) {
    if (each.device == number && !each.name.empty()) {
      return process.device_names.size() > 1 ? fmt::format("{} (GPU {})", each.name, number) : each.name;
    }
  }
  return fmt::format("GPU {}", number);
}

std::uint64_t lost_of(const Process& process) {
  return std::accumulate(process.losses.begin(), process.losses.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const timeline::Loss& loss) { return sum + loss.count; });
}

std::string completeness_text(const Process& process, const DeviceAnalysis& device) {
  std::string text = fmt::format("{} kernels", number_text(static_cast<double>(device.kernels)));
  if (device.copies > 0) text += fmt::format(", {} copies", number_text(static_cast<double>(device.copies)));
  if (!process.is_complete) return "the process was ended; its last second may be missing: " + text;
  if (process.losses.empty()) return "complete: " + text + ", none lost";
  const std::uint64_t lost = lost_of(process);
  return fmt::format("**not complete**: {}; lost: {}", text,
                     lost > 0 ? number_text(static_cast<double>(lost)) : "see below");
}

std::string headline(const Timeline& timeline, const DeviceAnalysis& device) {
  const Process& process = timeline.processes[device.process];
  const std::string place = fmt::format("on {} ({})", gpu_name(process, device), one_line(process.label));
  const std::string complete = completeness_text(process, device);
  if (!device.steps.were_found()) {
    return fmt::format("**No steps were found** in {} {}: {}; {}",
                       duration_text(Nanoseconds(device.seconds * 1e9)), place, device.steps.reason,
                       complete);
  }
  if (device.steps.kinds.size() == 1) {
    const StepKind& kind = device.steps.kinds.front();
    return fmt::format("**{} steps of {}** in {} {}; {}", kind.count, step_time_text(kind),
                       duration_text(Nanoseconds(device.seconds * 1e9)), place, complete);
  }
  std::string text = fmt::format("**{} kinds of steps** in {} {}; {}\n", device.steps.kinds.size(),
                                 duration_text(Nanoseconds(device.seconds * 1e9)), place, complete);
  std::size_t number = 0;
  for (const StepKind& kind : device.steps.kinds) {
    if (++number > 4) {
      text += fmt::format("- {} more\n", device.steps.kinds.size() - 4);
      break;
    }
    text += fmt::format("- {} × {} ({} launches), p99 {}\n", kind.count, step_time_text(kind), kind.work,
                        seconds_text(kind.p99));
  }
  return text;
}

std::string signed_percent(double ratio) { return change_text(ratio); }

std::string cost_text(const DeviceAnalysis& device) {
  std::vector<std::string> parts;
  if (device.cost) {
    const timeline::RecordingCost& cost = *device.cost;
    parts.push_back(fmt::format(
        "Cost of the recording that goes away with it: {} ({} to {}, {} windows with and without{})",
        signed_percent(cost.ratio), signed_percent(cost.interval.low), signed_percent(cost.interval.high),
        cost.windows,
        cost.null_ratio ? fmt::format("; with and with: {}", signed_percent(*cost.null_ratio)) : ""));
  }
  if (device.corrected > 0) {
    parts.push_back(fmt::format("names audited: {} of {} corrected", device.corrected, device.audited));
  } else if (device.audited > 0) {
    parts.push_back(fmt::format("names audited: {} of {}, all right", device.audited, device.names));
  }
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text.empty() ? "" : text + ".";
}

bool converts_layout(const timeline::WorkName& name) {
  return name.name.find("nchwToNhwc") != std::string::npos ||
         name.name.find("nhwcToNchw") != std::string::npos;
}

std::string trait_text(const timeline::TraitOfSlowSteps& trait) {
  if (!timeline::is_idle(trait.trait)) return std::string(timeline::to_string(trait.trait));
  const std::string_view during = timeline::to_string(trait.trait);
  return fmt::format("the GPU idles {} longer{}{}", seconds_text(trait.seconds),
                     during.empty() ? "" : " while ", during);
}

std::vector<std::string> findings_of(const Process& process, const DeviceAnalysis& device) {
  std::vector<std::string> findings;
  const timeline::CommonFactor& common = device.variation.common;
  if (common.kernels > 0 && !common.by_step.empty() && !common.is_of_other_process) {
    findings.push_back(fmt::format(
        "{} {} of what the GPU's time in a step varies by: {} slow down together, by up to {}{}.",
        common.moves_with_sensors ? "**The clock** moves" : "**A factor common to all kernels** moves",
        percent_text(common.step_share), counted(static_cast<std::int64_t>(common.kernels), "kernel"),
        change_text(common.effect),
        common.moves_with_sensors ? ", as NVML's clock falls or the time held by a cap grows"
                                  : "; nothing that was recorded moves with it"));
  }
  // That the GPU works longer in some steps is what a common factor says already.
  const bool is_said = common.kernels > 0 && device.slow.traits.size() == 1 &&
                       device.slow.traits.front().trait == timeline::StepTrait::longer_work;
  if (!device.slow.steps.empty() && !is_said) {
    std::string text = fmt::format("**{}** of {} are slow (in the median {})",
                                   counted(static_cast<std::int64_t>(device.slow.steps.size()), "step"),
                                   device.slow.of, time_change_text(device.slow.longer));
    if (device.slow.traits.empty()) text += "; nothing was seen that they have and others have not";
    for (std::size_t i = 0; i < device.slow.traits.size() && i < 2; ++i) {
      const timeline::TraitOfSlowSteps& trait = device.slow.traits[i];
      text += fmt::format("{} in {} of them {}", i == 0 ? ":" : ", and", trait.slow, trait_text(trait));
      if (trait.other > 0) text += fmt::format(" (in {} of the others, too)", trait.other);
    }
    findings.push_back(text + ".");
  }
  // Kernels that follow the same cause are said together, with their effects' range.
  std::map<timeline::Follows, std::vector<const timeline::FollowedCause*>> by_cause;
  std::map<timeline::Follows, double> share;
  for (const KernelVariation& kernel : device.variation.kernels) {
    for (const timeline::FollowedCause& cause : kernel.follows) {
      by_cause[cause.what].push_back(&cause);
      share[cause.what] += kernel.share;
    }
  }
  for (const auto& [cause, kernels] : by_cause) {
    if (cause == timeline::Follows::common_factor || cause == timeline::Follows::place || share[cause] < 0.01)
      continue;
    if (cause == timeline::Follows::clock && !common.by_step.empty()) continue;
    const auto [least, most] = std::minmax_element(
        kernels.begin(), kernels.end(), [](const auto* a, const auto* b) { return a->effect < b->effect; });
    findings.push_back(fmt::format(
        "{} with {} of the GPU's time {} **{}**: {}.",
        counted(static_cast<std::int64_t>(kernels.size()), "kernel"), percent_text(share[cause]),
        kernels.size() == 1 ? "follows" : "follow", timeline::to_string(cause),
        change_text((*least)->effect) == change_text((*most)->effect)
            ? time_change_text((*most)->effect)
            : fmt::format("{} to {}", change_text((*least)->effect), change_text((*most)->effect))));
  }
  constexpr double kMuchIdle = 0.2;
  if (device.idle.idle_share() >= kMuchIdle) {
    findings.push_back(
        fmt::format("**The GPU idles {}** of the time{}.", percent_text(device.idle.idle_share()),
                    device.idle.has_causes() ? "" : "; why, a capture with --detail mixed or full tells"));
  }
  double conversions = 0.0;
  for (const KernelVariation& kernel : device.variation.kernels) {
    if (converts_layout(process.names[kernel.what])) conversions += kernel.share;
  }
  if (conversions >= 0.02) {
    findings.push_back(fmt::format(
        "**Conversions between NCHW and NHWC** take {} of the GPU's time: the model and its inputs in "
        "channels_last need none.",
        percent_text(conversions)));
  }
  for (const timeline::CopySummary& copy : device.copy_summary) {
    if (copy.seconds < 0.02 * (device.idle.busy_seconds + device.idle.idle_seconds)) continue;
    findings.push_back(
        fmt::format("**{}**: {}, {} in all{}, {} of their time beside kernels.",
                    timeline::full_name(process.names[copy.what]),
                    number_text(static_cast<double>(copy.count)), seconds_text(copy.seconds),
                    copy.bytes > 0.0 ? fmt::format(", {}", rate_text(copy.bytes / copy.seconds, "B/s")) : "",
                    percent_text(copy.beside_kernels)));
  }
  return findings;
}

std::string idle_text(const DeviceAnalysis& device) {
  const timeline::Idle& idle = device.idle;
  const double share = idle.idle_share();
  std::string text = fmt::format("GPU: {} busy, {} idle", percent_text(1.0 - share), percent_text(share));
  if (!idle.has_causes()) return text + ".";
  std::vector<std::pair<double, timeline::IdleCause>> causes;
  for (std::size_t i = 0; i < timeline::kIdleCauses; ++i) {
    if (idle.shares[i] >= 0.01) causes.emplace_back(idle.shares[i], static_cast<timeline::IdleCause>(i));
  }
  std::stable_sort(causes.begin(), causes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string list;
  for (const auto& [part, cause] : causes) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", timeline::to_string(cause),
                        percent_text(part * share));
  }
  return fmt::format("{} ({}; from {}).", text, list,
                     counted(static_cast<std::int64_t>(idle.windows), "window"));
}

// At most so long: the beginning says the algorithm, the end the variant. --kernel shows names whole.
std::string shortened(const std::string& name) {
  constexpr std::size_t kMost = 44, kEnd = 12;
  return name.size() <= kMost ? name
                              : name.substr(0, kMost - kEnd - 1) + "…" + name.substr(name.size() - kEnd);
}

// Short names; those that would look the same are numbered.
std::vector<std::string> names_of(const Process& process, const std::vector<KernelVariation>& kernels,
                                  std::size_t count) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < count; ++i) {
    const timeline::WorkName& name = process.names[kernels[i].what];
    std::string text = kernel_label(name);
    ++seen[text];
    names.push_back(std::move(text));
  }
  std::map<std::string, std::size_t> numbers;
  for (std::string& name : names) {
    if (seen[name] > 1) name += fmt::format(" #{}", ++numbers[name]);
  }
  return names;
}

std::string kernel_table(const Process& process, const DeviceAnalysis& device, const CaptureShown& shown) {
  const std::vector<KernelVariation>& kernels = device.variation.kernels;
  const std::size_t count = shown.details ? kernels.size() : std::min(shown.top, kernels.size());
  TableColumn name{"kernel [blocks]", Align::left, names_of(process, kernels, count)};
  TableColumn calls{device.steps.were_found() ? "calls/step" : "calls", Align::right, {}, 3};
  TableColumn share{"share", Align::right, {}}, median{"median", Align::right, {}};
  TableColumn range{"p5–p95", Align::right, {}, 2}, follows{"follows", Align::left, {}},
      rest{"rest", Align::right, {}, 4};
  for (std::size_t i = 0; i < count; ++i) {
    const KernelVariation& kernel = kernels[i];
    calls.cells.push_back(device.steps.were_found() ? fmt::format("{:.3g}", kernel.calls_per_step)
                                                    : std::to_string(kernel.calls));
    share.cells.push_back(percent_text(kernel.share));
    median.cells.push_back(seconds_text(kernel.median));
    range.cells.push_back(time_range_text(Nanoseconds(kernel.p5 * 1e9), Nanoseconds(kernel.p95 * 1e9)));
    std::string text;
    for (std::size_t k = 0; k < kernel.follows.size() && (k < 1 || shown.details); ++k) {
      text += (text.empty() ? "" : ", ") + follows_text(kernel.follows[k]);
    }
    follows.cells.push_back(text);
    rest.cells.push_back(percent_text(kernel.rest));
  }
  std::string table = fitted_table({name, calls, share, median, range, follows, rest}, shown.width);
  if (count < kernels.size())
    table += fmt::format("{} more: --details; one of them: --kernel REGEX\n", kernels.size() - count);
  return table;
}

std::string losses_text(const Timeline& timeline, const CaptureShown& shown) {
  std::string text;
  for (const Process& process : timeline.processes) {
    std::size_t count = 0;
    for (const timeline::Loss& loss : process.losses) {
      if (++count > 3 && !shown.details) {
        text += fmt::format("- {} more: --details\n", process.losses.size() - 3);
        break;
      }
      text +=
          wrapped(fmt::format("- {}{}{}", timeline.processes.size() > 1 ? one_line(process.label) + ": " : "",
                              loss.count > 0 ? number_text(static_cast<double>(loss.count)) + ": " : "",
                              one_line(loss.sentence)),
                  shown.width, 2);
    }
    if (!process.problem.empty()) {
      text += wrapped(fmt::format("- {}: {}", one_line(process.label), one_line(process.problem)),
                      shown.width, 2);
    }
  }
  for (const std::string& problem : timeline.problems)
    text += wrapped("- " + one_line(problem), shown.width, 2);
  return text.empty() ? "" : "\nLost or not recorded:\n\n" + text;
}

const DeviceAnalysis& first_device(const Timeline& timeline, const Analysis& analysis) {
  if (!analysis.devices.empty()) return analysis.devices.front();
  throw UsageError(fmt::format("'{}' holds no work of a GPU", timeline.source));
}

}  // namespace

std::string kernel_label(const timeline::WorkName& name) {
  return shortened(timeline::short_name(name)) +
         (name.kind == WorkKind::kernel ? fmt::format(" [{}]", name.blocks()) : "");
}

std::string follows_text(const timeline::FollowedCause& cause) {
  return fmt::format("{} {} ({})", timeline::to_string(cause.what), percent_text(cause.share),
                     change_text(cause.effect));
}

std::string capture_text(const Timeline& timeline, const Analysis& analysis, const CaptureShown& shown) {
  if (analysis.devices.empty()) {
    return wrapped(fmt::format("**Nothing was captured** in '{}': no process used a GPU.", timeline.source),
                   shown.width) +
           losses_text(timeline, shown);
  }
  const DeviceAnalysis& device = analysis.devices.front();
  const Process& process = timeline.processes[device.process];
  std::string text;
  const std::string head = headline(timeline, device);
  std::size_t from = 0;
  for (std::size_t end; (end = head.find('\n', from)) != std::string::npos; from = end + 1) {
    text += wrapped(head.substr(from, end - from), shown.width, head[from] == '-' ? 2 : 0);
  }
  if (from < head.size()) text += wrapped(head.substr(from), shown.width);
  if (const std::string cost = cost_text(device); !cost.empty()) text += wrapped(cost, shown.width);
  text += "\n";
  const std::vector<std::string> findings = findings_of(process, device);
  for (std::size_t i = 0; i < findings.size(); ++i)
    text += wrapped(fmt::format("{}. {}", i + 1, findings[i]), shown.width, 3);
  if (findings.empty()) {
    text += wrapped("Nothing was found that the times follow, beyond what the table names.", shown.width);
  }
  text += "\n" + wrapped(idle_text(device), shown.width) + "\n" + kernel_table(process, device, shown);
  if (analysis.devices.size() > 1) {
    text += "\nOther GPUs and processes:\n\n";
    for (std::size_t i = 1; i < analysis.devices.size(); ++i) {
      if (i > 8 && !shown.details) {
        text += fmt::format("- {} more: --details\n", analysis.devices.size() - i);
        break;
      }
      const DeviceAnalysis& other = analysis.devices[i];
      text += wrapped(
          fmt::format("- {}, {} idle", headline(timeline, other), percent_text(other.idle.idle_share())),
          shown.width, 2);
    }
  }
  return text + losses_text(timeline, shown);
}

std::string capture_kernels_text(const Timeline& timeline, const Analysis& analysis,
                                 const std::string& pattern, const CaptureShown& shown) {
  const DeviceAnalysis& device = first_device(timeline, analysis);
  const Process& process = timeline.processes[device.process];
  std::regex expression;
  try {
    expression = std::regex(pattern, std::regex::ECMAScript | std::regex::icase);
  } catch (const std::regex_error&) {
    throw UsageError(fmt::format("--kernel: '{}' is no regular expression", pattern));
  }
  std::string text;
  for (const KernelVariation& kernel : device.variation.kernels) {
    const timeline::WorkName& name = process.names[kernel.what];
    const std::string full = timeline::full_name(name);
    if (!std::regex_search(full, expression)) continue;
    text += wrapped(fmt::format("**{}**", one_line(full)), shown.width, 2);
    if (name.kind == WorkKind::kernel) {
      text += fmt::format("- {} × {} × {} blocks of {} × {} × {} threads\n", name.grid[0], name.grid[1],
                          name.grid[2], name.block[0], name.block[1], name.block[2]);
    }
    text +=
        fmt::format("- {} calls{}, {} in all ({} of the GPU's time)\n", kernel.calls,
                    kernel.calls_per_step > 0.0 ? fmt::format(", {:.3g} a step", kernel.calls_per_step) : "",
                    seconds_text(kernel.seconds), percent_text(kernel.share));
    text += fmt::format("- median {}, 5th to 95th percentile {}\n", seconds_text(kernel.median),
                        time_range_text(Nanoseconds(kernel.p5 * 1e9), Nanoseconds(kernel.p95 * 1e9)));
    for (const timeline::FollowedCause& cause : kernel.follows)
      text += fmt::format("- follows {}\n", follows_text(cause));
    if (kernel.follows.empty()) text += "- nothing was seen that it follows\n";
    text += fmt::format("- what is left varies by {}\n\n", percent_text(kernel.rest));
  }
  if (text.empty()) throw UsageError(fmt::format("--kernel: no kernel's name matches '{}'", pattern));
  return text;
}

std::string capture_step_text(const Timeline& timeline, const Analysis& analysis,
                              std::optional<std::size_t> number, const CaptureShown& shown) {
  const DeviceAnalysis& device = first_device(timeline, analysis);
  const Process& process = timeline.processes[device.process];
  const timeline::DeviceWork& work = process.devices[device.device];
  const std::vector<timeline::Step>& steps = device.steps.steps;
  if (steps.empty()) throw UsageError(fmt::format("--step: no steps were found: {}", device.steps.reason));
  std::size_t index = 0;
  if (number) {
    if (*number < 1 || *number > steps.size()) {
      throw UsageError(fmt::format("--step: there are steps 1 to {}, and `slowest`", steps.size()));
    }
    index = *number - 1;
  } else {
    double longest = -1.0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto length = static_cast<double>(steps[i].end - steps[i].begin);
      if (!steps[i].is_whole || steps[i].kind != 0 || length <= longest) continue;
      longest = length;
      index = i;
    }
  }
  const timeline::Step& step = steps[index];
  const auto seconds_of = [](timeline::Span span) { return static_cast<double>(span.length()) * 1e-9; };
  const StepKind& kind = device.steps.kinds[step.kind];
  const double length = seconds_of({step.begin, step.end});
  std::string text = wrapped(
      fmt::format("**Step {} of {}**: {} ({} to the median of its kind, {}), {} after the first.", index + 1,
                  steps.size(), seconds_text(length), change_text(length / kind.seconds - 1.0),
                  seconds_text(kind.seconds), seconds_text(seconds_of({steps.front().begin, step.begin}))),
      shown.width);
  // Each kernel's time here beside its median.
  struct Here {
    std::size_t calls = 0;
    double seconds = 0.0, usual = 0.0;
  };
  std::map<std::uint32_t, Here> here;
  std::map<std::uint32_t, double> medians;
  for (const KernelVariation& kernel : device.variation.kernels) medians[kernel.what] = kernel.median;
  double idle = 0.0;
  timeline::Gap longest_gap;
  for (const timeline::Gap& gap : timeline::gaps_of(work)) {
    if (gap.span.end <= step.begin || gap.span.begin >= step.end) continue;
    const timeline::Span within{std::max(gap.span.begin, step.begin), std::min(gap.span.end, step.end)};
    idle += seconds_of(within);
    if (within.length() > longest_gap.span.length()) longest_gap = {within, gap.before, gap.after};
  }
  for (std::size_t i = step.first; i < step.last; ++i) {
    Here& each = here[work.what[i]];
    ++each.calls;
    each.seconds += seconds_of({work.begin[i], work.end[i]});
    each.usual += medians[work.what[i]];
  }
  text +=
      wrapped(fmt::format("The GPU idles {} of it ({}){}.", seconds_text(idle), percent_text(idle / length),
                          longest_gap.span.length() > 0
                              ? fmt::format("; the longest gap is {}, before {}",
                                            seconds_text(seconds_of(longest_gap.span)),
                                            timeline::short_name(process.names[work.what[longest_gap.after]]))
                              : ""),
              shown.width) +
      "\n";
  std::vector<std::pair<std::uint32_t, Here>> rows(here.begin(), here.end());
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::abs(a.second.seconds - a.second.usual) > std::abs(b.second.seconds - b.second.usual);
  });
  const std::size_t count = shown.details ? rows.size() : std::min(shown.top, rows.size());
  TableColumn name{"kernel [blocks]", Align::left, {}}, calls{"calls", Align::right, {}, 1},
      now{"here", Align::right, {}};
  TableColumn usual{"usually", Align::right, {}}, change{"change", Align::right, {}, 2};
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [what, each] = rows[i];
    const timeline::WorkName& kernel = process.names[what];
    name.cells.push_back(kernel_label(kernel));
    calls.cells.push_back(std::to_string(each.calls));
    now.cells.push_back(seconds_text(each.seconds));
    usual.cells.push_back(seconds_text(each.usual));
    change.cells.push_back(each.usual > 0.0 ? change_text(each.seconds / each.usual - 1.0) : "");
  }
  text += fitted_table({name, calls, now, usual, change}, shown.width);
  if (count < rows.size()) text += fmt::format("{} more: --details\n", rows.size() - count);
  return text;
}

}  // namespace jitterscope
