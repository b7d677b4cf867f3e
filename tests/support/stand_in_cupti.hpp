// What the CUPTI without a GPU lets a test do.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace jitterscope::stand_in {

/// Its functions for tests, to be looked up by these names.
inline constexpr char kCallName[] = "stand_in_cupti_call", kAddName[] = "stand_in_cupti_add",
                      kSetName[] = "stand_in_cupti_set", kLaunchName[] = "stand_in_cupti_launch",
                      kWaitName[] = "stand_in_cupti_wait", kResetName[] = "stand_in_cupti_reset",
                      kFlushesName[] = "stand_in_cupti_flushes";

/// A call to the driver, the runtime or NVTX: the subscriber's callback is called if its domain, or the call,
/// is enabled, and a record is made if calls are recorded.
using Call = void (*)(CUpti_CallbackDomain, CUpti_CallbackId, std::uint32_t correlation,
                      const void* parameters);
/// A whole record, which goes into this thread's buffer.
using Add = void (*)(const void* record, std::size_t size);
/// How it behaves, by name: see `Behaviour` in the source.
using Set = void (*)(const char* name, std::int64_t value);

/// Puts kernels on the GPU that is not there: one, or all nodes of a graph. They run one after the other in a
/// stream, and are recorded when they are done.
struct Launch {
  const char* name;  ///< the driver's
  std::uint32_t grid, stream;
  std::uint32_t graph, nodes;  ///< 0 and 1 for a kernel
};
using LaunchWork = void (*)(const Launch&);
/// Waits until all of it is done.
using Wait = void (*)();
/// Ends the context, as cudaDeviceReset does: what CUPTI holds is gone.
using Reset = void (*)();
/// How many flushes without force have begun.
using Flushes = std::uint64_t (*)();

// What really happened, in a file of STAND_IN_TRUTH that both processes map: it outlives any end.
enum class Fate : std::uint32_t {
  under_way,     ///< CUPTI still has it
  delivered,     ///< in a buffer of whoever registered first
  not_recorded,  ///< its kind was off
  dropped,       ///< counted by CUPTI
  to_another,    ///< in a buffer of whoever registered later
  gone           ///< with its context
};
struct Work {
  Fate fate;
  std::uint32_t correlation, grid, stream, graph;
  std::uint64_t node;
  std::int64_t start, duration;  ///< start 0: without times
  char name[48];                 ///< the driver's
};
struct Truth {
  static constexpr std::size_t kMost = 400'000;
  std::atomic<std::uint32_t> count, marked;  ///< `marked`: how many there were when the program noted it
  Work works[kMost];
};

}  // namespace jitterscope::stand_in
