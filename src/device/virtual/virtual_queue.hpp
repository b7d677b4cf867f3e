// A virtual GPU's queue: each item starts a gap after its predecessor's end, or a latency after the host's
// call, whichever is later. So an idle queue shows the host's launch costs, and a gated one does not.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "device/virtual/timeline.hpp"
#include "device/virtual/virtual_chain.hpp"

namespace jitterscope::virtual_gpu {

/// Closed until `opened`.
struct Gate {
  std::optional<Nanoseconds> opened;
};

struct Item {
  enum class Kind { kernel, group, helper, eviction, mark, stamp, gate };
  Kind kind = Kind::kernel;
  std::shared_ptr<Kernel> kernel;
  physics::KernelWork helper = {};
  bool leaves_modified_lines = false;  ///< (eviction)
  std::uint32_t slot = 0;              ///< (mark, stamp)
  std::shared_ptr<Gate> gate = nullptr;
  std::shared_ptr<const StreamGroup> group = nullptr;
  Nanoseconds earliest = {};  ///< when the host's call has reached the GPU
  Nanoseconds gap = {};       ///< after its predecessor
  bool is_node = false;       ///< of a recording
  bool starts_replay = false;
  KernelTime origin = {};      ///< what a tracer knows before it runs: whose launch it is, by which call
  bool frees_an_entry = true;  ///< of the queue; a replay has one for all its nodes
};

class VirtualQueue final : public Queue, private WorkSource {
 public:
  static constexpr Nanoseconds kGateLimit = seconds(10);
  /// Entries of a GPU's queue: the call that would make one more waits (H200: 1024).
  static constexpr std::size_t kDepth = 1024;

  enum class Place {
    alone,   ///< whatever runs takes the GPU
    beside,  ///< beside another queue: a spin of one block does not, all else does in turn with the other's
  };

  explicit VirtualQueue(Timeline& timeline, Place place = Place::alone);
  ~VirtualQueue() override;
  VirtualQueue(const VirtualQueue&) = delete;
  VirtualQueue& operator=(const VirtualQueue&) = delete;

  /// One launch of an operation's kernel; `waits` as a copy from pageable memory does.
  void launch_kernel(const std::shared_ptr<Kernel>& kernel, bool waits);
  /// Launches for whose calls the host has paid.
  void launch_group(StreamGroup group);
  /// What the host pays for a launch on another stream, and what a tracer knows of it.
  KernelTime pay_launch();
  /// To record an event, or to let a stream wait for one.
  void pay_event();
  bool is_recording() const { return recording_ != nullptr; }
  /// The host waits within a launch, and that takes longer than a usual wait. Throws UsageError while a
  /// recording is made.
  void wait_within(Nanoseconds longer);
  std::uint32_t stream() const { return stream_; }
  Nanoseconds now() const { return timeline_.now(); }
  /// Another kernel writes to these operands.
  void write(const std::vector<physics::Access>& accesses);

  void close_gate() override;
  void open_gate() noexcept override;
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

  std::optional<Nanoseconds> next_start() const override;
  void run_next() override;
  void hold_until(Nanoseconds time) override;

  Nanoseconds start_of(const Item& item) const;
  void put(Item item);
  KernelTime origin_of_call();
  void enqueue(Item item);
  void pay_call();
  void wait_for_end();
  void evict(bool leaves_modified_lines);
  void run_gate(Nanoseconds end, const Gate& gate);
  Nanoseconds run_kernel(const Item& item, Nanoseconds start);
  Nanoseconds run_group(const Item& item, Nanoseconds start);
  Nanoseconds start_of_work(const Item& item, Nanoseconds start) const;
  void pass_mark(std::uint32_t slot, Nanoseconds time);
  void pass_stamp(std::uint32_t slot, Nanoseconds time);
  void require_not_recording(const char* what) const;
  void throw_if_gate_timed_out();
  Bytes eviction_size() const;
  bool has_instruments() const;

  Timeline& timeline_;
  Place place_;
  std::uint32_t stream_;
  physics::Buffer eviction_;
  std::deque<Item> pending_;
  std::size_t entries_ = 0;
  Nanoseconds end_;  ///< of the last item that ran
  std::optional<Nanoseconds> last_replay_;
  bool follows_mark_ = false;
  std::shared_ptr<Gate> closed_gate_;
  std::uint32_t marks_behind_gate_ = 0;
  bool gate_timed_out_ = false;
  std::vector<Item>* recording_ = nullptr;
  std::vector<std::optional<MarkValue>> marks_;
  std::vector<std::optional<StampValue>> stamps_;
  std::uint32_t next_mark_ = 0, next_stamp_ = 0;
};

}  // namespace jitterscope::virtual_gpu
