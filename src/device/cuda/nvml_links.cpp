#include "device/cuda/nvml_links.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace jitterscope::cuda {
namespace {

using namespace nvml;

constexpr unsigned kMostLinks = 36;  // NVML_NVLINK_MAX_LINKS of the newest header; an H200 has 18

// Returns whether the link is active; nullopt if there is no such link.
std::optional<bool> is_active(const NvmlDevice& gpu, unsigned link) {
  const auto state = read<int>(gpu.functions().nvmlDeviceGetNvLinkState, gpu.handle(), link);
  return state ? std::optional(*state != 0) : std::nullopt;
}

template <class Number>
using Word = std::pair<Number, const char*>;

template <class Number, std::size_t count>
std::string word_for(Number number, const std::array<Word<Number>, count>& words) {
  const auto* const word =
      std::ranges::find_if(words, [&](const Word<Number>& each) { return each.first == number; });
  return word == words.end() ? "unknown" : word->second;
}

constexpr std::array<Word<int>, 6> kPeerWords = {{{kPeerOk, "ok"},
                                                  {kPeerNotByChipset, "chipset"},
                                                  {kPeerNotByGpu, "gpu"},
                                                  {kPeerNotByTopology, "topology"},
                                                  {kPeerSwitchedOff, "switched_off"},
                                                  {kPeerNotSupported, "not_supported"}}};
constexpr std::array<Word<int>, 6> kMeetingWords = {{{kSameBoard, "same_board"},
                                                     {kOneSwitch, "one_switch"},
                                                     {kSeveralSwitches, "several_switches"},
                                                     {kHostBridge, "host_bridge"},
                                                     {kNode, "node"},
                                                     {kSystem, "system"}}};
constexpr std::array<Word<std::uint8_t>, 4> kFabricWords = {{{kNoFabric, "none"},
                                                             {kFabricNotStarted, "not_started"},
                                                             {kFabricInProgress, "in_progress"},
                                                             {kFabricReady, "ready"}}};

std::optional<std::string> fabric_state(const NvmlDevice& gpu) {
  const auto fabric = read<FabricInfo>(gpu.functions().nvmlDeviceGetGpuFabricInfo, gpu.handle());
  if (!fabric) return std::nullopt;
  if (fabric->state == kFabricReady && fabric->status != kSuccess)
    return fmt::format("failed ({})", gpu.library().words(fabric->status));
  return word_for(fabric->state, kFabricWords);
}

// Behind a switch every GPU of the machine is reached by all links.
bool leads_to(const NvmlDevice& from, unsigned link, const std::string& bus_id) {
  const auto& functions = from.functions();
  const auto type = read<int>(functions.nvmlDeviceGetNvLinkRemoteDeviceType, from.handle(), link);
  if (type == kRemoteSwitch) return true;
  const auto remote = read<PciInfo>(functions.nvmlDeviceGetNvLinkRemotePciInfo_v2, from.handle(), link);
  return remote && !bus_id.empty() && remote->bus_id == bus_id;
}

std::optional<std::string> peer_status(const NvmlDevice& from, const NvmlDevice& to, PeerAbility ability) {
  const auto status = read<int>(from.functions().nvmlDeviceGetP2PStatus, from.handle(), to.handle(),
                                static_cast<int>(ability));
  return status ? std::optional(word_for(*status, kPeerWords)) : std::nullopt;
}

}  // namespace

std::optional<NvLinks> nv_links(const NvmlDevice& gpu) {
  const auto& functions = gpu.functions();
  NvLinks all;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    const auto active = is_active(gpu, link);
    if (!active) continue;
    ++all.links;
    const auto replays = read<unsigned long long>(functions.nvmlDeviceGetNvLinkErrorCounter, gpu.handle(),
                                                  link, static_cast<int>(kReplays));
    if (replays) all.replay_errors = all.replay_errors.value_or(0) + *replays;
    if (!*active) continue;
    ++all.active;
    const auto version = read<unsigned>(functions.nvmlDeviceGetNvLinkVersion, gpu.handle(), link);
    if (version) all.version = std::min(all.version.value_or(*version), *version);
  }
  return all.links > 0 ? std::optional(all) : std::nullopt;
}

std::vector<Property> link_properties(const NvmlDevice& gpu) {
  std::vector<Property> list;
  const auto add = [&](const char* key, const auto& value) {
    if (value) list.push_back({key, fmt::format("{}", *value)});
  };
  const auto& functions = gpu.functions();
  if (const auto links = nv_links(gpu)) {
    add("nvlinks", std::optional(links->links));
    add("nvlinks_active", std::optional(links->active));
    add("nvlink_version", links->version);
    add("nvlink_replay_errors", links->replay_errors);
  }
  add("pcie_generation", read<unsigned>(functions.nvmlDeviceGetCurrPcieLinkGeneration, gpu.handle()));
  add("pcie_width", read<unsigned>(functions.nvmlDeviceGetCurrPcieLinkWidth, gpu.handle()));
  add("pcie_maximum_generation", read<unsigned>(functions.nvmlDeviceGetMaxPcieLinkGeneration, gpu.handle()));
  add("pcie_maximum_width", read<unsigned>(functions.nvmlDeviceGetMaxPcieLinkWidth, gpu.handle()));
  add("fabric_state", fabric_state(gpu));
  return list;
}

GpuPair describe_pair(const NvmlDevice& first, const NvmlDevice& second) {
  GpuPair pair;
  const auto second_pci = read<PciInfo>(second.functions().nvmlDeviceGetPciInfo_v3, second.handle());
  const std::string bus_id = second_pci ? second_pci->bus_id : "";
  for (unsigned link = 0; link < kMostLinks; ++link) {
    if (is_active(first, link).value_or(false) && leads_to(first, link, bus_id)) ++pair.nvlinks;
  }
  pair.reads = peer_status(first, second, kPeerReads);
  pair.writes = peer_status(first, second, kPeerWrites);
  pair.atomics = peer_status(first, second, kPeerAtomics);
  const auto ancestor =
      read<int>(first.functions().nvmlDeviceGetTopologyCommonAncestor, first.handle(), second.handle());
  if (ancestor) pair.meet_at = word_for(*ancestor, kMeetingWords);
  return pair;
}

std::string words_of(const GpuPair& pair) {
  const std::string way =
      pair.nvlinks > 0 ? fmt::format("NV{}", pair.nvlinks) : pair.meet_at.value_or("unknown");
  const bool has_access = !pair.reads || *pair.reads == "ok";
  return has_access ? way : way + ", no peer access";
}

}  // namespace jitterscope::cuda
