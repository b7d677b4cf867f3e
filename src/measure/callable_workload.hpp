// A function of a program as work that can be launched.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "measure/session.hpp"

namespace jitterscope {

struct CallableWork {
  std::string name;
  Launch launch;
  /// One launch as the device's own graph, where whoever owns its memory must be the one that records it
  /// (PyTorch's allocator). It stays while it is measured. Throws where that cannot be recorded. Empty: a
  /// recording is made of `launch`.
  std::function<NativeGraph(NativeQueue)> record = {};
  /// Each launch ends with a wait for the whole device: it leaves work on other streams.
  bool waits_for_all = false;
};

class CallableWorkload final : public Workload {
 public:
  CallableWorkload(Device& device, CallableWork work);

  const std::string& name() const { return work_.name; }
  const std::string& why_not_recorded() const { return why_not_recorded_; }
  void wait_for_all_after_launch() { work_.waits_for_all = true; }
  bool waits_for_all() const { return work_.waits_for_all; }

  void run(NativeQueue queue) override;
  bool waits_for_queue() const override { return work_.waits_for_all; }
  void prepare_recording(NativeQueue queue) override;
  NativeGraph graph() const override { return graph_; }
  void not_recorded(std::string_view reason) override;

 private:
  Device& device_;
  CallableWork work_;
  NativeGraph graph_ = nullptr;
  std::string why_not_recorded_;
};

/// Whether a launch puts work on other streams than the session's, which then says nothing of its end. Asked
/// of devices whose launches return early.
bool leaves_work_elsewhere(Session& session, Workload& workload);
/// A sentence of what is done about that.
std::string sentence_of_work_elsewhere(const std::string& name);

/// Throws UsageError where the device is simulated: a function would take no time there.
DeviceCapabilities real_capabilities(Device& device);

}  // namespace jitterscope
