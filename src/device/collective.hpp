// The elements that the ranks of a collective hold before and after it. Every rank can tell the inputs of all
// others, so it knows its own result without asking.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jitterscope/device.hpp"

namespace jitterscope {

/// Elements after which a rank's input repeats itself, so that a device need not be given more: a prime, so
/// that a part in the place of another, or one that is shifted, does not look the same.
inline constexpr std::int64_t kInputPeriod = 65521;

/// Element `index` of the x of `rank`, in the type and data that `data` says: small whole numbers whose sums
/// are exact in the type in any order; powers of two for products. Depends on nothing but its arguments, so
/// it can be computed for one element alone. `collective` names its ranks.
double collective_input(const Collective& collective, const RankData& data, std::int64_t rank,
                        std::int64_t index);

/// Element `index` of what a rank holds in the memory of x before a launch. nullopt where it is to be the
/// pattern of poison_outputs: in place, parts and buffers that others fill.
std::optional<double> collective_content(const Collective& collective, const RankData& data,
                                         std::int64_t index);

/// Element `index` of what a launch leaves in y, or in x if it is in place. nullopt where nothing is
/// promised: what a reduction leaves on ranks that are not its root, or outside of a rank's own part.
std::optional<double> collective_result(const Collective& collective, const RankData& data,
                                        std::int64_t index);

/// The error that an element may have, relative to its value: 0 but for averages, which divide.
double collective_tolerance(const Collective& collective);

/// Returns the settings of NCCL in this process's environment, by name.
std::vector<Property> nccl_settings();
/// Returns "NCCL 2.28.9"; empty if the device has none that works.
std::string nccl_of(const DeviceDescription& device);

/// Text that is equal on two ranks that launch the same on the same data.
std::string collective_order(const Collective& collective, const RankData& data);

}  // namespace jitterscope
