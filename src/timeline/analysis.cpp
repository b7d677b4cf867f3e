#include "timeline/analysis.hpp"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>

#include "jitterscope/error.hpp"

namespace jitterscope::timeline {
namespace {

std::string demangled(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text != nullptr ? std::string(text.get()) : name;
}

// Takes "7cutlass6Kernel…" as "cutlass::Kernel" from the front.
std::string take_mangled_names(std::string_view& rest) {
  std::string names;
  while (!rest.empty() && rest.front() >= '1' && rest.front() <= '9') {
    std::size_t length = 0, digits = 0;
    const auto is_digit = [&] { return digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; };
    while (is_digit() && length < rest.size())
      length = 10 * length + static_cast<std::size_t>(rest[digits++] - '0');
    if (length > rest.size() - digits) break;
    if (!names.empty()) names += "::";
    names += rest.substr(digits, length);
    rest.remove_prefix(digits + length);
  }
  return names;
}

// The demangler gives up on some kernels of cuDNN: their own name and that of their first argument are
// written out in it.
std::string readable(const std::string& mangled) {
  std::string_view rest(mangled);
  if (!rest.starts_with("_Z")) return mangled;
  rest.remove_prefix(rest.starts_with("_ZN") ? 3 : 2);
  std::string names = take_mangled_names(rest);
  if (names.empty()) return mangled;
  if (!rest.starts_with("I")) return names;
  rest.remove_prefix(1);
  if (rest.starts_with("N")) rest.remove_prefix(1);
  if (rest.starts_with("S") && rest.find('_') < 4)
    rest.remove_prefix(rest.find('_') + 1);  // S1_: a name again
  const std::string argument = take_mangled_names(rest);
  return argument.empty() ? names : names + '<' + argument + '<';
}

// The name without what stands before and behind it: "Kernel" of "cutlass::Kernel<…>(…)".
std::string own_name(std::string_view text) {
  text = text.substr(0, text.find_first_of("<(,>"));
  const std::size_t space = text.rfind("::");
  return std::string(space == std::string_view::npos ? text : text.substr(space + 2));
}

std::string_view memory_text(capture::MemoryKind kind) {
  switch (kind) {
    case capture::MemoryKind::pageable: return "pageable memory";
    case capture::MemoryKind::pinned: return "pinned memory";
    case capture::MemoryKind::device: return "the GPU";
    case capture::MemoryKind::array: return "an array";
    case capture::MemoryKind::managed: return "managed memory";
    case capture::MemoryKind::none: break;
  }
  return "memory";
}

std::vector<CopySummary> copies_of(const Process& process, const DeviceWork& work, const Overlap& overlap) {
  std::map<std::uint32_t, CopySummary> summaries;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const WorkKind kind = process.names[work.what[i]].kind;
    if (kind != WorkKind::copy && kind != WorkKind::set) continue;
    CopySummary& each = summaries[work.what[i]];
    each.what = work.what[i];
    ++each.count;
    const auto seconds = static_cast<double>(work.end[i] - work.begin[i]) * 1e-9;
    each.seconds += seconds;
    if (!work.bytes.empty()) each.bytes += static_cast<double>(work.bytes[i]);
    if (!overlap.kernels.empty()) each.beside_kernels += seconds * static_cast<double>(overlap.kernels[i]);
  }
  std::vector<CopySummary> result;
  for (auto& [what, each] : summaries) {
    if (each.seconds > 0.0) each.beside_kernels /= each.seconds;
    result.push_back(each);
  }
  std::sort(result.begin(), result.end(),
            [](const CopySummary& a, const CopySummary& b) { return a.seconds > b.seconds; });
  return result;
}

DeviceAnalysis analyse_device(const Timeline& timeline, std::size_t process_index, std::size_t device_index,
                              const std::string& range) {
  const Process& process = timeline.processes[process_index];
  const DeviceWork& work = process.devices[device_index];
  DeviceAnalysis result;
  result.process = process_index;
  result.device = device_index;
  result.seconds = static_cast<double>(work.span().length()) * 1e-9;
  std::vector<std::size_t> calls(process.names.size());
  for (const std::uint32_t what : work.what) ++calls[what];
  for (std::size_t what = 0; what < calls.size(); ++what) {
    const WorkKind kind = process.names[what].kind;
    (kind == WorkKind::copy  ? result.copies
     : kind == WorkKind::set ? result.sets
                             : result.kernels) += calls[what];
    if (kind != WorkKind::kernel || calls[what] == 0) continue;
    ++result.names;
    if (process.names[what].audit != capture::NameAudit::none) ++result.audited;
    if (process.names[what].audit == capture::NameAudit::corrected) ++result.corrected;
  }
  // A capture of ranges was made for the sake of these.
  const std::string recorded = timeline.info ? timeline.info->settings.ranges : "";
  if (!range.empty())
    result.steps = steps_of_ranges(process, work, range);
  else if (!recorded.empty() && comes_again(process, recorded))
    result.steps = steps_of_ranges(process, work, recorded);
  else
    result.steps = find_steps(process, work);
  // A program loads and tunes before its first step: how busy the GPU is then is another question.
  const Span within = result.steps.were_found()
                          ? Span{result.steps.steps.front().begin, result.steps.steps.back().end}
                          : work.span();
  result.idle = idle_of(process, work, within);
  const Overlap overlap = overlap_of(process, work);
  result.variation = variation_of(timeline, process, work, result.steps, overlap);
  if (result.steps.were_found()) result.slow = slow_steps_of(process, work, result.steps);
  result.copy_summary = copies_of(process, work, overlap);
  result.cost = recording_cost(process, within);
  return result;
}

}  // namespace

