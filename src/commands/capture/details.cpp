#include "commands/capture/details.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>

#include "base/quantity_text.hpp"
#include "commands/capture/record.hpp"
#include "jitterscope/error.hpp"

namespace jitterscope {
namespace {

using timeline::Analysis;
using timeline::DeviceAnalysis;
using timeline::KernelVariation;
using timeline::Process;
using timeline::StepKind;
using timeline::Timeline;
using timeline::WorkKind;

std::string seconds_text(double seconds) { return time_text(Nanoseconds(seconds * 1e9)); }

const DeviceAnalysis& first_device(const Timeline& timeline, const Analysis& analysis) {
  if (!analysis.devices.empty()) return analysis.devices.front();
  throw UsageError(fmt::format("'{}' holds no work of a GPU", timeline.source));
}

}  // namespace

Text capture_kernels_text(const Timeline& timeline, const Analysis& analysis, const std::string& pattern,
                          const ShownPage& shown) {
  const DeviceAnalysis& device = first_device(timeline, analysis);
  const Process& process = timeline.processes[device.process];
  std::regex expression;
  try {
    expression = std::regex(pattern, std::regex::ECMAScript | std::regex::icase);
  } catch (const std::regex_error&) {
    throw UsageError(fmt::format("--kernel: '{}' is no regular expression", pattern));
  }
  Text text;
  for (const KernelVariation& kernel : device.variation.kernels) {
    const timeline::WorkName& name = process.names[kernel.what];
    const std::string full = timeline::full_name(name);
    if (!std::regex_search(full, expression)) continue;
    std::vector<std::string> lines;
    if (name.kind == WorkKind::kernel) {
      lines.push_back(fmt::format("{} × {} × {} blocks of {} × {} × {} threads", name.grid[0], name.grid[1],
                                  name.grid[2], name.block[0], name.block[1], name.block[2]));
    }
    lines.push_back(
        fmt::format("{} calls{}, {} in all ({} of the GPU's time)", kernel.calls,
                    kernel.calls_per_step > 0.0 ? fmt::format(", {:.3g} a step", kernel.calls_per_step) : "",
                    seconds_text(kernel.seconds), percent_text(kernel.share)));
    lines.push_back(
        fmt::format("median {}, 5th to 95th percentile {}", seconds_text(kernel.median),
                    time_range_text(Nanoseconds(kernel.p5 * 1e9), Nanoseconds(kernel.p95 * 1e9))));
    for (const timeline::FollowedCause& cause : kernel.follows) {
      lines.push_back(fmt::format("follows {} {}: {} ({} to {})", timeline::to_string(cause.what),
                                  percent_text(cause.share), time_change_text(cause.effect),
                                  change_text(cause.interval.low), change_text(cause.interval.high)));
    }
    if (kernel.follows.empty()) {
      lines.emplace_back(kernel.rest ? "nothing was seen that it follows"
                                     : "too few calls in whole steps to say what it follows");
    }
    if (kernel.rest) lines.push_back(fmt::format("what is left varies by {}", percent_text(*kernel.rest)));
    if (!text.empty()) text += "\n";
    text += wrapped(fmt::format("**{}**", one_line(full)), shown.width, 2);
    for (const std::string& line : lines) text += list_item(line, shown.width);
  }
  if (text.empty()) throw UsageError(fmt::format("--kernel: no kernel's name matches '{}'", pattern));
  return text;
}

Text capture_step_text(const Timeline& timeline, const Analysis& analysis, std::optional<std::size_t> number,
                       const ShownPage& shown) {
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
  Text text = wrapped(
      fmt::format("**Step {} of {}**: {} ({} to the median of its kind, {}), {} after the first.", index + 1,
                  steps.size(), seconds_text(length), change_text(length / kind.seconds - 1.0),
                  seconds_text(kind.seconds), seconds_text(seconds_of({steps.front().begin, step.begin}))),
      shown.width);
  if (const auto& levels = device.slow.levels) {
    text += wrapped(fmt::format("From step {} on all steps take {} ({}, was {}).", levels->step + 1,
                                time_change_text(levels->after.median / levels->before.median - 1.0),
                                seconds_text(levels->after.median), seconds_text(levels->before.median)),
                    shown.width);
  }
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
  timeline::for_each_gap(work, [&](const timeline::Gap& gap) {
    if (gap.span.end <= step.begin || gap.span.begin >= step.end) return;
    const timeline::Span within{std::max(gap.span.begin, step.begin), std::min(gap.span.end, step.end)};
    idle += seconds_of(within);
    if (within.length() > longest_gap.span.length()) longest_gap = {within, gap.before, gap.after};
  });
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
  const std::size_t count =
      shown.details ? rows.size() : std::min<std::size_t>(shown.top.value_or(8), rows.size());
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
  text += table_for({name, calls, now, usual, change}, shown);
  if (count < rows.size()) text += fmt::format("{} more: --details\n", rows.size() - count);
  return text;
}

}  // namespace jitterscope
