// One process's work, as tables: CUPTI's records go in, batches of rows come out.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "capture/format/arrow_stream.hpp"
#include "capture/format/settings.hpp"
#include "capture/format/tables.hpp"
#include "recorder/cupti_library.hpp"
#include "recorder/launches.hpp"
#include "recorder/library_calls.hpp"
#include "recorder/ranges.hpp"

namespace jitterscope::recorder {

/// Used by the writer's thread alone. Where memory runs out (std::bad_alloc), the tables hold what was whole
/// before, and go on.
class ProcessTables {
 public:
  ProcessTables(const Cupti& cupti, const std::string& folder);

  /// Takes all records of a buffer. Those that memory or CUPTI does not let it read are counted as lost.
  void consume(std::uint8_t* bytes, std::size_t size);
  void add_window(std::int64_t time, capture::Detail detail, bool between_ranges, bool has_operations);
  /// A call of a library. Where its description is null it was not known.
  void add_operation(const LibraryCall& call, const CallDescription* description,
                     const CallDescription* inner);
  void add_launch_count(std::int64_t time, std::uint64_t launches);
  /// Needs no memory, so that what is lost is known when memory is what has run out. Losses with the same
  /// sentence are one row until that is written. The sentence must last as long as the tables.
  void add_loss(capture::LossKind kind, std::int64_t from, std::int64_t to, std::uint64_t count,
                const char* sentence) noexcept;
  /// Records of which no more is known than how many bytes they had.
  void add_lost_bytes(std::int64_t from, std::int64_t to, std::uint64_t bytes) noexcept;
  void add_devices();

  /// The names and shapes of kernels, and the audit of their names.
  LaunchIds& launches() { return launches_; }

  /// Forgets the ranges that are open: another has had the records since then, and perhaps their ends.
  void forget_open_ranges(std::int64_t since);

  std::uint64_t kernels_seen() const { return kernels_seen_; }
  /// Ranges of this name are counted from now on.
  void count_ranges(std::string name) { named_ranges_.name = std::move(name); }
  const NamedRanges& named_ranges() const { return named_ranges_; }
  /// Rows that wait to be written.
  std::size_t waiting() const;
  /// Writes what is there. What a full disk does not take is counted as lost, but for what other rows name:
  /// that waits for another time, if there is one.
  void write(std::int64_t now, bool is_last = false);
  /// Where memory ran out in the midst of a row, in any of the calls above: leaves the whole ones.
  void recover();
  /// Writes what is there, ranges that are open with their end now, and each stream's end marker: no marker
  /// where something is missing and the disk has not taken even that.
  void finish(std::int64_t now);

 private:
  void add(const CUpti_Activity* record);
  void add_kernel(const CUpti_Activity* record);
  template <class Record>
  void add_copy(const Record& copy, capture::MemoryKind from, capture::MemoryKind to, unsigned to_device);
  void add_graph(const CUpti_Activity* record);
  void add_overhead(const CUpti_Activity* record);
  void add_memory(const CUpti_Activity* record);
  void add_api(const CUpti_Activity* record, CUpti_CallbackDomain domain);
  void add_marker(const CUpti_Activity* record);
  std::uint32_t text_of(std::string_view text);
  capture::Detail detail_at(std::int64_t time) const;
  std::uint64_t count_of(std::uint64_t bytes) const;
  void add_counted(std::int64_t now) noexcept;
  void write_losses(std::int64_t now, bool is_last);

  const Cupti& cupti_;
  // In the order of writing: launches and texts stand before the rows that name them, so that a kill between
  // two writes leaves no row without.
  std::tuple<capture::TableWriter<capture::Texts>, capture::TableWriter<capture::Launches>,
             capture::TableWriter<capture::Devices>, capture::TableWriter<capture::Kernels>,
             capture::TableWriter<capture::GraphLaunches>, capture::TableWriter<capture::Copies>,
             capture::TableWriter<capture::Calls>, capture::TableWriter<capture::Operations>,
             capture::TableWriter<capture::OperationLaunches>, capture::TableWriter<capture::Operands>,
             capture::TableWriter<capture::Overheads>, capture::TableWriter<capture::Memory>,
             capture::TableWriter<capture::Ranges>, capture::TableWriter<capture::Windows>,
             capture::TableWriter<capture::LaunchCounts>, capture::TableWriter<capture::Losses>>
      writers_;
  template <class Table>
  capture::TableWriter<Table>& writer() {
    return std::get<capture::TableWriter<Table>>(writers_);
  }
  template <class Table>
  Table& rows() {
    return writer<Table>().rows;
  }

  LaunchIds launches_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::uint32_t next_text_ = 0;
  struct Function {
    std::uint32_t text;
    capture::CallKind kind;
  };
  std::unordered_map<std::uint64_t, Function> functions_;
  struct OpenRange {
    std::int64_t start;
    std::uint32_t text, domain, thread;
    bool is_named;
  };
  std::unordered_map<std::uint32_t, OpenRange> open_ranges_;
  std::unordered_map<std::uint32_t, std::int64_t> early_ends_;  // of ranges whose start has not come yet
  void add_range(const OpenRange& range, std::int64_t end);
  NamedRanges named_ranges_;

  struct Window {
    std::int64_t from;
    capture::Detail detail;
  };
  std::vector<Window> windows_;  // the last ones
  int devices_known_ = 0;
  std::uint64_t next_operation_ = 0;
  std::uint64_t kernels_seen_ = 0, records_seen_ = 0, bytes_seen_ = 0;

  // Losses that wait for their rows: more than there are sentences.
  struct Loss {
    capture::LossKind kind;
    std::int64_t from, to;
    std::uint64_t count;
    const char* sentence;
  };
  std::array<Loss, 32> losses_;
  std::size_t losses_waiting_ = 0;
  std::uint64_t without_time_ = 0, without_memory_ = 0, unread_ = 0, lost_ranges_ = 0;
  std::int64_t counted_from_, disk_full_at_ = 0, next_losses_ = 0;
};

/// CLOCK_REALTIME in nanoseconds, the clock of CUPTI's records.
std::int64_t now();

}  // namespace jitterscope::recorder
