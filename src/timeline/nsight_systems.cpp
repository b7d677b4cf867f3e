// The database that Nsight Systems exports, written and read.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <memory>
#include <unordered_map>

#include "capture/format/call_kind.hpp"
#include "jitterscope/error.hpp"
#include "timeline/analysis.hpp"
#include "timeline/exports.hpp"

namespace jitterscope::timeline {
namespace {

// Numbers of CUPTI's memory kinds, which the database uses (CUpti_ActivityMemoryKind).
int number_of(capture::MemoryKind kind) { return static_cast<int>(kind); }
capture::MemoryKind memory_of(std::int64_t number) {
  return number >= 1 && number <= 5 ? static_cast<capture::MemoryKind>(number) : capture::MemoryKind::device;
}

class Database {
 public:
  Database(const std::filesystem::path& file, int flags) : file_(file) {
    sqlite3* handle = nullptr;
    const int result = ::sqlite3_open_v2(file.c_str(), &handle, flags, nullptr);
    handle_.reset(handle);  // there even where opening failed: it holds the message
    if (result != SQLITE_OK) fail<UsageError>();
  }

  void run(const char* sql) {
    if (::sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail<FailedError>();
  }
  bool has_table(const char* name);
  bool has_column(const char* table, const char* column);
  template <class Error>
  [[noreturn]] void fail() const {
    const int code = ::sqlite3_errcode(handle());
    if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
      throw Error(file_.string() +
                  ": the file ends early, or is damaged: SQLite cannot read it; was it copied in "
                  "full?");
    }
    throw Error(fmt::format("'{}': {}", file_.string(), ::sqlite3_errmsg(handle())));
  }
  sqlite3* handle() const { return handle_.get(); }

