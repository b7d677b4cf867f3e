// How the durations of kernels vary: from step to step, from place to place, beside other work. "Follows"
// is not "is caused by": here nothing was switched.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "timeline/series.hpp"
#include "timeline/steps.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope::timeline {

enum class Follows : std::uint8_t {
  clock,  ///< all kernels slow down together, and so does NVML's clock, or the time held by the power cap
          ///< grows
  common_factor,  ///< all kernels slow down together, and nothing that is recorded moves with it
  first_calls,    ///< the first seven calls of a kernel
  place,          ///< the same kernel at several places of a step
  other_kernels,  ///< the part of its time in which kernels of other streams ran
  copies,         ///< the part of its time in which copies ran
  preceding,      ///< what ran before it, beyond its place
  other_process,  ///< seconds in which another process was on the GPU
  trend,          ///< it becomes longer or shorter from the first step to the last
};
inline constexpr std::size_t kFollows = 9;
std::string_view to_string(Follows what);

struct FollowedCause {
  Follows what = Follows::clock;
  double share = 0.0;   ///< of the variance of the logarithm of its durations
  double effect = 0.0;  ///< ratio - 1: how much longer it is where the cause is there, or in the twentieth of
                        ///< its calls where it is highest than in that where it is lowest
  statistics::Interval interval;  ///< of the effect, 95 %
  double p_value = 1.0;
};

struct KernelVariation {
  std::uint32_t what = 0;  ///< index of Process::names
  std::size_t calls = 0;
  double calls_per_step = 0.0;
  double share = 0.0;                        ///< of all kernels' and copies' time
  double seconds = 0.0;                      ///< in all
  double median = 0.0, p5 = 0.0, p95 = 0.0;  ///< seconds
  std::vector<FollowedCause> follows;        ///< those that are shown and material, the largest share first
  std::optional<double> rest;  ///< standard deviation of what is left, as a ratio; if it was looked at
};

/// A factor that all kernels have in common, step by step.
struct CommonFactor {
  std::vector<double> by_step;       ///< logarithm; 0 in the median. Empty: there is none
  bool moves_with_sensors = false;   ///< with NVML's clock, the time held by a cap, or the power
  bool is_of_other_process = false;  ///< it is most of it the difference that another process makes
  bool moves_with_memory = false;    ///< with the steps since memory was last taken or given back
  ShareOfSeries step_share;          ///< of the variance of the steps' busy time that it explains
  double effect = 0.0;               ///< from its 5th to its 95th percentile, as a ratio - 1
  std::size_t kernels = 0;           ///< that follow it
};

struct Variation {
  std::vector<KernelVariation> kernels;  ///< by their time, the longest first
  CommonFactor common;
  bool by_stretches = false;  ///< no steps were found: stretches of time are the unit
  double with_others = 0.0;   ///< share of NVML's readings that saw another process on the GPU
};

/// Share of each work item's time in which work of other streams ran: kernels, and copies.
struct Overlap {
  std::vector<float> kernels, copies;  ///< empty where no streams overlap
};
Overlap overlap_of(const Process& process, const DeviceWork& work);

/// Durations of all kinds of work, and what those of the longest follow, over the whole steps of the most
/// frequent kind. The unit of every test and interval is a block of steps that follow each other; all tests
/// together are wrong in 5 % (Holm).
Variation variation_of(const Timeline& timeline, const Process& process, const DeviceWork& work,
                       const Steps& steps, const Overlap& overlap);

}  // namespace jitterscope::timeline
