// CUPTI's activity API, opened at run time.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include <cupti.h>

#include "base/shared_library.hpp"

namespace jitterscope::cuda {

// clang-format off
#define JITTERSCOPE_CUPTI_FUNCTIONS(X)                                                   \
  X(cuptiGetVersion)                                                                     \
  X(cuptiGetResultString) X(cuptiSubscribe) X(cuptiUnsubscribe) X(cuptiEnableDomain)     \
      X(cuptiActivityEnable) X(cuptiActivityDisable) X(cuptiActivityRegisterCallbacks)   \
          X(cuptiActivityFlushAll) X(cuptiActivityGetNextRecord) X(cuptiActivityGetNumDroppedRecords)
// clang-format on

/// The functions, each under its own name: cupti().cuptiActivityEnable(...).
struct Cupti {
  SharedLibrary library;
#define JITTERSCOPE_DECLARE(name) decltype(&::name) name = nullptr;
  JITTERSCOPE_CUPTI_FUNCTIONS(JITTERSCOPE_DECLARE)
#undef JITTERSCOPE_DECLARE
};

/// Opens libcupti.so.13 or .12 on first use. Throws MissingError with what was looked for and what to do.
const Cupti& cupti();

/// Throws FailedError "WHAT: what CUPTI says" unless success.
void check_cupti(CUptiResult result, std::string_view what);

// Which calls to the driver and the runtime were made in which launch.

/// Each kernel, copy and memset carries the correlation id of the call that put it on the GPU. CUPTI's
/// external correlation would count only calls of the thread that began the launch, and PyTorch's gradients
/// launch from a thread of their own; it also needs a record of each call.
class LaunchCalls {
 public:
  /// Has the subscriber's callback called at all calls to the driver and the runtime. Throws FailedError.
  static void enable(CUpti_SubscriberHandle subscriber);
  void begin(std::uint64_t launch);
  void end();
  /// What the callback passes on: a CUpti_CallbackData.
  void note(const void* data) noexcept;
  /// The launch in which the call was made; nothing where it was made in none.
  std::optional<std::uint64_t> find(std::uint32_t correlation) const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::optional<std::uint64_t> current_;
  std::unordered_map<std::uint32_t, std::uint64_t> launches_;  // by correlation id
};

// The names of launched kernels, as the driver has them.

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
