// The scripted device's queue: each item starts when it was enqueued or when its predecessor ended, whichever
// is later. So an idle queue shows the host's launch gaps, and a gated one does not.
#pragma once

#include <vector>

#include "base/random.hpp"
#include "support/scripted_device.hpp"

namespace jitterscope::scripted {

struct Item {
  enum class Kind { kernel, eviction, mark, stamp };
  Kind kind;
  Kernel* kernel = nullptr;
  CacheState cache = CacheState::warm;
  std::uint32_t slot = 0;
  Nanoseconds extra = {};                    ///< what being a node of a recording costs
  std::optional<std::uint64_t> launch = {};  ///< (kernel) that it belongs to
  std::uint32_t correlation = 0;
  bool was_held = false;  ///< by a gate
};

class ScriptedQueue final : public Queue {
 public:
  /// On a stream of its own, or on a test's.
  explicit ScriptedQueue(State& state, Stream* stream = nullptr);
  ~ScriptedQueue() override { stream_.queue = nullptr; }
  ScriptedQueue(const ScriptedQueue&) = delete;
  ScriptedQueue& operator=(const ScriptedQueue&) = delete;

  /// One launch of a kernel, as a workload makes it.
  void enqueue(Kernel& kernel);
  void enqueue_callable() { enqueue(callable_); }
  /// As cuStreamSynchronize.
  void synchronize();

  void hold() override;
  void release() noexcept override;
  bool limit_hold(Nanoseconds limit) override;
  void launch(Workload& workload) override;
  Mark mark() override;
  ClockStamp stamp_clock() override;
  void set_cache(CacheState state, Workload& workload) override;
  std::unique_ptr<Recording> record(const std::function<void(Queue&)>& work) override;
  void replay(Recording& recording) override;
  void wait() override;
  void wait_for(Mark mark) override;
  Nanoseconds elapsed(Mark from, Mark to) override;
  std::optional<ClockReading> clock_between(ClockStamp from, ClockStamp to) override;
  NativeQueue native() override { return &stream_; }

 private:
  void put(Item item);
  void throw_if_hold_timed_out();
  void execute(const Item& item);
  void execute_kernel(const Item& item, Nanoseconds start);
  Nanoseconds passed(const std::vector<std::optional<Nanoseconds>>& ring, std::uint32_t slot) const;

  State& state_;
  Stream own_;
  Stream& stream_;
  Random random_{1};
  Nanoseconds free_;  ///< when the last item ends
  CacheState cache_ = CacheState::warm;
  static constexpr Nanoseconds kHoldLimit = seconds(10);
  Nanoseconds hold_limit_ = kHoldLimit, held_since_ = {};
  bool hold_timed_out_ = false;
  std::vector<Item> held_;
  std::vector<Item>* recording_ = nullptr;
  std::vector<std::optional<Nanoseconds>> marks_, stamps_;
  std::uint32_t next_mark_ = 0, next_stamp_ = 0;
  Kernel callable_;
};

}  // namespace jitterscope::scripted
