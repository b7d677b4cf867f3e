#include "capture/format/arrow_stream.hpp"

#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "base/files.hpp"
#include "capture/format/settings.hpp"
#include "capture/sample_tables.hpp"

namespace jitterscope::capture {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// Rows first to last of a table as text, so that tables of any type can be compared.
template <class Table>
std::string shown(const Table& table, std::size_t first, std::size_t last) {
  std::string text;
  describe(table, [&]<class Value>(const char* name, const std::vector<Value>& column) {
    text += std::string(name) + ":";
    for (std::size_t i = first; i < last && i < column.size(); ++i) {
      if constexpr (std::is_same_v<Value, std::string>) {
        text += " '" + column[i] + "'";
      } else {
        text += " " + std::to_string(column[i]);
      }
    }
    text += "\n";
  });
  return text;
}

template <class Table>
Table sample(std::size_t rows) {
  Table table;
  fill(table, rows);
  return table;
}

class ArrowStream : public testing::Test {
 protected:
  std::string folder() const { return folder_.path().string(); }
  std::string path() const { return folder() + "/losses.arrows"; }
  std::string bytes() const { return file_text(path()).text; }
  void put(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }

  /// Reads these bytes as a file that lies in memory: there are thousands of them.
  template <class Table>
  StreamEnd read_bytes(const std::string& bytes, Table& table) const {
    const int file = ::memfd_create("stream", MFD_CLOEXEC);
    EXPECT_EQ(::write(file, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    const StreamEnd end = read_table("/proc/self/fd/" + std::to_string(file), table);
    ::close(file);
    return end;
  }

  /// A small file of three batches, of 1, 2 and 3 rows; returns its size after each.
  std::vector<std::size_t> write_batches() const {
    std::vector<std::size_t> sizes;
    TableWriter<Losses> writer(folder());
    for (const std::size_t rows : {1, 2, 3}) {
      writer.rows = sample<Losses>(rows);
      EXPECT_EQ(writer.write(), 0);
      sizes.push_back(writer.bytes());
    }
    EXPECT_EQ(writer.finish(), 0);
    return sizes;
  }
  /// What was written, batch after batch.
  static Losses all_batches() {
    Losses whole;
    for (const std::size_t rows : {1, 2, 3}) {
      const Losses part = sample<Losses>(rows);
      std::size_t number = 0;
      describe(whole, [&]<class Value>(const char*, std::vector<Value>& column) {
        for (std::size_t i = 0; i < rows; ++i) column.push_back(sample_value<Value>(number, i));
        ++number;
      });
    }
    return whole;
  }

  TemporaryFolder folder_;
};

TEST_F(ArrowStream, EveryTableReadsAsItWasWritten) {
  for_each_table([&]<class Table>(const Table&) {
    TableWriter<Table> writer(folder());
    writer.rows = sample<Table>(100);
    EXPECT_EQ(writer.size(), 100u);
    EXPECT_EQ(writer.write(), 0);
    EXPECT_EQ(writer.size(), 0u);
    writer.rows = sample<Table>(7);
    EXPECT_EQ(writer.write(), 0);
    EXPECT_EQ(writer.finish(), 0);
    Table read;
    const StreamEnd end = read_table(folder() + "/" + Table::kName + ".arrows", read);
    EXPECT_EQ(end.problem, "") << Table::kName;
    EXPECT_TRUE(end.is_complete) << Table::kName;
    EXPECT_EQ(end.rows, 107u) << Table::kName;
    EXPECT_EQ(shown(read, 0, 100), shown(sample<Table>(100), 0, 100)) << Table::kName;
    EXPECT_EQ(shown(read, 100, 107), shown(sample<Table>(7), 0, 7)) << Table::kName;
  });
}

TEST_F(ArrowStream, ATableWithoutRowsHasNoFile) {
  TableWriter<Losses> writer(folder());
  EXPECT_EQ(writer.write(), 0);
  EXPECT_EQ(writer.finish(), 0);
  EXPECT_FALSE(std::filesystem::exists(path()));
  Losses none;
  EXPECT_THAT(read_table(path(), none).problem, HasSubstr("No such file"));
}

TEST_F(ArrowStream, OneWhoseProcessWasEndedIsNotComplete) {
  {
    TableWriter<Losses> writer(folder());
    writer.rows = sample<Losses>(2);
    EXPECT_EQ(writer.write(), 0);
  }
  Losses read;
  const StreamEnd end = read_table(path(), read);
  EXPECT_FALSE(end.is_complete);
  EXPECT_EQ(end.problem, "");
  EXPECT_EQ(end.rows, 2u);
}

TEST_F(ArrowStream, OneThatIsCutAnywhereReadsAsItsWholeBatches) {
  const std::vector<std::size_t> sizes = write_batches();
  const std::string whole = bytes();
  const Losses written = all_batches();
  const std::size_t rows[] = {0, 1, 3, 6};
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    Losses read;
    const StreamEnd end = read_bytes(whole.substr(0, length), read);
    const auto batches = std::ranges::count_if(sizes, [&](std::size_t size) { return size <= length; });
    EXPECT_EQ(end.rows, rows[batches]) << length;
    EXPECT_EQ(end.is_complete, length == whole.size()) << length;
    EXPECT_EQ(end.problem, "") << length;
    EXPECT_EQ(shown(read, 0, 6), shown(written, 0, rows[batches])) << length;
  }
}

// Of each table two batches, the second of which is cut by a byte more each time.
TEST_F(ArrowStream, EveryTableThatIsCutAnywhereReadsAsItsWholeBatches) {
  for_each_table([&]<class Table>(const Table&) {
    std::size_t first = 0;
    const std::string file = folder() + "/" + Table::kName + ".arrows";
    {
      TableWriter<Table> writer(folder());
      writer.rows = sample<Table>(3);
      EXPECT_EQ(writer.write(), 0);
      first = writer.bytes();
      writer.rows = sample<Table>(2);
      EXPECT_EQ(writer.write(), 0);
      EXPECT_EQ(writer.finish(), 0);
    }
    const std::string whole = file_text(file).text;
    constexpr std::size_t kMarker = 8;
    for (std::size_t length = 0; length <= whole.size(); ++length) {
      Table read;
      const StreamEnd end = read_bytes(whole.substr(0, length), read);
      const std::size_t rows = length < first ? 0 : length < whole.size() - kMarker ? 3 : 5;
      ASSERT_EQ(end.rows, rows) << Table::kName << " cut at " << length;
      ASSERT_EQ(end.problem, "") << Table::kName << " cut at " << length;
      ASSERT_EQ(shown(read, 0, 3), shown(sample<Table>(3), 0, std::min<std::size_t>(rows, 3)))
          << Table::kName;
    }
  });
}

// Rows that come out are those that were written, and where some are missing, the end says so.
TEST_F(ArrowStream, NoDamagedByteGoesUnseen) {
  write_batches();
  const std::string whole = bytes();
  const Losses written = all_batches();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const int flipped : {0x01, 0x80, 0xFF}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ flipped);
      Losses read;
      const StreamEnd end = read_bytes(damaged, read);
      ASSERT_LE(end.rows, 6u) << i;
      ASSERT_EQ(shown(read, 0, 6), shown(written, 0, end.rows)) << "byte " << i << " flipped by " << flipped;
      if (end.rows < 6) {
        ASSERT_TRUE(!end.problem.empty() || !end.is_complete) << i;
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, whole.size());  // most bytes matter
}

TEST_F(ArrowStream, FilesOfOtherVersionsReadAsFarAsTheyAgree) {
  const std::vector<std::int64_t> starts = {-4, 5};
  const std::vector<std::string> sentences = {"a", "b"}, others = {"x", "y"};
  const std::vector<std::uint32_t> counts = {32, 64};  // of another type than now
  StreamWriter writer(path());
  EXPECT_EQ(writer.write(std::array{ColumnView{"of_tomorrow", ColumnType::text, 2, others.data()},
                                    ColumnView{"sentence", ColumnType::text, 2, sentences.data()},
                                    ColumnView{"count", ColumnType::u32, 2, counts.data()},
                                    ColumnView{"from", ColumnType::i64, 2, starts.data()}}),
            0);
  EXPECT_EQ(writer.finish(), 0);
  Losses read;
  const StreamEnd end = read_table(path(), read);
  EXPECT_EQ(end.problem, "");
  EXPECT_TRUE(end.is_complete);
  EXPECT_EQ(read.from, starts);
  EXPECT_EQ(read.sentence, sentences);
  EXPECT_EQ(read.count, (std::vector<std::uint64_t>{0, 0}));
  EXPECT_EQ(read.to, (std::vector<std::int64_t>{0, 0}));
}

TEST_F(ArrowStream, OtherFilesAreRefused) {
  for (const std::string& other :
       {std::string("{\"format\": \"jitterscope-record\"}"), std::string(100, '\0'),
        std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F", 8)}) {
    put(other);
    Losses read;
    EXPECT_NE(read_table(path(), read).problem, "");
    EXPECT_THAT(read.from, IsEmpty());
  }
}

TEST_F(ArrowStream, AFileThatIsThereIsNotWrittenOver) {
  put("mine");
  TableWriter<Losses> writer(folder());
  writer.rows = sample<Losses>(1);
  EXPECT_EQ(writer.write(), EEXIST);
  EXPECT_EQ(bytes(), "mine");
}

// A limit on the size of files stands in for a full disk. In a process of its own: the limit holds for all
// files.
TEST_F(ArrowStream, ABatchThatTheDiskDoesNotTakeIsTakenBack) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    TableWriter<Losses> writer(folder());
    const auto write = [&] {
      writer.rows = sample<Losses>(2);
      return writer.write();
    };
    if (write() != 0) ::_exit(1);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit full{writer.bytes() + 50, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &full);
    const std::uint64_t before = writer.bytes();
    if (write() != EFBIG || writer.bytes() != before) ::_exit(2);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(write() == 0 && writer.finish() == 0 ? 0 : 3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  Losses read;
  const StreamEnd end = read_table(path(), read);
  EXPECT_EQ(end.problem, "");
  EXPECT_TRUE(end.is_complete);
  EXPECT_EQ(end.rows, 4u);
  EXPECT_EQ(shown(read, 2, 4), shown(sample<Losses>(2), 0, 2));
}

TEST(CaptureSettings, AreTheSameAsTextAndBack) {
  const Settings settings{.detail = DetailChoice::full,
                          .graphs = GraphChoice::whole,
                          .start_after_ms = 1500,
                          .duration_ms = 60'000,
                          .start_after_steps = 100,
                          .full_every_ms = 7,
                          .ranges = "a name, with=all ,ranges=of it"};
  EXPECT_EQ(parse_settings(to_text(settings)), settings);
  EXPECT_EQ(parse_settings("of_tomorrow=3,duration_ms=5,detail"), Settings{.duration_ms = 5});
  EXPECT_EQ(parse_settings(""), Settings{});
}

}  // namespace
}  // namespace jitterscope::capture
