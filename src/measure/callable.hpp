// Makes a program's function a workload that can be launched.
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
  /// Makes this many launches in a row, if that costs less than calling `launch` as often. Empty: `launch` is
  /// called.
  std::function<void(NativeQueue, std::int64_t)> repeat = {};
  /// Records one launch as a graph of the device, for callables whose memory's owner must record it
  /// (PyTorch's allocator). The graph stays while it is measured. Throws if the launch cannot be recorded.
  /// Empty: `launch` is recorded.
  std::function<NativeGraph(NativeQueue)> record = {};
  /// Where its work goes. If not to the queue, each launch ends with a wait for the whole device.
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

/// True if a launch puts work on other streams than the session's, which then says nothing about its end.
/// Only for devices whose launches return early.
bool leaves_work_elsewhere(Session& session, Workload& workload);
/// True if a launch puts nothing on the session's queue: it does not separate two marks. Not for launches
/// that wait for the queue.
bool launches_nothing(Session& session, Workload& workload);
/// Returns a sentence about work whose place is not the queue, with a remedy.
std::string sentence_of_place(const CallableWork& work);

/// Returns the capabilities. Throws UsageError if the device is simulated: functions take no time there.
DeviceCapabilities real_capabilities(Device& device);

/// Throws UsageError if loops are asked for: only operations can be prepared anew for them.
void refuse_loops(const MeasureOptions& options);
/// Clears data and placement, which are unknown for a callable.
void forget_operands(Result& result);

}  // namespace jitterscope
