// A virtual GPU's queue. Each item starts a gap after its predecessor's end, or a latency after the host's
// call, whichever is later. So an idle queue shows the host's launch costs, and a held one does not.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "device/virtual/timeline.hpp"
#include "device/virtual/virtual_chain.hpp"

namespace jitterscope::virtual_gpu {

/// A hold, until released at `opened`.
struct Hold {
  std::optional<Nanoseconds> opened;
};

struct Item {
  enum class Kind { kernel, group, helper, eviction, mark, stamp, hold, collective, join };
  Kind kind = Kind::kernel;
  std::shared_ptr<Kernel> kernel;
  physics::KernelWork helper = {};
  bool leaves_modified_lines = false;  ///< for evictions
  std::uint32_t slot = 0;              ///< for marks and stamps
  std::shared_ptr<Hold> hold = nullptr;
  std::shared_ptr<const StreamGroup> group = nullptr;
  std::shared_ptr<const CollectiveWork> collective = nullptr;
  /// A collective: the part of a side stream that it is, beside later items. A join: the part it waits for.
  std::optional<std::size_t> side_part = {};
  Nanoseconds earliest = {};  ///< when the host's call has reached the GPU
  Nanoseconds gap = {};       ///< after its predecessor
  Nanoseconds late = {};      ///< a collective, because its rank is a straggler
  bool is_node = false;       ///< part of a recording
  bool starts_replay = false;
  KernelTime origin = {};      ///< known to a tracer before it runs: launch, call and stream
  bool frees_an_entry = true;  ///< a queue entry; a replay has one for all its nodes
};

class VirtualQueue final : public Queue, private WorkSource {
 public:
  static constexpr Nanoseconds kHoldLimit = seconds(10);
  /// Entries of a GPU's queue. A call that would add one more waits (H200: 1024).
  static constexpr std::size_t kDepth = 1024;

  enum class Place {
    alone,   ///< every item takes the GPU
    beside,  ///< beside another queue: a spin of one block leaves the GPU to it, all else takes turns
  };

  explicit VirtualQueue(Timeline& timeline, Place place = Place::alone);
  ~VirtualQueue() override;
  VirtualQueue(const VirtualQueue&) = delete;
  VirtualQueue& operator=(const VirtualQueue&) = delete;

  /// Launches an operation's kernel once. `waits`: as a copy from pageable memory does.
  void launch_kernel(const std::shared_ptr<Kernel>& kernel, bool waits);
  void launch_collective(const std::shared_ptr<const CollectiveWork>& work);
  /// Collectives launched until end_part() are a part of a side stream (SideStream).
  void begin_part(std::size_t part);
  void end_part();
  /// Later items wait for the part.
  void join_part(std::size_t part);
  /// Adds launches whose calls the host has paid.
  void launch_group(StreamGroup group);
  /// Pays for the host's call of a launch on another stream; returns its part of a trace entry.
  KernelTime pay_launch();
  /// Pays for recording an event, or letting a stream wait for one.
  void pay_event();
  bool is_recording() const { return recording_ != nullptr; }
  /// The host waits within a launch, `longer` than in a usual wait. Throws UsageError while recording.
  void wait_within(Nanoseconds longer);
  std::uint32_t stream() const { return stream_; }
  Nanoseconds now() const { return timeline_.now(); }
  /// Another kernel writes to these operands.
  void write(const std::vector<physics::Access>& accesses);

  void hold() override;
  void release() noexcept override;
  void launch(Workload& workload) override { workload.run(native()); }
  Mark mark() override;
  ClockStamp stamp_clock() override;
  void set_cache(CacheState state, Workload& workload) override;
  std::unique_ptr<Recording> record(const std::function<void(Queue&)>& work) override;
  void replay(Recording& recording) override;
  void wait() override;
  void wait_for(Mark mark) override;
  bool has_passed(Mark mark) override;
  Nanoseconds elapsed(Mark from, Mark to) override;
  std::optional<ClockReading> clock_between(ClockStamp from, ClockStamp to) override;
  NativeQueue native() override { return this; }

 private:
  struct MarkValue {
    Nanoseconds truth, reading;
  };
  struct StampValue {
    Nanoseconds truth, reading;
    Cycles cycles;
  };

  bool reaches_collective() const override;
  std::optional<Nanoseconds> next_start() const override;
  void run_next() override;
  void hold_until(Nanoseconds time) override;

  Nanoseconds start_of(const Item& item) const;
  void put(Item item);
  KernelTime origin_of_call();
  void enqueue(Item item);
  void pay_call();
  Nanoseconds call_cost();
  Nanoseconds lateness(physics::Straggler::Cause cause) const;
  void run_collectives_in_a_row(Nanoseconds start);
  void run_beside(Nanoseconds start);
  void wait_until(Nanoseconds time);
  double stretch_beside(const Kernel& kernel, Nanoseconds start) const;
  void wait_for_end();
  void evict(bool leaves_modified_lines);
  void run_hold(Nanoseconds end, const Hold& hold);
  Nanoseconds run_kernel(const Item& item, Nanoseconds start);
  Nanoseconds run_group(const Item& item, Nanoseconds start);
  Nanoseconds start_of_work(const Item& item, Nanoseconds start) const;
  void pass_mark(std::uint32_t slot, Nanoseconds time);
  void pass_stamp(std::uint32_t slot, Nanoseconds time);
  void require_not_recording(const char* what) const;
  void throw_if_hold_timed_out();
  Bytes eviction_size() const;
  bool has_instruments() const;

  Timeline& timeline_;
  Place place_;
  std::uint32_t stream_;
  physics::Buffer eviction_;
  std::deque<Item> pending_;
  std::size_t entries_ = 0, collectives_ = 0;  // of the pending items
  Nanoseconds end_;                            ///< end of the last item
  std::optional<std::size_t> open_part_;       ///< that the host is launching
  Nanoseconds side_end_;                       ///< end of the side stream's last item
  std::vector<Nanoseconds> ends_of_parts_;     ///< of those that have run
  std::optional<Nanoseconds> last_replay_;
  bool follows_mark_ = false;
  std::shared_ptr<Hold> held_queue_;
  std::uint32_t marks_behind_hold_ = 0;
  bool hold_timed_out_ = false;
  std::vector<Item>* recording_ = nullptr;
  std::vector<std::optional<MarkValue>> marks_;
  std::vector<std::optional<StampValue>> stamps_;
  std::uint32_t next_mark_ = 0, next_stamp_ = 0;
};

}  // namespace jitterscope::virtual_gpu
