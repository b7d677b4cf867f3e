// A function of a program as work that can be launched.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/session.hpp"

namespace jitterscope {

enum class WorkPlace { queue, elsewhere, nowhere };  ///< nowhere: no work is seen at all

struct CallableWork {
  std::string name;
  Launch launch;
  /// So many launches in a row, where calling `launch` so often would cost more. Empty: it is called so
  /// often.
  std::function<void(NativeQueue, std::int64_t)> repeat = {};
  /// One launch as the device's own graph, where whoever owns its memory must be the one that records it
  /// (PyTorch's allocator). It stays while it is measured. Throws where that cannot be recorded. Empty: a
  /// recording is made of `launch`.
  std::function<NativeGraph(NativeQueue)> record = {};
  /// Where its work goes; other than to the queue, each launch ends with a wait for the whole device.
  WorkPlace place = WorkPlace::queue;
};

class CallableWorkload final : public Workload {
 public:
  CallableWorkload(Device& device, CallableWork work);

  const CallableWork& work() const { return work_; }
  const std::string& name() const { return work_.name; }
  const std::string& why_not_recorded() const { return why_not_recorded_; }
  void set_place(WorkPlace place) { work_.place = place; }
  WorkPlace place() const { return work_.place; }

  void run(NativeQueue queue) override;
  void run_in_a_row(NativeQueue queue, std::int64_t launches) override;
  bool waits_for_queue() const override { return work_.place != WorkPlace::queue; }
  std::optional<std::int64_t> calls() const override { return calls_; }
  void prepare_recording(NativeQueue queue) override;
  NativeGraph graph() const override { return graph_; }
  void not_recorded(std::string_view reason) override;

 private:
  Device& device_;
  CallableWork work_;
  std::int64_t calls_ = 0;
  NativeGraph graph_ = nullptr;
  std::string why_not_recorded_;
};

/// Whether a launch puts work on other streams than the session's, which then says nothing of its end. Asked
/// of devices whose launches return early.
bool leaves_work_elsewhere(Session& session, Workload& workload);
/// Whether a launch puts nothing on the session's queue: two marks lie no farther apart with it between them.
/// Not for what waits for the queue.
bool launches_nothing(Session& session, Workload& workload);
/// What is done about that: a sentence of work whose place is not the queue.
std::string sentence_of_place(const CallableWork& work);

/// Throws UsageError where the device is simulated: a function would take no time there.
DeviceCapabilities real_capabilities(Device& device);

/// Throws UsageError if loops are asked for: they are timed of operations that are prepared for them.
void refuse_loops(const MeasureOptions& options);
/// It is not known what a callable works on, and nothing of it was placed here.
void forget_operands(Result& result);

}  // namespace jitterscope
