// What the CUPTI without a GPU lets a test do.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace jitterscope::stand_in {

/// Its functions for tests, to be looked up by these names.
inline constexpr char kCallName[] = "stand_in_cupti_call", kAddName[] = "stand_in_cupti_add";

/// A call to the driver or the runtime: the subscriber's callback is called if its domain is enabled.
using Call = void (*)(CUpti_CallbackDomain, CUpti_CallbackId, std::uint32_t correlation,
                      const void* parameters);
/// A record that the next flush gives.
using Add = void (*)(const void* record, std::size_t size);

}  // namespace jitterscope::stand_in
