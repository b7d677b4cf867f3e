// Random numbers for operands: element i always gets the same number, whatever the grid.
#pragma once

#include <cstdint>

namespace {

// SplitMix64's output function, used as a hash.
__device__ __forceinline__ std::uint64_t hash(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

__device__ __forceinline__ float normal(float, std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = hash(seed, index);
  const float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;  // in (0, 1)
  const float v = static_cast<float>(bits & 0xffffff) * 0x1p-24f;
  return sqrtf(-2.0f * logf(u)) * cospif(2.0f * v);
}
// The same numbers as in f32 except for rounding, because results of both types are compared.
__device__ __forceinline__ double normal(double, std::uint64_t seed, std::uint64_t index) {
  const std::uint64_t bits = hash(seed, index);
  const double u = (static_cast<double>(bits >> 40) + 0.5) * 0x1p-24;
  const double v = static_cast<double>(bits & 0xffffff) * 0x1p-24;
  return sqrt(-2.0 * log(u)) * cospi(2.0 * v);
}

// Same order as DataKind in jitterscope/device.hpp.
enum Kind { kNormal, kUniform, kZeros, kOnes, kSparse };

template <class C>
__device__ __forceinline__ C random_value(int kind, std::uint64_t seed, std::uint64_t index) {
  switch (kind) {
    case kNormal: return normal(C(), seed, index);
    case kUniform: return static_cast<C>(static_cast<double>(hash(seed, index) >> 11) * 0x1p-52 - 1.0);
    case kOnes: return C(1);
    case kSparse: return (hash(~seed, index) >> 63) != 0 ? normal(C(), seed, index) : C(0);
    default: return C(0);
  }
}

}  // namespace
