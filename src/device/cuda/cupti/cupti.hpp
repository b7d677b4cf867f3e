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

/// Opens libcupti.so.13 or .12 on first use. Throws MissingError with the names tried and a remedy.
const Cupti& cupti();

/// Throws FailedError "WHAT: CUPTI's description" unless success.
void check_cupti(CUptiResult result, std::string_view what);

// Finds the launch in which a call to the driver or the runtime was made.

/// Each kernel, copy and memset carries the correlation id of the call that put it on the GPU. CUPTI's
/// external correlation would count only calls of the thread that began the launch, but PyTorch launches
/// gradients from another thread; it also needs a record of each call.
class LaunchCalls {
 public:
  /// Has the subscriber's callback called at all calls to the driver and the runtime. Throws FailedError.
  static void enable(CUpti_SubscriberHandle subscriber);
  void begin(std::uint64_t launch);
  void end();
  /// `data` is the callback's CUpti_CallbackData.
  void note(const void* data) noexcept;
  /// Returns the launch in which the call was made; nullopt if it was made in none.
  std::optional<std::uint64_t> find(std::uint32_t correlation) const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::optional<std::uint64_t> current_;
  std::unordered_map<std::uint32_t, std::uint64_t> launches_;  // by correlation id
};

// The names of launched kernels, as the driver has them.

/// Asks the driver for the kernel's name at each launch. cuDNN and cuBLAS launch kernels by handles of
/// libraries (CUkernel), and CUPTI 13.0 names some of these after another kernel of the same library: in 5 of
/// 19 runs of MobileNet V2's 172 operations on H200s, all records of one gradient had
/// dgrad2d_c1_k1_nhwc_specialized for cuDNN's wgrad2d_c1_k1_nhwc_reduce or the reverse, with the right times.
class LaunchNames {
 public:
  /// Takes a callback of the driver's domain: the call's number and its CUpti_CallbackData. Ignores calls
  /// that launch no kernel.
  void note(CUpti_CallbackId id, const void* data) noexcept;
  /// Returns the kernel's name, mangled. Empty if its launch was not seen, as within a graph, or if the
  /// driver tells no names (before 12.3).
  std::string find(std::uint32_t correlation) const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint32_t, std::string> names_;
};

}  // namespace jitterscope::cuda
