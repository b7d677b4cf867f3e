#include "device/virtual/timeline.hpp"

namespace jitterscope::virtual_gpu {

Timeline::Timeline(const physics::Parameters& parameters, std::uint64_t seed)
    : parameters_(parameters),
      machine_(parameters_, seed),
      host_costs_(parameters_, seed),
      timers_(parameters_, seed) {}

double Timeline::slowdown() const { return trace != nullptr ? parameters_.instruments.trace_slowdown : 1.0; }

void Timeline::run_until(Nanoseconds time) {
  while (true) {
    WorkSource* first = nullptr;
    Nanoseconds start = time;
    for (WorkSource* source : sources_) {
      const auto next = source->next_start();
      if (!next || *next > start || (first != nullptr && *next == start)) continue;
      first = source;
      start = *next;
    }
    if (first == nullptr) break;
    first->run_next();
  }
  for (WorkSource* source : sources_) source->hold_until(time);
}

void Timeline::drain(WorkSource& source) {
  while (const auto start = source.next_start()) {
    wait_until(*start);
    run_until(*start);
  }
}

void Timeline::synchronize() {
  for (WorkSource* source : sources_) drain(*source);
  wait_until(machine_.free_at());
}

physics::Buffer Timeline::allocate(Bytes size) {
  spend_in_driver(parameters_.launch.allocation_cost);
  allocated_ += size;
  return machine_.allocate(size);
}

void Timeline::release(physics::Buffer buffer, Bytes size) {
  machine_.release(buffer);
  allocated_ -= size;
}

void Timeline::count(const Kernel& kernel, const physics::Execution& execution) {
  if (counts == nullptr) return;
  counts->traffic.accessed += execution.traffic.accessed;
  counts->traffic.read_misses += execution.traffic.read_misses;
  counts->traffic.write_backs += execution.traffic.write_backs;
  counts->cycles += execution.cycles;
  counts->tensor += kernel.tensor;
  counts->time += execution.time();
}

void Timeline::tell(const Kernel& kernel, const physics::Execution& execution, const KernelTime& origin) {
  if (trace != nullptr) {
    const Nanoseconds bias =
        parameters_.has(physics::Mechanism::instrument) ? parameters_.instruments.trace_bias : Nanoseconds(0);
    trace->push_back(origin);
    trace->back().name = kernel.name;
    trace->back().start = execution.start;
    trace->back().end = execution.end + bias;
  }
  if (on_launch) on_launch(execution);
}

Nanoseconds Timeline::run(Kernel& kernel, Nanoseconds earliest, const KernelTime& origin) {
  const physics::Execution execution = machine_.run(kernel.work, earliest);
  kernel.has_run = true;
  kernel.read_too_early = false;
  count(kernel, execution);
  tell(kernel, execution, origin);
  return execution.end;
}

Nanoseconds Timeline::run_helper(const physics::KernelWork& work, Nanoseconds earliest) {
  physics::KernelWork helper = work;
  helper.helper = true;
  return machine_.run(helper, earliest).end;
}

bool Timeline::is_first_launch(const std::string& name) {
  if (std::find(loaded_.begin(), loaded_.end(), name) != loaded_.end()) return false;
  loaded_.push_back(name);
  return true;
}

}  // namespace jitterscope::virtual_gpu
