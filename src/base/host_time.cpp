#include "base/host_time.hpp"

#include <chrono>

namespace jitterscope {

Nanoseconds host_time_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return Nanoseconds(std::chrono::duration<double, std::nano>(now).count());
}

}  // namespace jitterscope
