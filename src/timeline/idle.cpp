#include "timeline/idle.hpp"

#include <algorithm>
#include <numeric>

namespace jitterscope::timeline {

using capture::CallKind;
using capture::Detail;
using capture::OverheadKind;

std::string_view to_string(IdleCause cause) {
  switch (cause) {
    case IdleCause::allocation: return "memory taken or given back";
    case IdleCause::loading: return "modules loaded";
    case IdleCause::synchronization: return "synchronization";
    case IdleCause::between_kernels: return "between kernels";
    case IdleCause::launch: return "launch";
    case IdleCause::other_stream: return "waiting for another stream";
    case IdleCause::host_elsewhere: return "host elsewhere";
    case IdleCause::unknown: return "unknown";
  }
  return "";
}

bool Idle::has_causes() const {
  return std::any_of(shares.begin(), shares.end() - 1, [](double share) { return share > 0.0; });
}

GapCauses::GapCauses(const Process& process, const DeviceWork& work) : work_(work) {
  const capture::Calls& calls = process.calls;
  for (std::size_t i = 0; i < calls.start.size(); ++i) {
    const Call call{calls.start[i], calls.start[i] + calls.duration[i], static_cast<CallKind>(calls.kind[i])};
    longest_ = std::max(longest_, call.end - call.begin);
    all_.push_back(call);
    if (call.kind == CallKind::allocation) allocations_.push_back(call);
    if (call.kind == CallKind::load) loads_.push_back(call);
    if (call.kind == CallKind::wait) waits_.push_back(call);
    if (call.kind == CallKind::launch || call.kind == CallKind::copy) {
      launches_.emplace_back(calls.correlation[i], call.begin);
    }
  }
  const capture::Overheads& overheads = process.overheads;
  for (std::size_t i = 0; i < overheads.start.size(); ++i) {
    const auto kind = static_cast<OverheadKind>(overheads.kind[i]);
    if (kind != OverheadKind::module_load && kind != OverheadKind::lazy_load &&
        kind != OverheadKind::compiler)
      continue;
    loads_.push_back({overheads.start[i], overheads.start[i] + overheads.duration[i], CallKind::load});
    longest_ = std::max(longest_, overheads.duration[i]);
  }
  for (std::vector<Call>* list : {&allocations_, &loads_, &waits_, &all_}) {
    std::sort(list->begin(), list->end(), [](const Call& a, const Call& b) { return a.begin < b.begin; });
  }
  // A runtime's call and the driver's call within it share a number: the earlier one counts.
  std::sort(launches_.begin(), launches_.end());
  launches_.erase(std::unique(launches_.begin(), launches_.end(),
                              [](const auto& a, const auto& b) { return a.first == b.first; }),
                  launches_.end());
}

bool GapCauses::any(const std::vector<Call>& calls, Time from, Time to) const {
  auto call = std::lower_bound(calls.begin(), calls.end(), from - longest_,
                               [](const Call& each, Time time) { return each.begin < time; });
  for (; call != calls.end() && call->begin < to; ++call) {
    if (call->end > from) return true;
  }
  return false;
}

IdleCause GapCauses::of(const Gap& gap) const {
  if (all_.empty() || gap.span.begin < all_.front().begin || gap.span.begin > all_.back().end)
    return IdleCause::unknown;
  if (any(allocations_, gap.span.begin, gap.span.end)) return IdleCause::allocation;
  if (any(loads_, gap.span.begin, gap.span.end)) return IdleCause::loading;
  const std::uint32_t correlation = work_.correlation[gap.after];
  const auto launch = std::lower_bound(launches_.begin(), launches_.end(), std::pair(correlation, Time{0}));
  const bool is_known = correlation != 0 && launch != launches_.end() && launch->first == correlation;
  const Time launched = is_known ? launch->second : gap.span.end;
  constexpr Time kBetweenKernels = 10'000;
  if (is_known && launched <= gap.span.begin) {
    if (gap.span.length() <= kBetweenKernels) return IdleCause::between_kernels;
    // A launch takes some microseconds from its call to its begin: what was called just before is a launch's
    // own time.
    constexpr Time kOnItsWay = 20'000;
    return gap.span.end - launched <= kOnItsWay ? IdleCause::launch : IdleCause::other_stream;
  }
  // A wait that ended within the gap, before the launch: the thread saw the GPU's end first, and launched
  // then.
  const auto waited = [&] {
    auto wait = std::lower_bound(waits_.begin(), waits_.end(), gap.span.begin - longest_,
                                 [](const Call& each, Time time) { return each.begin < time; });
    for (; wait != waits_.end() && wait->begin < launched; ++wait) {
      if (wait->begin <= gap.span.begin && wait->end >= gap.span.begin && wait->end <= launched) return true;
    }
    return false;
  };
  // Half of the gap without any call: the program was elsewhere, whether or not it had waited before.
  Time in_calls = 0, reached = gap.span.begin;
  auto call = std::lower_bound(all_.begin(), all_.end(), gap.span.begin - longest_,
                               [](const Call& each, Time time) { return each.begin < time; });
  for (; call != all_.end() && call->begin < gap.span.end; ++call) {
    const Time from = std::max(call->begin, reached), to = std::min(call->end, gap.span.end);
    if (to > from) {
      in_calls += to - from;
      reached = to;
    }
  }
  if (2 * in_calls < gap.span.length() && gap.span.length() > 20'000) return IdleCause::host_elsewhere;
  if (waited()) return IdleCause::synchronization;
  return is_known ? IdleCause::launch : IdleCause::unknown;
}

Idle idle_of(const Process& process, const DeviceWork& work, Span within) {
  Idle idle;
  const GapCauses causes(process, work);
  std::size_t next = 0;  // gaps and windows are in the order of time
  const auto detail_of = [&](const Gap& gap) {
    const std::vector<RecordedWindow>& windows = process.windows;
    if (windows.empty()) return process.calls.start.empty() ? Detail::light : Detail::full;
    while (next < windows.size() && windows[next].span.end < gap.span.end) ++next;
    // On the edge of two, part of what happened is not known.
    return next < windows.size() && windows[next].span.begin <= gap.span.begin ? windows[next].detail
                                                                               : Detail::off;
  };
  double all = 0.0;
  Time gone = 0;
  for_each_gap(work, [&](const Gap& gap) {
    if (gap.span.begin < within.begin || gap.span.end > within.end) return;
    const Detail detail = detail_of(gap);
    const auto seconds = static_cast<double>(gap.span.length()) * 1e-9;
    if (detail == Detail::off) {
      gone += gap.span.length();
      return;
    }
    idle.idle_seconds += seconds;
    if (detail != Detail::full) return;
    idle.shares[static_cast<std::size_t>(causes.of(gap))] += seconds;
    all += seconds;
  });
  // Sums of long times are rounded.
  idle.busy_seconds = std::max(0.0, static_cast<double>(within.length() - gone) * 1e-9 - idle.idle_seconds);
  for (double& share : idle.shares) share = all > 0.0 ? share / all : 0.0;
  idle.windows = static_cast<std::size_t>(
      std::count_if(process.windows.begin(), process.windows.end(),
                    [](const RecordedWindow& window) { return window.detail == Detail::full; }));
  if (process.windows.empty() && !process.calls.start.empty()) idle.windows = 1;
  return idle;
}

}  // namespace jitterscope::timeline
