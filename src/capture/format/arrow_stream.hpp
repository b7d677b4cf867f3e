// Tables as streams of Arrow's IPC format, compressed by zstd: pyarrow, Polars and others read the files as
// they are. A stream is appended to, batch by batch, so that a process that is killed leaves all whole
// batches. Format:
// https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "capture/format/tables.hpp"

namespace jitterscope::capture {

enum class ColumnType : std::uint8_t { u8, u32, u64, i64, f64, text };

template <class Value>
constexpr ColumnType column_type() {
  if constexpr (std::is_same_v<Value, std::uint8_t>) {
    return ColumnType::u8;
  } else if constexpr (std::is_same_v<Value, std::uint32_t>) {
    return ColumnType::u32;
  } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
    return ColumnType::u64;
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    return ColumnType::i64;
  } else if constexpr (std::is_same_v<Value, double>) {
    return ColumnType::f64;
  } else {
    static_assert(std::is_same_v<Value, std::string>);
    return ColumnType::text;
  }
}

/// A column of one batch, for writing.
struct ColumnView {
  const char* name;
  ColumnType type;
  std::size_t rows;
  const void* values;  ///< of a text column: std::string's
};

/// A file that grows by batches. It never throws for what the file system does: the recorder must not disturb
/// the program that it sits in.
class StreamWriter {
 public:
  /// The file is created by the first write; `path` must not exist. One that cannot be created fails that
  /// write.
  explicit StreamWriter(std::string path);
  /// Closes the file without an end marker: the stream reads as one whose process was ended.
  ~StreamWriter();
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  /// Appends a batch; returns 0 or errno. A batch that did not fit (a full disk) is taken back, so that the
  /// file ends with a whole one. All batches must have the same columns.
  int write(std::span<const ColumnView> columns);
  /// Creates the file, where that is not done yet, and has the disk keep so many bytes for what comes next;
  /// returns 0 or errno.
  int reserve(std::span<const ColumnView> columns, std::size_t bytes);
  /// Writes the end marker; returns 0 or errno.
  int finish();
  /// Bytes in the file.
  std::uint64_t size() const { return size_; }

 private:
  int open(std::span<const ColumnView> columns);
  int append(const std::string& bytes);

  std::string path_;
  int file_ = -1;
  bool is_broken_ = false;
  std::uint64_t size_ = 0;
  std::unique_ptr<struct Compressor> compressor_;
};

/// Rows that are collected and written to their file.
template <class Table>
class TableWriter {
 public:
  explicit TableWriter(const std::string& folder) : stream_(folder + "/" + Table::kName + ".arrows") {}

  Table rows;

  /// The rows that wait. Where memory ran out in the midst of one, that one does not count.
  std::size_t size() const {
    std::size_t count = SIZE_MAX;
    describe(rows, [&](const char*, const auto& column) { count = std::min(count, column.size()); });
    return count;
  }
  /// Leaves so many rows, the first.
  void cut(std::size_t count) {
    describe(rows, [&](const char*, auto& column) {
      if (column.size() > count) column.resize(count);
    });
  }
  /// Writes the rows, if there are any; returns 0 or errno, where they stay for another time.
  int write() {
    if (size() == 0) return 0;
    const int problem = stream_.write(columns());
    if (problem == 0) cut(0);
    return problem;
  }
  int reserve(std::size_t bytes) { return stream_.reserve(columns(), bytes); }
  int finish() { return stream_.finish(); }
  std::uint64_t bytes() const { return stream_.size(); }

 private:
  std::vector<ColumnView> columns() const {
    std::vector<ColumnView> columns;
    describe(rows, [&]<class Value>(const char* name, const std::vector<Value>& column) {
      columns.push_back({name, column_type<Value>(), column.size(), column.data()});
    });
    return columns;
  }

  StreamWriter stream_;
};

/// How reading a stream ended.
struct StreamEnd {
  bool is_complete = false;  ///< the end marker was read
  std::size_t rows = 0;
  std::string
      problem;  ///< why reading stopped where it did; empty: at the end of the file's last whole batch
};

/// Reads a file batch by batch. Sizes are checked before memory is taken, so that no file, damaged as it may
/// be, can do more than be refused.
class StreamReader {
 public:
  struct Column {
    std::string name;
    ColumnType type;
  };

  /// Opens and reads the schema. A problem is in `end()`, and next() is false then.
  explicit StreamReader(const std::string& path);
  ~StreamReader();
  StreamReader(const StreamReader&) = delete;
  StreamReader& operator=(const StreamReader&) = delete;

  const std::vector<Column>& columns() const { return columns_; }
  /// Reads the next batch; false at the end, or where the file cannot be read any further.
  bool next();
  std::size_t rows() const { return rows_; }
  /// The batch's values of a column that holds numbers, `rows()` times the width of its type.
  std::span<const std::byte> values(std::size_t column) const;
  std::vector<std::string> texts(std::size_t column) const;
  const StreamEnd& end() const { return end_; }

 private:
  enum class Found { message, end, nothing };
  Found read_message();
  bool read_schema();
  bool read_batch();
  bool stop(std::string problem);

  std::unique_ptr<struct OpenFile> file_;
  std::vector<Column> columns_;
  std::vector<char> metadata_, body_;
  struct Buffers {
    std::vector<std::byte> values;
    std::vector<std::int32_t> offsets;
  };
  std::vector<Buffers> buffers_;
  std::size_t rows_ = 0;
  StreamEnd end_;
};

/// Appends the batch that was read last to `table`. A column that the file lacks, or has with another type,
/// is filled with zeros or empty texts: files of other versions can be read. Columns that the table lacks are
/// passed over.
template <class Table>
void append_batch(const StreamReader& reader, Table& table) {
  describe(table, [&]<class Value>(const char* name, std::vector<Value>& column) {
    const std::size_t before = column.size();
    column.resize(before + reader.rows());
    for (std::size_t i = 0; i < reader.columns().size(); ++i) {
      if (reader.columns()[i].name != name || reader.columns()[i].type != column_type<Value>()) continue;
      if constexpr (std::is_same_v<Value, std::string>) {
        std::vector<std::string> texts = reader.texts(i);
        std::move(texts.begin(), texts.end(), column.begin() + static_cast<std::ptrdiff_t>(before));
      } else {
        std::memcpy(column.data() + before, reader.values(i).data(), reader.values(i).size());
      }
    }
  });
}

/// Appends a table's file to `table`.
template <class Table>
StreamEnd read_table(const std::string& path, Table& table) {
  StreamReader reader(path);
  while (reader.next()) append_batch(reader, table);
  return reader.end();
}

}  // namespace jitterscope::capture
