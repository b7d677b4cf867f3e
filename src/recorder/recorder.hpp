// The recorder of one process: CUPTI's activities on, a thread that writes what they record.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "capture/format/settings.hpp"
#include "recorder/buffers.hpp"
#include "recorder/cupti_library.hpp"
#include "recorder/process_tables.hpp"

namespace jitterscope::recorder {

/// The names that the driver tells of kernels, as they are launched. CUPTI 13.0 names some kernels of cuDNN
/// and cuBLAS after others of the same library, consistently within a process, so that now and then a short
/// look is enough.
class LaunchNames {
 public:
  static constexpr std::size_t kMost = 1024, kLength = 1024;
  struct Entry {
    std::uint32_t correlation;
    char name[kLength];  ///< longer names are left out
  };
  void begin() { count_.store(0); }
  void note(std::uint32_t correlation, void* function) noexcept;
  std::size_t count() const { return std::min(count_.load(), kMost); }
  const Entry& operator[](std::size_t i) const { return entries_[i]; }

 private:
  std::atomic<std::size_t> count_{0};
  std::array<Entry, kMost> entries_;
};

class Recorder {
 public:
  /// Begins to record, as the environment says. One for each process, at its first use of CUDA.
  static void begin();
  /// The recorder of this process, or null: none was begun, or this is a fork of a process that had one.
  static Recorder* get() noexcept;

  /// Ends the recording: what CUPTI still holds is written, for at most five seconds.
  void finish();

  // Another part of the program, a profiler of its own, takes CUPTI's records over, and has had its last
  // ones.
  void give_way() noexcept;
  void take_back() noexcept;

 private:
  Recorder(std::string folder, capture::Settings settings);
  bool start_cupti();
  void write_process_file() const;
  void run();
  void flush(bool is_last);
  void drain();
  void follow_windows(std::int64_t now);
  void set_detail(capture::Detail detail, std::int64_t now);
  void follow_audit(std::int64_t now);
  void follow_profiler(std::int64_t now);
  bool register_callbacks();

  static void request(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records);
  static void complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t size, std::size_t valid);
  static void called(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

  std::string folder_;
  capture::Settings settings_;
  Cupti cupti_;
  std::string problem_;
  BufferPool buffers_;
  std::unique_ptr<ProcessTables> tables_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::int64_t begin_ = 0, started_ = 0;
  capture::Detail detail_ = capture::Detail::off;
  std::uint64_t dropped_ = 0;

  std::atomic<std::uint64_t> launches_{0};
  std::atomic<bool> audits_now_{false};
  LaunchNames names_;
  std::int64_t audit_from_ = 0;
  unsigned audits_ = 0;

  enum class Owner { recorder, profiler, profiler_has_ended };
  std::atomic<Owner> owner_{Owner::recorder};
  std::atomic<std::int64_t> owner_since_{0};

  std::atomic<bool> stop_{false}, has_stopped_{false};
  std::thread writer_;
};

/// CLOCK_REALTIME in nanoseconds, the clock of CUPTI's records.
std::int64_t now();

}  // namespace jitterscope::recorder
