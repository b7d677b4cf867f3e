// A host call: log-normal, and now and then far longer.
#include <algorithm>
#include <cmath>

#include "physics/machine.hpp"
#include "physics/streams.hpp"

namespace jitterscope::physics {
namespace {

constexpr double kTailShape = 1.5;
// [50–5000 µs] says that the longest delays seen are a hundred times the usual ones.
constexpr double kLongestTail = 100.0;

}  // namespace

HostCosts::HostCosts(const Parameters& parameters, std::uint64_t seed)
    : costs_(parameters.launch),
      varies_(parameters.has(Mechanism::host_gaps)),
      launches_(stream_of(seed, Mechanism::host_gaps)),
      waits_(stream_of(seed, OtherStream::synchronize)) {}

Nanoseconds HostCosts::launch() { return draw(launches_, costs_.host_median); }

Nanoseconds HostCosts::synchronize() { return draw(waits_, costs_.synchronize_cost); }

Nanoseconds HostCosts::draw(Random& random, Nanoseconds median) const {
  const double normal = random.normal(), chance = random.uniform(), size = random.uniform();
  if (!varies_) return median;
  Nanoseconds cost = median * std::exp(costs_.host_sigma * normal);
  if (chance < costs_.tail_probability) {
    cost += costs_.tail_scale * std::min(kLongestTail, std::pow(1.0 - size, -1.0 / kTailShape));
  }
  return cost;
}

}  // namespace jitterscope::physics
