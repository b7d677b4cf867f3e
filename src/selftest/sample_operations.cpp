#include "selftest/sample_operations.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace jitterscope::selftest {
namespace {

DataType usual_type(const DeviceDescription& device) {
  const auto& types = device.data_types;
  const bool has_half = std::find(types.begin(), types.end(), DataType::f16) != types.end();
  return has_half ? DataType::f16 : DataType::f32;
}

std::int64_t log_uniform(Random& random, double least, double most) {
  return std::llround(std::exp(random.uniform(std::log(least), std::log(most))));
}

DataType any_type(Random& random) {
  constexpr std::array kTypes = {DataType::f32, DataType::f16, DataType::bf16};
  return kTypes[random.below(kTypes.size())];
}

Operation any_operation(Random& random) {
  const std::int64_t elements = log_uniform(random, 1 << 14, 1 << 28);
  const DataType dtype = any_type(random);
  switch (random.below(6)) {
    case 0: return Operation(Copy{.bytes = 4 * elements});
    case 1: return Operation(Elementwise{.kind = ElementwiseKind::add, .count = elements, .dtype = dtype});
    case 2: return Operation(Elementwise{.kind = ElementwiseKind::relu, .count = elements, .dtype = dtype});
    case 3: {
      const std::int64_t m = log_uniform(random, 64, 8192), n = log_uniform(random, 64, 8192),
                         k = log_uniform(random, 64, 8192);
      return Operation(Matmul{.m = m, .n = n, .k = k, .dtype = dtype});
    }
    case 4: {
      const std::int64_t images = log_uniform(random, 1, 128), size = log_uniform(random, 7, 112),
                         channels = 8 * log_uniform(random, 2, 64);
      return Operation(Conv2d{.n = images,
                              .c = channels,
                              .h = size,
                              .w = size,
                              .k = channels,
                              .r = 3,
                              .s = 3,
                              .pad_h = 1,
                              .pad_w = 1,
                              .dtype = dtype,
                              .layout = Layout::nhwc});
    }
    default: {
      const std::int64_t columns = log_uniform(random, 32, 4096);
      return Operation(
          Softmax{.rows = std::max<std::int64_t>(1, elements / columns), .columns = columns, .dtype = dtype});
    }
  }
}

}  // namespace

std::vector<Operation> sample_operations(const DeviceDescription& device) {
  const DataType dtype = usual_type(device);
  // As much as a launch needs whose blocks are to fill a GPU.
  const bool is_large = device.capabilities.launches_have_blocks;
  const std::int64_t images = is_large ? 64 : 1, size = is_large ? 4096 : 256;
  const Conv2d convolution{.n = images,
                           .c = 64,
                           .h = 56,
                           .w = 56,
                           .k = 64,
                           .r = 3,
                           .s = 3,
                           .pad_h = 1,
                           .pad_w = 1,
                           .dtype = dtype,
                           .layout = device.capabilities.fast_layout};
  return {Operation(convolution), Operation(Copy{.bytes = is_large ? 256 << 20 : 4 << 20}),
          Operation(Matmul{.m = size, .n = size, .k = size, .dtype = dtype})};
}

Operation short_product(const DeviceDescription& device) {
  return Operation(Matmul{.m = 512, .n = 512, .k = 512, .dtype = usual_type(device)});
}

Operation random_operation(Random& random) {
  constexpr Bytes kMost = Bytes(std::int64_t{2} << 30);
  while (true) {
    const Operation operation = any_operation(random);
    if (operation.bytes() <= kMost) return operation;
  }
}

}  // namespace jitterscope::selftest
