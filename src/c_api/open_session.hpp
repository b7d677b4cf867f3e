// An open device as callers of the C functions hold it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "explain/explain.hpp"
#include "jitterscope/c.h"
#include "measure/callable.hpp"
#include "measure/run_record.hpp"

namespace jitterscope::c_api {

/// A device with its queue and instruments, kept for many measurements.
class OpenSession {
 public:
  explicit OpenSession(std::unique_ptr<Device> device);

  DeviceDescription describe();
  NativeQueue stream();
  /// Returns the record of `jitterscope run`. Throws what the callables and measuring throw.
  std::string measure(const std::string& request, const std::vector<CallableWork>& callables,
                      MeasureOptions listeners);
  /// Returns the record of `jitterscope explain`. Throws what the callable and measuring throw.
  std::string explain(const std::string& request, const CallableWork& callable,
                      explain::ExplainOptions listeners);
  /// True if this process opened it, not one that this process was forked from.
  bool is_own() const;

 private:
  class Use;  // held by one thread at a time

  std::unique_ptr<Device> device_;
  DeviceDescription description_;
  std::unique_ptr<Session> session_;
  std::atomic<bool> is_used_ = false;
  pid_t owner_;
};

}  // namespace jitterscope::c_api

/// The device type of the C functions. Tests make one around a device of their own.
struct jitterscope_device {
  jitterscope::c_api::OpenSession session;
};