std::string full_name(const WorkName& name) {
  switch (name.kind) {
    case WorkKind::kernel: return demangled(name.name);
    case WorkKind::graph: return name.name;
    case WorkKind::copy:
      return fmt::format("copy from {} to {}", memory_text(name.from), memory_text(name.to));
    case WorkKind::set: return fmt::format("memset on {}", memory_text(name.to));
  }
  return name.name;
}

std::string short_name(const WorkName& name) {
  std::string text = full_name(name);
  if (name.kind != WorkKind::kernel) return text;
  // Before the arguments of the function and of its templates; an operator's name may hold brackets of its
  // own.
  if (text.starts_with("void ")) text.erase(0, 5);
  const std::size_t anonymous_length = std::string_view("(anonymous namespace)::").size();
  for (std::size_t at = 0; (at = text.find("(anonymous namespace)::", at)) != std::string::npos;)
    text.erase(at, anonymous_length);
  text = readable(text);
  std::string own = own_name(std::string_view(text).substr(0, text.find_first_of("<(")));
  // CUTLASS names all its kernels so, and tells them apart by their argument.
  constexpr std::array<std::string_view, 3> kOfAll = {"Kernel", "Kernel2", "device_kernel"};
  const std::size_t arguments = text.find('<');
  if (arguments != std::string::npos && std::ranges::find(kOfAll, std::string_view(own)) != kOfAll.end()) {
    if (std::string argument = own_name(std::string_view(text).substr(arguments + 1)); !argument.empty())
      own = std::move(argument);
  }
  return own.empty() ? full_name(name) : own;
}

bool converts_layout(const WorkName& name) {
  return name.name.find("nchwToNhwc") != std::string::npos ||
         name.name.find("nhwcToNchw") != std::string::npos;
}

std::optional<RecordedUse> recorded_use(const Timeline& timeline) {
  std::optional<RecordedUse> result;
  double most = 0.0;
  for (const Process& process : timeline.processes) {
    for (const DeviceWork& work : process.devices) {
      const Idle idle = idle_of(process, work, work.span());
      if (idle.busy_seconds <= most) continue;
      most = idle.busy_seconds;
      RecordedUse use{.length = Nanoseconds(static_cast<double>(work.span().length())),
                      .busy = 1.0 - idle.idle_share()};
      double all = 0.0, conversions = 0.0;
      for (std::size_t i = 0; i < work.size(); ++i) {
        const auto length = static_cast<double>(work.end[i] - work.begin[i]);
        all += length;
        if (converts_layout(process.names[work.what[i]])) conversions += length;
      }
      use.conversions = all > 0.0 ? conversions / all : 0.0;
      for (std::size_t i = 0; i < kIdleCauses; ++i) {
        if (idle.shares[i] > 0.0) {
          use.idle.push_back(
              {std::string(to_string(static_cast<IdleCause>(i))), idle.shares[i] * idle.idle_share()});
        }
      }
      std::stable_sort(use.idle.begin(), use.idle.end(),
                       [](const auto& a, const auto& b) { return a.share > b.share; });
      result = std::move(use);
    }
  }
  return result;
}

