#include "selftest/sample_operations.hpp"

#include <algorithm>

namespace jitterscope::selftest {
namespace {

DataType usual_type(const DeviceDescription& device) {
  const auto& types = device.data_types;
  const bool has_half =
      device.id != "cpu" && std::find(types.begin(), types.end(), DataType::f16) != types.end();
  return has_half ? DataType::f16 : DataType::f32;
}

}  // namespace

std::vector<Operation> sample_operations(const DeviceDescription& device) {
  const DataType dtype = usual_type(device);
  const bool is_cpu = device.id == "cpu";
  const std::int64_t images = is_cpu ? 1 : 64, size = is_cpu ? 256 : 4096;
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
                           .layout = is_cpu ? Layout::nchw : Layout::nhwc};
  return {Operation(convolution), Operation(Copy{.bytes = is_cpu ? 4 << 20 : 256 << 20}),
          Operation(Matmul{.m = size, .n = size, .k = size, .dtype = dtype})};
}

Operation short_product(const DeviceDescription& device) {
  return Operation(Matmul{.m = 512, .n = 512, .k = 512, .dtype = usual_type(device)});
}

}  // namespace jitterscope::selftest