 private:
  std::filesystem::path file_;
  struct Close {
    void operator()(sqlite3* handle) const { ::sqlite3_close(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

class Statement {
 public:
  Statement(Database& database, const std::string& sql) : database_(database) {
    if (::sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) {
      database.fail<UsageError>();
    }
  }
  ~Statement() { ::sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  template <class... Values>
  void insert(const Values&... values) {
    int index = 0;
    (bind(++index, values), ...);
    if (::sqlite3_step(statement_) != SQLITE_DONE) database_.fail<FailedError>();
    ::sqlite3_reset(statement_);
  }
  bool next() {
    const int result = ::sqlite3_step(statement_);
    if (result == SQLITE_ROW) return true;
    if (result != SQLITE_DONE) database_.fail<UsageError>();
    return false;
  }
  std::int64_t number(int column) const { return ::sqlite3_column_int64(statement_, column); }
  Time time(int column) const { return std::clamp<Time>(number(column), 0, kLatest); }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(::sqlite3_column_text(statement_, column));
    return bytes == nullptr ? "" : bytes;
  }

 private:
  void bind(int index, std::int64_t value) { ::sqlite3_bind_int64(statement_, index, value); }
  void bind(int index, const std::string& value) {
    ::sqlite3_bind_text(statement_, index, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
  }

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

bool Database::has_table(const char* name) {
  // A view would be a program, and might never end.
  Statement statement(*this,
                      fmt::format("SELECT 1 FROM sqlite_master WHERE name = '{}' AND type = 'table'", name));
  return statement.next();
}

bool Database::has_column(const char* table, const char* column) {
  Statement statement(*this,
                      fmt::format("SELECT 1 FROM pragma_table_info('{}') WHERE name = '{}'", table, column));
  return statement.next();
}

constexpr const char* kSchema = R"(
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, uuid TEXT, pid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, mangledName INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, bytes INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, returnValue INTEGER);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
)";

// A process's number as Nsight Systems makes it: in the upper bits, so that a thread's fits below.
constexpr std::int64_t kProcessUnit = std::int64_t{1} << 24;

class Writer {
 public:
  explicit Writer(const std::filesystem::path& file)
      : database_(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) {
    database_.run("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN");
    database_.run(kSchema);
  }

  void write(const Timeline& timeline) {
    Statement string(database_, "INSERT INTO StringIds VALUES (?, ?)");
    Statement gpu(database_, "INSERT INTO TARGET_INFO_GPU VALUES (?, ?, ?, ?)");
    Statement kernel(database_,
                     "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    Statement copy(database_, "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?,?,?,?,?,?,?,?,?,?)");
    Statement set(database_, "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES (?,?,?,?,?,?,?,?)");
    Statement call(database_, "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?,?,?,?,?,?)");
    Statement range(database_, "INSERT INTO NVTX_EVENTS VALUES (?,?,59,?,?)");
    std::map<std::string, std::int64_t> strings;
    const auto id_of = [&](const std::string& text) {
      const auto [known, is_new] = strings.try_emplace(text, static_cast<std::int64_t>(strings.size()) + 1);
      if (is_new) string.insert(known->second, text);
      return known->second;
    };
    std::int64_t number = 0;
    for (const Process& process : timeline.processes) {
      const std::int64_t pid = ++number * kProcessUnit;
      for (const ProcessDevice& device : process.device_names) {
        gpu.insert(std::int64_t{device.device}, device.name, device.uuid, pid);
      }
      for (const DeviceWork& work : process.devices) {
        for (std::size_t i = 0; i < work.size(); ++i) {
          const WorkName& name = process.names[work.what[i]];
          const std::int64_t bytes = work.bytes.empty() ? 0 : static_cast<std::int64_t>(work.bytes[i]);
          const std::int64_t device = work.device, stream = work.stream[i], correlation = work.correlation[i];
          if (name.kind == WorkKind::copy) {
            copy.insert(work.begin[i], work.end[i], device, stream, correlation, pid, bytes,
                        std::int64_t{copy_kind(name)}, std::int64_t{number_of(name.from)},
                        std::int64_t{number_of(name.to)});
          } else if (name.kind == WorkKind::set) {
            set.insert(work.begin[i], work.end[i], device, stream, correlation, pid, bytes,
                       std::int64_t{number_of(name.to)});
          } else {
            kernel.insert(work.begin[i], work.end[i], device, stream, correlation, pid,
                          id_of(full_name(name)), id_of(short_name(name)), id_of(name.name),
                          std::int64_t{name.grid[0]}, std::int64_t{name.grid[1]}, std::int64_t{name.grid[2]},
                          std::int64_t{name.block[0]}, std::int64_t{name.block[1]},
                          std::int64_t{name.block[2]});
          }
        }
      }
      const capture::Calls& calls = process.calls;
      for (std::size_t i = 0; i < calls.start.size(); ++i) {
        call.insert(
            calls.start[i], calls.start[i] + calls.duration[i], pid + calls.thread[i] % kProcessUnit,
            std::int64_t{calls.correlation[i]},
            id_of(calls.function[i] < process.texts.size() ? process.texts[calls.function[i]] : "unknown"),
            std::int64_t{calls.result[i]});
      }
      for (const NamedRange& each : process.ranges)
        range.insert(each.span.begin, each.span.end, each.name, pid);
    }
    database_.run("COMMIT");
  }

 private:
  // CUpti_ActivityMemcpyKind: 1 to the GPU, 2 from it, 8 within it, 9 between host memory.
  static int copy_kind(const WorkName& name) {
    const bool from_gpu = name.from == capture::MemoryKind::device,
               to_gpu = name.to == capture::MemoryKind::device;
    return from_gpu ? (to_gpu ? 8 : 2) : (to_gpu ? 1 : 9);
  }

  Database database_;
};

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file), database_(file, SQLITE_OPEN_READONLY) {}

  Timeline read() {
    if (is_cut()) {
      throw UsageError(file_.string() +
                       ": the file ends early, or is damaged: it is shorter than its header says; was "
                       "it copied in full?");
    }
    if (!database_.has_table("StringIds")) {
      throw UsageError(
          fmt::format("'{}' is no database of Nsight Systems: it has no table StringIds", file_.string()));
    }
    Statement strings(database_, "SELECT id, value FROM StringIds");
    while (strings.next()) strings_.emplace(strings.number(0), strings.text(1));
    read_kernels();
    read_copies("CUPTI_ACTIVITY_KIND_MEMCPY", "srcKind", "dstKind", WorkKind::copy);
    read_copies("CUPTI_ACTIVITY_KIND_MEMSET", "0", "memKind", WorkKind::set);
    read_calls();
    read_ranges();
    read_gpus();
    Timeline timeline;
    timeline.source = file_.string();
    for (auto& [pid, reading] : processes_) {
      for (auto& [number, work] : reading.devices) {
        sort_by_begin(work);
        reading.process.devices.push_back(std::move(work));
      }
      reading.process.label = fmt::format("pid {}", pid / kProcessUnit % kProcessUnit);
      timeline.processes.push_back(std::move(reading.process));
    }
    return timeline;
  }

 private:
  // SQLite takes a last page that was cut for one that ends in zeros. Its header counts the pages, unless an
  // old writer has changed the file since (https://sqlite.org/fileformat.html).
  bool is_cut() const {
    std::array<char, 100> head{};
    std::ifstream(file_, std::ios::binary).read(head.data(), head.size());
    const auto number = [&](std::size_t at, std::size_t bytes) {
      std::uint64_t value = 0;
      for (std::size_t i = at; i < at + bytes; ++i) value = value << 8 | static_cast<unsigned char>(head[i]);
      return value;
    };
    const std::uint64_t page = number(16, 2) == 1 ? 65536 : number(16, 2);
    std::error_code problem;
    const std::uint64_t size = std::filesystem::file_size(file_, problem);
    return !problem && number(24, 4) == number(92, 4) && size < page * number(28, 4);
  }

  struct Reading {
    Process process;
    std::map<std::uint32_t, DeviceWork> devices;
    std::unordered_map<std::string, std::uint32_t> names;
    std::unordered_map<std::int64_t, std::uint32_t> functions;
  };

  // A database of one process may have no numbers of processes.
  std::string pid_column(const char* table) {
    return database_.has_column(table, "globalPid") ? "globalPid" : "0";
  }

  const std::string& string_of(std::int64_t id) {
    const auto found = strings_.find(id);
    return found == strings_.end() ? unknown_ : found->second;
  }

  void add(Reading& reading, const std::string& key, const WorkName& name, std::int64_t device,
           std::int64_t begin, std::int64_t end, std::int64_t stream, std::int64_t correlation,
           std::int64_t bytes) {
    const auto [known, is_new] =
        reading.names.try_emplace(key, static_cast<std::uint32_t>(reading.process.names.size()));
    if (is_new) reading.process.names.push_back(name);
    DeviceWork& work = reading.devices[static_cast<std::uint32_t>(device)];
    work.device = static_cast<std::uint32_t>(device);
    work.begin.push_back(begin);
    work.end.push_back(std::max(begin, end));
    work.what.push_back(known->second);
    work.stream.push_back(static_cast<std::uint32_t>(stream));
    work.correlation.push_back(static_cast<std::uint32_t>(correlation));
    if (bytes > 0 || !work.bytes.empty()) {
      work.bytes.resize(work.begin.size());
      work.bytes.back() = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
    }
  }

  void read_kernels() {
    constexpr const char* kTable = "CUPTI_ACTIVITY_KIND_KERNEL";
    if (!database_.has_table(kTable)) return;
    Statement rows(
        database_,
        fmt::format(
            "SELECT {}, deviceId, start, end, streamId, correlationId, {}, gridX, gridY, gridZ, blockX, "
            "blockY, blockZ FROM {}",
            pid_column(kTable),
            database_.has_column(kTable, "mangledName") ? "ifnull(mangledName, demangledName)"
                                                        : "demangledName",
            kTable));
    while (rows.next()) {
      WorkName name;
      name.name = string_of(rows.number(6));
      for (int i = 0; i < 3; ++i) {
        name.grid[i] = static_cast<std::uint32_t>(rows.number(7 + i));
        name.block[i] = static_cast<std::uint32_t>(rows.number(10 + i));
      }
      const std::string key = fmt::format("{} {} {} {} {} {} {}", rows.number(6), name.grid[0], name.grid[1],
                                          name.grid[2], name.block[0], name.block[1], name.block[2]);
      add(processes_[rows.number(0)], key, name, rows.number(1), rows.time(2), rows.time(3), rows.number(4),
          rows.number(5), 0);
    }
  }

  void read_copies(const char* table, const char* from, const char* to, WorkKind kind) {
    if (!database_.has_table(table)) return;
    Statement rows(
        database_,
        fmt::format("SELECT {}, deviceId, start, end, streamId, correlationId, bytes, {}, {} FROM {}",
                    pid_column(table), from, to, table));
    while (rows.next()) {
      WorkName name;
      name.kind = kind;
      if (kind == WorkKind::copy) name.from = memory_of(rows.number(7));
      name.to = memory_of(rows.number(8));
      const std::string key = fmt::format("{} {} {}", static_cast<int>(kind), static_cast<int>(name.from),
                                          static_cast<int>(name.to));
      add(processes_[rows.number(0)], key, name, rows.number(1), rows.time(2), rows.time(3), rows.number(4),
          rows.number(5), rows.number(6));
    }
  }

  void read_calls() {
    constexpr const char* kTable = "CUPTI_ACTIVITY_KIND_RUNTIME";
    if (!database_.has_table(kTable)) return;
    Statement rows(database_,
                   fmt::format("SELECT globalTid, start, end, correlationId, nameId FROM {}", kTable));
    while (rows.next()) {
      Reading& reading = processes_[rows.number(0) / kProcessUnit * kProcessUnit];
      const auto [known, is_new] = reading.functions.try_emplace(
          rows.number(4), static_cast<std::uint32_t>(reading.process.texts.size()));
      if (is_new) reading.process.texts.push_back(string_of(rows.number(4)));
      capture::Calls& calls = reading.process.calls;
      calls.start.push_back(rows.time(1));
      calls.duration.push_back(std::max<Time>(rows.time(2) - rows.time(1), 0));
      calls.function.push_back(known->second);
      calls.kind.push_back(static_cast<std::uint8_t>(capture::call_kind_of(string_of(rows.number(4)))));
      calls.thread.push_back(static_cast<std::uint32_t>(rows.number(0) % kProcessUnit));
      calls.correlation.push_back(static_cast<std::uint32_t>(rows.number(3)));
      calls.result.push_back(0);
    }
  }

  void read_ranges() {
    constexpr const char* kTable = "NVTX_EVENTS";
    if (!database_.has_table(kTable)) return;
    const std::string text = database_.has_column(kTable, "textId")
                                 ? "ifnull(text, (SELECT value FROM StringIds WHERE id = textId))"
                                 : "text";
    Statement rows(
        database_,
        fmt::format("SELECT globalTid, start, end, {} FROM {} WHERE end IS NOT NULL ORDER BY start", text,
                    kTable));
    while (rows.next()) {
      processes_[rows.number(0) / kProcessUnit * kProcessUnit].process.ranges.push_back(
          {rows.text(3), {rows.time(1), std::max(rows.time(1), rows.time(2))}});
    }
  }

  void read_gpus() {
    constexpr const char* kTable = "TARGET_INFO_GPU";
    if (!database_.has_table(kTable)) return;
    const bool has_uuid = database_.has_column(kTable, "uuid"), has_pid = database_.has_column(kTable, "pid");
    Statement rows(database_, fmt::format("SELECT id, name, {}, {} FROM {}", has_uuid ? "uuid" : "''",
                                          has_pid ? "pid" : "0", kTable));
    while (rows.next()) {
      for (auto& [pid, reading] : processes_) {
        if (has_pid && rows.number(3) != 0 && rows.number(3) != pid) continue;
        reading.process.device_names.push_back(
            {static_cast<std::uint32_t>(rows.number(0)), rows.text(2), rows.text(1)});
      }
    }
  }

  std::filesystem::path file_;
  Database database_;
  std::unordered_map<std::int64_t, std::string> strings_;
  std::string unknown_ = "unknown";
  std::map<std::int64_t, Reading> processes_;
};

}  // namespace

void export_sqlite(const Timeline& timeline, const std::filesystem::path& file) {
  if (std::filesystem::exists(file))
    throw FailedError(fmt::format("'{}' cannot be written: File exists", file.string()));
  try {
    Writer(file).write(timeline);
  } catch (const UsageError& error) {
    throw FailedError(error.what());  // of SQLite: the file cannot be made
  }
}

Timeline read_nsight_systems(const std::filesystem::path& file) { return Reader(file).read(); }

Timeline read_timeline(const std::filesystem::path& path) {
  if (std::filesystem::is_directory(path)) return read_capture(path.string());
  std::ifstream stream(path, std::ios::binary);
  if (!stream)
    throw UsageError(fmt::format("'{}' is no capture and no file that can be read", path.string()));
  std::array<char, 16> first{};
  stream.read(first.data(), first.size());
  if (std::string_view(first.data(), first.size()) == std::string_view("SQLite format 3\0", 16))
    return read_nsight_systems(path);
  return read_profiler_trace(path);
}

}  // namespace jitterscope::timeline
