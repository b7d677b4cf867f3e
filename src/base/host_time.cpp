#include "base/host_time.hpp"

#include <chrono>

namespace jitterscope {

Nanoseconds host_time_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return Nanoseconds(std::chrono::duration<double, std::nano>(now).count());
}

void stay_awake(Nanoseconds time) {
  const Nanoseconds end = host_time_now() + time;
  while (host_time_now() < end) {
  }
}

}  // namespace jitterscope
