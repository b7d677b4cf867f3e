#include "timeline/collectives.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

namespace jitterscope::timeline {
namespace {

constexpr std::size_t kFewest = 5;
// The kernels of a collective end together, but for the way of the last piece.
constexpr Time kEndTogether = 50'000;
constexpr double kEndTogetherShare = 0.1;  // of the shortest

struct Collective {
  std::string_view name;
  Span span;
};

struct Member {
  CollectiveWaits waits;
  std::vector<Collective> collectives;  // by their begin
  std::size_t next = 0;
};

Time overlap(const Span& a, const Span& b) { return std::min(a.end, b.end) - std::max(a.begin, b.begin); }

// The collective of that name that overlaps longest; the reference's come in the order of time.
std::optional<Span> counterpart(Member& member, const Collective& reference) {
  // Two communicators' kernels may overlap each other, so that an end may come before an earlier begin's.
  constexpr std::size_t kReach = 16;
  while (member.next + kReach < member.collectives.size() &&
         member.collectives[member.next + kReach].span.end < reference.span.begin)
    ++member.next;
  std::optional<Span> found;
  for (std::size_t i = member.next; i < member.collectives.size(); ++i) {
    const Collective& each = member.collectives[i];
    if (each.span.begin >= reference.span.end) break;
    const Time common = overlap(each.span, reference.span);
    if (each.name == reference.name && common > 0 && (!found || common > overlap(*found, reference.span)))
      found = each.span;
  }
  return found;
}

std::vector<Member> members_of(const Timeline& timeline) {
  std::vector<Member> members;
  for (std::size_t process = 0; process < timeline.processes.size(); ++process) {
    const std::vector<WorkName>& names = timeline.processes[process].names;
    std::vector<bool> is_collective;
    for (const WorkName& name : names)
      is_collective.push_back(name.kind == WorkKind::kernel && name.name.find("nccl") != std::string::npos);
    for (std::size_t device = 0; device < timeline.processes[process].devices.size(); ++device) {
      const DeviceWork& work = timeline.processes[process].devices[device];
      Member member{{process, device}, {}};
      for (std::size_t i = 0; i < work.size(); ++i) {
        if (is_collective[work.what[i]])
          member.collectives.push_back({names[work.what[i]].name, {work.begin[i], work.end[i]}});
      }
      if (!member.collectives.empty()) members.push_back(std::move(member));
    }
  }
  return members;
}

}  // namespace

std::vector<CollectiveWaits> collective_waits(const Timeline& timeline) {
  std::vector<Member> members = members_of(timeline);
  if (members.size() < 2) return {};
  const Member reference = *std::min_element(
      members.begin(), members.end(),
      [](const Member& a, const Member& b) { return a.collectives.size() < b.collectives.size(); });
  std::size_t found = 0;
  std::vector<Span> spans;
  for (const Collective& each : reference.collectives) {
    spans.clear();
    for (Member& member : members) {
      if (const std::optional<Span> span = counterpart(member, each)) spans.push_back(*span);
    }
    if (spans.size() < members.size()) continue;
    const auto [first, last] = std::minmax_element(
        spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.end < b.end; });
    const auto latest = std::max_element(spans.begin(), spans.end(),
                                         [](const Span& a, const Span& b) { return a.begin < b.begin; });
    if (last->end - first->end >
        std::max(kEndTogether, static_cast<Time>(kEndTogetherShare * static_cast<double>(latest->length()))))
      continue;
    ++found;
    for (std::size_t i = 0; i < members.size(); ++i)
      members[i].waits.seconds += static_cast<double>(latest->begin - spans[i].begin) * 1e-9;
    ++members[static_cast<std::size_t>(latest - spans.begin())].waits.last;
  }
  if (found < kFewest || 2 * found < reference.collectives.size()) return {};
  std::vector<CollectiveWaits> result;
  for (Member& member : members) {
    member.waits.collectives = found;
    result.push_back(member.waits);
  }
  return result;
}

}  // namespace jitterscope::timeline
