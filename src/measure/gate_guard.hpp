// Opens a queue's gate on every way out.
#pragma once

#include "jitterscope/device.hpp"

namespace jitterscope {

/// Armed before the gate is closed, so that even a close that fails half-way is undone.
class GateGuard {
 public:
  explicit GateGuard(Queue& queue) : queue_(queue) {}
  ~GateGuard() { queue_.open_gate(); }
  GateGuard(const GateGuard&) = delete;
  GateGuard& operator=(const GateGuard&) = delete;
  void close() { queue_.close_gate(); }
  void open() noexcept { queue_.open_gate(); }

 private:
  Queue& queue_;
};

}  // namespace jitterscope
