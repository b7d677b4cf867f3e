// Events of a trace of torch.profiler (Chrome's format), one by one, and files of any size as pieces of whole
// events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace jitterscope {

/// Nanoseconds since the record's zero. Integer: a double cannot hold nanoseconds since 1970 exactly.
using RecordTime = std::int64_t;

enum class TraceCategory : std::uint8_t {
  other,
  called_operator,
  launch,
  kernel,
  copy,
  set,
  annotation,
  overhead
};
inline bool is_gpu_work(TraceCategory category) {
  return category == TraceCategory::kernel || category == TraceCategory::copy ||
         category == TraceCategory::set;
}

/// Views into the JSON, which must outlive them.
struct TraceEvent {
  TraceCategory category = TraceCategory::other;
  bool complete = false;  ///< "ph": "X", which has a begin and a duration
  std::string_view name, arguments, process, thread;
  std::optional<RecordTime> begin, duration;
  bool holds_traces = false;  ///< it has a member "traceEvents" of its own: traces joined by hand
};

/// Reads all members of an event. Throws simdjson_error.
TraceEvent read_trace_event(simdjson::ondemand::object& object);

/// Cuts the events of a trace, gzip or not, into texts "[{…},{…}]" of some megabytes. Nothing is parsed but
/// for where events begin and end, so that no size of file is too large.
class TracePieces {
 public:
  /// Throws UsageError if the file cannot be read.
  explicit TracePieces(const std::filesystem::path& file);
  ~TracePieces();
  TracePieces(const TracePieces&) = delete;
  TracePieces& operator=(const TracePieces&) = delete;

  /// The next piece; nullopt at the end. Throws UsageError if the file is no trace, or ends before its
  /// events.
  std::optional<simdjson::padded_string> next();
  /// The text before the events, such as the device's properties. Known once a piece was read.
  const std::string& head() const { return head_; }
  /// Why reading ended before the end of the events; empty if it did not.
  const std::string& problem() const { return problem_; }

 private:
  bool read_more();
  void find_events();
  void read_to_end();
  std::string early_end() const;

  struct File;
  std::filesystem::path path_;
  std::unique_ptr<File> file_;
  std::string text_;  ///< read and not yet given out
  std::string head_, problem_;
  std::int64_t read_ = 0;  ///< bytes, unpacked
  bool found_ = false, over_ = false;
};

}  // namespace jitterscope
