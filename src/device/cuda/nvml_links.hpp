// Links of a GPU to others and to the host, as NVML has them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/nvml.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::cuda {

struct NvLinks {
  int links = 0, active = 0;
  std::optional<unsigned> version;                  ///< of the active links; the lowest if they differ
  std::optional<unsigned long long> replay_errors;  ///< of all links, since the driver was loaded
};

/// nullopt if the GPU has no NVLink, or NVML does not tell.
std::optional<NvLinks> nv_links(const NvmlDevice& gpu);

/// Describes the GPU's links, for DeviceDescription::properties: nvlinks, nvlinks_active, nvlink_version,
/// nvlink_replay_errors, pcie_generation, pcie_width, pcie_maximum_generation, pcie_maximum_width (the
/// largest that GPU and slot have both), fabric_state. Leaves out what NVML does not tell. An idle GPU lowers
/// the generation to save power, never the width.
std::vector<Property> link_properties(const NvmlDevice& gpu);

/// How one GPU reaches another one of the same machine. Texts are words in snake_case; nullopt: NVML does not
/// tell.
struct GpuPair {
  int nvlinks = 0;  ///< active links of the first one that lead to the second, or to a switch
  /// "ok", or why not: chipset, gpu, topology, switched_off, not_supported, unknown.
  std::optional<std::string> reads = {}, writes = {}, atomics = {};
  /// Where their ways to the host meet: same_board, one_switch, several_switches, host_bridge, node, system.
  std::optional<std::string> meet_at = {};
  bool operator==(const GpuPair&) const = default;
};

GpuPair describe_pair(const NvmlDevice& first, const NvmlDevice& second);

/// Returns the pair in few words, for a matrix of links: "NV18", or without NVLink "host_bridge", with
/// ", no peer access" where neither may read the other's memory; "unknown".
std::string words_of(const GpuPair& pair);

}  // namespace jitterscope::cuda
