// A simulated GPU in virtual time behind the interface of every device. Its truth is known; what measures and
// analyses sees no more of it than of a real one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "jitterscope/device.hpp"
#include "physics/machine.hpp"

namespace jitterscope::virtual_gpu {

class VirtualDevice : public Device {
 public:
  /// Told of each launch of a workload as it really ran (helper kernels are left out).
  std::function<void(const physics::Execution&)> on_launch;
};

/// `id` is what describe() calls it. Streams of random numbers start at the seed.
std::unique_ptr<VirtualDevice> make_virtual_device(const physics::Parameters& parameters, std::uint64_t seed,
                                                   std::string_view id = "virtual");

/// Opens `virtual`, `virtual:PRESET` or `virtual:FILE.toml`, with `,without=MECHANISM+MECHANISM` to switch
/// mechanisms off. Throws UsageError that names the nearest preset or mechanism.
std::unique_ptr<VirtualDevice> open_virtual_device(std::string_view name, std::uint64_t seed);

/// What such a name stands for. Throws likewise.
physics::Parameters parameters_of(std::string_view name);

/// For lists of devices: what it is, and its presets.
std::string virtual_device_summary();

}  // namespace jitterscope::virtual_gpu
