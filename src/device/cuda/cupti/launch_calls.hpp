// Which calls to the driver and the runtime were made in which launch.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace jitterscope::cuda {

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

}  // namespace jitterscope::cuda
