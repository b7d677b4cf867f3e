// Calls of cuDNN, cuBLASLt and cuBLAS in a capture (`capture --calls`): the kernels that they explain, and
// the model of a step that can be run again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "operation/model.hpp"
#include "timeline/timeline.hpp"

namespace jitterscope::timeline {

/// Who made a kernel that no call explains, as far as its name tells.
enum class KernelOrigin : std::uint8_t { pytorch, triton, nccl, library, other };
inline constexpr std::size_t kKernelOrigins = 5;
KernelOrigin origin_of(const WorkName& name);
std::string_view to_string(KernelOrigin origin);
/// "Triton kernels", "kernels of libraries, by calls that were not recorded".
std::string_view words_for(KernelOrigin origin);

/// A call with the work of one GPU that it launched.
struct CapturedCall {
  std::size_t row = 0;            ///< of Process::operations
  std::vector<std::size_t> work;  ///< indices of the device's work, by their begin
  Time time = 0;                  ///< sum of its kernels
  Time gaps = 0;  ///< between its first kernel's begin and its last one's end, with none of it
  std::vector<std::size_t> operands;  ///< rows of Process::operands
};

/// The calls that launched work on a GPU, by the begin of their first, and whose each work is.
struct CapturedCalls {
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<CapturedCall> calls;
  std::vector<std::size_t> call_of_work;  ///< index of `calls`; kNone: no call explains it
  std::size_t without_work = 0;  ///< calls whose kernels are not there: captured into a graph, or lost
};
CapturedCalls captured_calls(const Process& process, const DeviceWork& work);

/// How much of a GPU's kernel time calls explain, in the windows in which they were recorded.
struct CallCoverage {
  std::size_t calls = 0;
  double seconds = 0.0;                         ///< of all kernels there
  double explained = 0.0;                       ///< share of that time in calls
  double replayable = 0.0;                      ///< share in calls that operations can say
  std::array<double, kKernelOrigins> others{};  ///< share of kernels without a call, by KernelOrigin
};
/// Nullopt where calls were not asked for.
std::optional<CallCoverage> call_coverage(const Process& process, const DeviceWork& work);

/// The calls of one step of the GPU that worked longest, in order, as a model: the median one, of the kind
/// that comes most often; where there are no steps, all that was recorded. Layers have times of all steps,
/// and their engines. An operand that lies in the memory of an earlier operand says so; what a kernel in
/// between may have written counts as unknown (Call::unwritten). Throws UsageError where no call can be run
/// again.
Model captured_model(const Timeline& timeline);

}  // namespace jitterscope::timeline
