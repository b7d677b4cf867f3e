// Operations that stand for what people time, in types that the device has.
#pragma once

#include <vector>

#include "base/random.hpp"
#include "jitterscope/device.hpp"

namespace jitterscope::selftest {

/// A convolution, a copy and a product, all over 20 µs on an H200: shorter ones differ between processes by
/// more than any interval of one process can hold.
std::vector<Operation> sample_operations(const DeviceDescription& device);

/// The short product, of which launch and kernel are equally long.
Operation short_product(const DeviceDescription& device);

/// One of the kinds of layers, of any size and type that 2 GiB hold.
Operation random_operation(Random& random);

}  // namespace jitterscope::selftest
