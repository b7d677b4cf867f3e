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

/// The time after which the gate opens by itself, while this lives; then the usual one again.
class GateLimit {
 public:
  GateLimit(Queue& queue, Nanoseconds limit) : queue_(queue) { queue_.limit_gate(limit); }
  ~GateLimit() { queue_.limit_gate(Nanoseconds(0)); }
  GateLimit(const GateLimit&) = delete;
  GateLimit& operator=(const GateLimit&) = delete;

 private:
  Queue& queue_;
};

}  // namespace jitterscope
