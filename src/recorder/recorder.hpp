// The recorder of one process: CUPTI's activities on, a thread that writes what they record.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "capture/format/settings.hpp"
#include "recorder/buffers.hpp"
#include "recorder/cupti_library.hpp"
#include "recorder/launches.hpp"
#include "recorder/library_calls.hpp"
#include "recorder/process_tables.hpp"
#include "recorder/ranges.hpp"

namespace jitterscope::recorder {

class Recorder {
 public:
  /// Begins to record, as the environment says. One for each process, at its first use of CUDA. Throws
  /// std::bad_alloc where there is no memory.
  static void begin();
  /// The recorder of this process, or null: none was begun, or this is a fork of a process that had one.
  static Recorder* get() noexcept;

  /// Ends the recording: what CUPTI still holds is written. Waits for that as long as the settings say, no
  /// longer: CUPTI may hang.
  void finish() noexcept;

  // Another part of the program, a profiler of its own, takes CUPTI's records over.

  /// The other is about to set the clock of records: those of the recorder are fetched before that.
  void step_aside() noexcept;
  /// Turns the recording off and registers the other's functions in place of the recorder's.
  CUptiResult give_way(decltype(&::cuptiActivityRegisterCallbacks) registers,
                       CUpti_BuffersCallbackRequestFunc their_request,
                       CUpti_BuffersCallbackCompleteFunc their_complete) noexcept;
  /// The other has turned its kinds off, and asked for its last records.
  void note_kernels_off() noexcept;
  void note_flush() noexcept;

  // CUPTI has one subscriber to callbacks, who is the other while it wants to be.

  void give_up_callbacks() noexcept;
  void take_callbacks() noexcept;
  /// The other has ended CUPTI for the whole process (cuptiFinalize): the recorder begins with it anew.
  void note_finalized() noexcept;

 private:
  Recorder(std::string folder, capture::Settings settings, std::int64_t begin);
  bool start_cupti();
  bool start_writer();
  bool register_callbacks();
  void step_aside_locked() noexcept;
  void enable_callbacks();

  // The writer's thread.
  void run() noexcept;
  template <class Work>
  void guarded(Work&& work) noexcept;
  void step();
  void end();
  void drain();
  void drain_calls();
  void flush(bool is_last);
  void write();
  bool is_over() const;
  capture::Detail wanted_detail() const;
  void note_window(std::int64_t time);
  void follow_windows();
  void note_range_window();
  void follow_ranges();
  void follow_profiler();
  void follow_audit();
  void read_names();
  void follow_silence();

  static void request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) noexcept;
  static void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size,
                       std::size_t valid) noexcept;
  static void called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept;
  void begin_range() noexcept;

  const std::string folder_;
  const capture::Settings settings_;
  const std::int64_t begin_;  ///< CLOCK_REALTIME
  const std::int64_t started_;
  Cupti cupti_;
  std::string problem_;
  BufferPool buffers_;
  std::unique_ptr<ProcessTables> tables_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  LaunchCounter launches_;
  LibraryCalls* const library_calls_;  ///< null where none are asked for
  LaunchNames names_;
  RangeName range_name_;

  // The writer's alone. Times are of a clock that nobody sets, since the recording began.
  std::int64_t elapsed() const;
  std::int64_t next_write_ = 0, next_count_ = 0, last_flush_ = 0;
  bool has_devices_ = false;
  enum class Audit { none, asks, awaits_quiet, awaits_kernels };
  Audit audit_ = Audit::none;
  std::int64_t next_audit_, audit_until_ = 0;
  unsigned audits_ = 0, audit_pause_ = 1;
  bool needs_launch_calls_ = false;  ///< kernels come without correlation ids unless calls are recorded
  struct Silence {
    std::int64_t since = 0, noted = 0;  ///< CLOCK_REALTIME; `noted`: when a loss was, or 0
    std::uint64_t kernels = 0, launches = 0;
  };
  Silence silence_;
  std::int64_t gap_noted_ = 0;  ///< the last time that a profiler began and the tables know of
  std::uint64_t ranges_seen_ = 0, ranges_missed_ = 0;  ///< `missed`: begun while another had the records
  std::int64_t last_range_ = 0, recording_since_ = 0;

  // The kinds that CUPTI records: set by the writer, and by the program's thread that begins a profiler.
  enum class Owner { recorder, profiler, profiler_has_ended };
  struct Kinds {
    bool kernels = false, graphs = false, light = false, ranges = false, full = false, launch_calls = false,
         library_calls = false;
    bool operator==(const Kinds&) const = default;
  };
  Kinds wanted_kinds() const;
  bool wants_library_calls(capture::Detail detail) const;
  bool apply(const Kinds& wanted);  ///< false: kernels cannot be recorded
  void follow_wanted();
  std::mutex mutex_;
  std::atomic<Owner> owner_{Owner::recorder};
  std::int64_t owner_since_ = 0;
  bool has_own_clock_ = true;  ///< of records: CUPTI's, which is CLOCK_REALTIME, or one that says the same
  Kinds kinds_;
  capture::Detail detail_ = capture::Detail::off;
  bool graphs_are_whole_ = false;
  std::atomic<bool> kernels_turned_off_{false};  ///< by the profiler

  // The state of `Settings::ranges`. Threads of the program that begin a range change it, too.
  std::atomic<bool> is_between_ranges_;
  std::atomic<std::uint64_t> ranges_begun_{0};
  std::atomic<std::uint64_t> ranges_before_;      ///< the first that is recorded
  std::atomic<std::int64_t> window_began_at_{0};  ///< with a range; 0: the tables know

  std::atomic<bool> stop_{false}, has_stopped_{false};
};

}  // namespace jitterscope::recorder
