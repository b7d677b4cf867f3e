// The names of launched kernels, as the driver has them.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

namespace jitterscope::cuda {

/// cuDNN and cuBLAS launch kernels by handles of libraries (CUkernel), and CUPTI 13.0 names some of these
/// after another kernel of the same library: in 5 of 19 runs of MobileNet V2's 172 operations on H200s one
/// gradient had, in all of its records, dgrad2d_c1_k1_nhwc_specialized for cuDNN's wgrad2d_c1_k1_nhwc_reduce
/// or the other way round, with the right times. So the driver is asked at each launch.
class LaunchNames {
 public:
  /// What a callback passes on from the driver's domain: the call's number, and a CUpti_CallbackData. Calls
  /// that launch no kernel are left out.
  void note(CUpti_CallbackId id, const void* data) noexcept;
  /// The kernel's name, mangled; empty where its launch was not seen, as within a graph, or the driver says
  /// no names (before 12.3).
  std::string find(std::uint32_t correlation) const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::string> names_;
};

}  // namespace jitterscope::cuda