std::optional<RecordingCost> recording_cost(const Process& process, Span within) {
  const capture::LaunchCounts& counts = process.launch_counts;
  if (counts.time.size() < 10) return std::nullopt;
  const auto launches_at = [&](Time time) {
    const auto next = static_cast<std::size_t>(
        std::upper_bound(counts.time.begin(), counts.time.end(), time) - counts.time.begin());
    if (next == 0) return static_cast<double>(counts.launches.front());
    if (next == counts.time.size()) return static_cast<double>(counts.launches.back());
    const double part = static_cast<double>(time - counts.time[next - 1]) /
                        static_cast<double>(counts.time[next] - counts.time[next - 1]);
    return static_cast<double>(counts.launches[next - 1]) +
           part *
               (static_cast<double>(counts.launches[next]) - static_cast<double>(counts.launches[next - 1]));
  };
  const auto rate = [&](Time from, Time to) {
    return (launches_at(to) - launches_at(from)) / static_cast<double>(std::max<Time>(to - from, 1));
  };
  constexpr Time kEdge = 200'000'000;  // what was queued before a window began still runs in it
  std::vector<double> costs, nulls;
  for (std::size_t i = 1; i + 1 < process.windows.size(); ++i) {
    const RecordedWindow &before = process.windows[i - 1], &off = process.windows[i],
                         &after = process.windows[i + 1];
    const Time length = off.span.length() - 2 * kEdge;
    if (off.detail != capture::Detail::off || off.between_ranges || before.detail != capture::Detail::light ||
        after.detail != capture::Detail::light || length <= 0 || before.span.length() < 3 * length + kEdge ||
        after.span.length() < length + 2 * kEdge) {
      continue;
    }
    if (off.span.begin - kEdge - 3 * length < within.begin || off.span.end + kEdge + length > within.end)
      continue;
    // The stretch before and the one behind are as long: a trend of the program's own falls out.
    const double without = rate(off.span.begin + kEdge, off.span.end - kEdge);
    const double earlier = rate(off.span.begin - kEdge - length, off.span.begin - kEdge);
    const double later = rate(off.span.end + kEdge, off.span.end + kEdge + length);
    const double middle = rate(off.span.begin - kEdge - 2 * length, off.span.begin - kEdge - length);
    const double first = rate(off.span.begin - kEdge - 3 * length, off.span.begin - kEdge - 2 * length);
    if (without > 0.0 && earlier > 0.0 && later > 0.0)
      costs.push_back(std::log(without) - 0.5 * (std::log(earlier) + std::log(later)));
    if (middle > 0.0 && first > 0.0 && earlier > 0.0)
      nulls.push_back(std::log(middle) - 0.5 * (std::log(first) + std::log(earlier)));
  }
  if (costs.size() < 2) return std::nullopt;
  RecordingCost cost;
  // A pause of the program's own lies in one window of many: the median passes over it.
  const std::optional<statistics::Interval> around_median = statistics::order_statistic_interval(costs);
  const statistics::MeanInterval mean = statistics::mean_interval(costs);
  const statistics::Interval interval = around_median.value_or(mean.interval);
  cost.ratio = std::expm1(around_median ? statistics::median(costs) : mean.mean);
  cost.interval = {std::expm1(interval.low), std::expm1(interval.high)};
  cost.windows = costs.size();
  if (nulls.size() >= 2) cost.null_ratio = std::expm1(statistics::median(nulls));
  return cost;
}

Analysis analyse(const Timeline& timeline, const AnalysisChoice& choice) {
  Analysis analysis;
  bool has_rank = false;
  for (std::size_t process = 0; process < timeline.processes.size(); ++process) {
    if (choice.rank && timeline.processes[process].rank != choice.rank) continue;
    has_rank = true;
    for (std::size_t device = 0; device < timeline.processes[process].devices.size(); ++device) {
      analysis.devices.push_back(analyse_device(timeline, process, device, choice.range));
    }
  }
  if (choice.rank && !has_rank) {
    std::vector<std::string> ranks;
    for (const Process& process : timeline.processes) {
      if (process.rank) ranks.push_back(std::to_string(*process.rank));
    }
    throw UsageError(fmt::format("no process had rank {}; the ranks of this capture: {}", *choice.rank,
                                 ranks.empty() ? "none" : fmt::format("{}", fmt::join(ranks, ", "))));
  }
  for (const CollectiveWaits& waits : collective_waits(timeline)) {
    for (DeviceAnalysis& each : analysis.devices) {
      if (each.process == waits.process && each.device == waits.device) each.waits = waits;
    }
  }
  std::stable_sort(analysis.devices.begin(), analysis.devices.end(),
                   [](const DeviceAnalysis& a, const DeviceAnalysis& b) {
                     return a.idle.busy_seconds > b.idle.busy_seconds;
                   });
  return analysis;
}

}  // namespace jitterscope::timeline
