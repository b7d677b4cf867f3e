// What one process did, as tables: CUPTI's records go in, batches of rows come out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "capture/format/arrow_stream.hpp"
#include "capture/format/tables.hpp"
#include "recorder/cupti_library.hpp"

namespace jitterscope::recorder {

/// A kernel's name and shape, as a key: launches that agree in all of it are one.
struct LaunchKey {
  std::uint32_t name = 0;
  std::uint32_t grid[3]{}, block[3]{}, cluster[3]{};
  std::uint32_t registers = 0, static_shared = 0, dynamic_shared = 0, local_memory = 0;
  bool operator==(const LaunchKey&) const = default;
};

/// Used by the writer's thread alone.
class ProcessTables {
 public:
  ProcessTables(const Cupti& cupti, const std::string& folder);

  /// Takes all records of a buffer.
  void consume(std::uint8_t* bytes, std::size_t size);
  void add_window(std::int64_t time, capture::Detail detail);
  void add_launch_count(std::int64_t time, std::uint64_t launches);
  void add_loss(capture::LossKind kind, std::int64_t from, std::int64_t to, std::uint64_t count,
                std::string sentence);
  void add_devices();
  /// The driver's own name of a kernel whose record has that correlation id: where CUPTI had another, the
  /// launch is renamed as a whole.
  void audit(std::uint32_t correlation, const std::string& name);
  /// Names are compared with those of kernels seen since then.
  void begin_audit();
  void end_audit();

  bool has_kernels() const { return kernels_seen_ > 0; }
  /// Rows that wait to be written.
  std::size_t waiting() const;
  /// Writes what is there. A disk that is full is noted once, and rows go on being counted.
  void write(std::int64_t now);
  /// Writes what is there, and each stream's end marker.
  void finish(std::int64_t now);

 private:
  void add_kernel(const CUpti_Activity* record);
  void add_api(const CUpti_Activity* record, CUpti_CallbackDomain domain);
  void add_marker(const CUpti_Activity* record);
  std::uint32_t launch_of(const LaunchKey& key);
  std::uint32_t name_of(const char* name);
  std::uint32_t text_of(std::string_view text);
  void write_launch(std::uint32_t id, capture::NameAudit audit, const std::string& name);

  const Cupti& cupti_;
  std::tuple<capture::TableWriter<capture::Texts>, capture::TableWriter<capture::Launches>,
             capture::TableWriter<capture::Devices>, capture::TableWriter<capture::Kernels>,
             capture::TableWriter<capture::GraphLaunches>, capture::TableWriter<capture::Copies>,
             capture::TableWriter<capture::Calls>, capture::TableWriter<capture::Overheads>,
             capture::TableWriter<capture::Memory>, capture::TableWriter<capture::Ranges>,
             capture::TableWriter<capture::Windows>, capture::TableWriter<capture::LaunchCounts>,
             capture::TableWriter<capture::Losses>>
      writers_;
  template <class Table>
  Table& rows() {
    return std::get<capture::TableWriter<Table>>(writers_).rows;
  }

  struct KeyHash {
    std::size_t operator()(const LaunchKey& key) const noexcept;
  };
  std::unordered_map<std::string, std::uint32_t> names_;
  std::vector<const std::string*> name_texts_;
  std::unordered_map<LaunchKey, std::uint32_t, KeyHash> launches_;
  std::vector<LaunchKey> launch_keys_;
  std::vector<capture::NameAudit> audits_;
  std::unordered_map<std::string, std::uint32_t> texts_;
  struct Function {
    std::uint32_t text;
    capture::CallKind kind;
  };
  std::unordered_map<std::uint64_t, Function> functions_;
  struct OpenRange {
    std::int64_t start;
    std::uint32_t text, domain, thread;
  };
  std::unordered_map<std::uint32_t, OpenRange> open_ranges_;
  bool audits_now_ = false;
  std::unordered_map<std::uint32_t, std::uint32_t> audited_kernels_;  // launch ids by correlation id
  std::uint64_t kernels_seen_ = 0;
  std::uint64_t without_time_ = 0, lost_on_disk_ = 0;
  std::int64_t without_time_from_ = 0, disk_full_at_ = 0;
  int disk_problem_ = 0;
};

}  // namespace jitterscope::recorder
