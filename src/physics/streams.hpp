// One stream of random numbers for each mechanism.
#pragma once

#include "base/random.hpp"
#include "physics/parameters.hpp"

namespace jitterscope::physics {

/// Streams that belong to no single mechanism; they follow the mechanisms' numbers.
enum class OtherStream : std::uint64_t { sensors = kMechanisms, synchronize };

inline Random numbered_stream(std::uint64_t seed, std::uint64_t number) {
  // The seed is scrambled first: neighbouring seeds and numbers would else give streams shifted by one.
  return Random(Random(seed).next() ^ Random(~number).next());
}
inline Random stream_of(std::uint64_t seed, Mechanism mechanism) {
  return numbered_stream(seed, static_cast<std::uint64_t>(mechanism));
}
inline Random stream_of(std::uint64_t seed, OtherStream stream) {
  return numbered_stream(seed, static_cast<std::uint64_t>(stream));
}

/// Exponential with the given mean.
inline double exponential(Random& random, double mean) { return -mean * std::log(1.0 - random.uniform()); }

}  // namespace jitterscope::physics
