#include "physics/kernel_time.hpp"

#include <algorithm>
#include <cmath>

namespace jitterscope::physics {
namespace {

double power_mean(double a, double b, double p) {
  const double larger = std::max(a, b), smaller = std::min(a, b);
  if (smaller <= 0.0) return larger;
  if (p == 1.0) return larger + smaller;
  return larger * std::pow(1.0 + std::pow(smaller / larger, p), 1.0 / p);
}

/// Zero bandwidth costs nothing: that part is not modelled.
double nanoseconds_of(Bytes bytes, double bandwidth) {
  return bandwidth > 0.0 ? static_cast<double>(bytes.value()) / bandwidth * 1e9 : 0.0;
}

}  // namespace

Nanoseconds shared_time(const Load& load, Hertz clock) {
  const double compute = load.compute.value() / clock.value() * 1e9;
  return Nanoseconds(power_mean(compute, load.memory.value(), load.overlap));
}

Nanoseconds memory_latency(const Memory& memory, const Traffic& traffic) {
  if (traffic.accessed.value() == 0) return Nanoseconds(0);
  return traffic.read_misses.value() > 0 ? memory.l2_latency + memory.dram_latency : memory.l2_latency;
}

Nanoseconds memory_time(const Memory& memory, const Traffic& traffic, bool hot) {
  if (traffic.accessed.value() == 0) return Nanoseconds(0);
  const double far = 1.0 + memory.far_share * memory.far_penalty;
  const double tax = hot ? 1.0 / (1.0 - memory.refresh_tax) : 1.0;
  const double through_cache = nanoseconds_of(traffic.accessed, memory.l2_bandwidth) * far;
  const double waits = tax * (nanoseconds_of(traffic.read_misses, memory.miss_bandwidth) +
                              nanoseconds_of(traffic.write_backs, memory.write_back_bandwidth));
  const double dram = tax * nanoseconds_of(traffic.read_misses + traffic.write_backs, memory.dram_bandwidth);
  return memory_latency(memory, traffic) + Nanoseconds(std::max(through_cache + waits, dram));
}

}  // namespace jitterscope::physics
