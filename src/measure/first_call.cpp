#include "measure/first_call.hpp"

#include <algorithm>

#include "measure/gate_guard.hpp"
#include "statistics/statistics.hpp"

namespace jitterscope {

FirstCall make_first_call(Device& device, Queue& queue, Workload& workload, Nanoseconds events_constant) {
  FirstCall first;
  const Nanoseconds start = device.host_time();
  queue.launch(workload);
  queue.wait();
  first.time = device.host_time() - start;

  // A second launch alone tells whether more can be afforded: a CPU's convolution may take a second.
  constexpr Nanoseconds kLong = milliseconds(5);
  const std::size_t launches = first.time > kLong ? 2 : 8;
  std::vector<Mark> marks;
  std::vector<double> costs;
  GateGuard gate(queue);
  gate.close();
  marks.push_back(queue.mark());
  for (std::size_t i = 0; i < launches; ++i) {
    const Nanoseconds before = device.host_time();
    queue.launch(workload);
    costs.push_back((device.host_time() - before).value());
    marks.push_back(queue.mark());
  }
  gate.open();
  queue.wait();
  std::vector<double> times;
  for (std::size_t i = 1; i < marks.size(); ++i)
    times.push_back(queue.elapsed(marks[i - 1], marks[i]).value());
  first.launch_cost = Nanoseconds(statistics::median(costs));
  first.launch_time = std::max(Nanoseconds(1), Nanoseconds(statistics::median(times)) - events_constant);
  return first;
}

}  // namespace jitterscope
