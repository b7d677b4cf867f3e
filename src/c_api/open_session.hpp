// An open device as a caller of the C functions holds it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "explain/explain.hpp"
#include "jitterscope/c.h"
#include "measure/callable.hpp"
#include "measure/run_record.hpp"

namespace jitterscope::c_api {

/// A device, its queue and its instruments, for many measurements.
class OpenSession {
 public:
  explicit OpenSession(std::unique_ptr<Device> device);

  DeviceDescription describe();
  NativeQueue stream();
  /// The record of `jitterscope run`. Throws what the callables and measuring throw.
  std::string measure(const std::string& request, const std::vector<CallableWork>& callables,
                      MeasureOptions listeners);
  /// The record of `jitterscope explain`. Throws what the callable and measuring throw.
  std::string explain(const std::string& request, const CallableWork& callable,
                      explain::ExplainOptions listeners);
  /// Opened by this process, not by one that it was forked from.
  bool is_own() const;

 private:
  class Use;  // of one thread at a time

  std::unique_ptr<Device> device_;
  DeviceDescription description_;
  std::unique_ptr<Session> session_;
  std::atomic<bool> is_used_ = false;
  pid_t owner_;
};

}  // namespace jitterscope::c_api

/// What the C functions call a device. A test hands one in with a device of its own.
struct jitterscope_device {
  jitterscope::c_api::OpenSession session;
};
