#include "device/input_value.hpp"

#include <cmath>

namespace jitterscope {

double draw_value(DataKind kind, Random& random) {
  switch (kind) {
    case DataKind::normal: return random.normal();
    case DataKind::uniform: return random.uniform(-1.0, 1.0);
    case DataKind::zeros: return 0.0;
    case DataKind::ones: return 1.0;
    case DataKind::sparse: return random.next() % 2 == 0 ? 0.0 : random.normal();
  }
  return 0.0;
}

double scale_of(const Operand& operand, const InputData& data) {
  if (!data.scaled_weights || operand.fan_in == 0 || data.kind == DataKind::ones) return 1.0;
  return std::sqrt(2.0 / static_cast<double>(operand.fan_in));
}

}  // namespace jitterscope
