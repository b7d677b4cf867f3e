// A simulated GPU in virtual time behind the interface of every device. Its truth is known, but measuring and
// analysing code sees no more of it than of a real GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "device/virtual/cluster_link.hpp"
#include "jitterscope/device.hpp"
#include "physics/machine.hpp"

namespace jitterscope::virtual_gpu {

class VirtualDevice : public Device {
 public:
  /// Called with the true times of each workload's launch, not of helper kernels.
  std::function<void(const physics::Execution&)> on_launch;
  /// Called with the true times of each collective.
  std::function<void(const CollectiveTimes&)> on_collective;
};

/// `id` is for describe(). `seed` starts the random streams. A rank of a cluster is the one that it joins as,
/// if `rank` names none.
std::unique_ptr<VirtualDevice> make_virtual_device(const physics::Parameters& parameters, std::uint64_t seed,
                                                   std::string_view id = "virtual",
                                                   std::optional<std::int64_t> rank = {});

/// Opens `virtual`, `virtual:PRESET` or `virtual:FILE.toml`, with `,without=MECHANISM+MECHANISM` to switch
/// mechanisms off, and `,rank=N` to be that one of a cluster. Throws UsageError that names the nearest preset
/// or mechanism.
std::unique_ptr<VirtualDevice> open_virtual_device(std::string_view name, std::uint64_t seed);

/// Returns the parameters that such a name means. Throws likewise.
physics::Parameters parameters_of(std::string_view name);

/// For lists of devices: what it is, and its presets.
std::string virtual_device_summary();

}  // namespace jitterscope::virtual_gpu
