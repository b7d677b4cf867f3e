// Any file is a capture that can be shown, or it is refused with a sentence.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "capture/format/arrow_stream.hpp"
#include "capture/sample_tables.hpp"
#include "fuzzers.hpp"
#include "import/library_log.hpp"
#include "jitterscope/error.hpp"
#include "timeline/exports.hpp"
#include "timeline_check.hpp"

namespace jitterscope {
namespace {

void read_all(const std::string& path) {
  capture::StreamReader reader(path);
  std::size_t rows = 0;
  while (reader.next()) {
    rows += reader.rows();
    for (std::size_t i = 0; i < reader.columns().size(); ++i) {
      if (reader.columns()[i].type == capture::ColumnType::text) {
        if (reader.texts(i).size() != reader.rows()) std::abort();
      } else if (reader.values(i).size() % (reader.rows() == 0 ? 1 : reader.rows()) != 0) {
        std::abort();
      }
    }
  }
  if (reader.end().rows < rows || (reader.end().is_complete && !reader.end().problem.empty())) std::abort();
}

void read_words(const std::string& words) {
  for (const auto& read : {library_log::convolution_of_words, library_log::product_of_words}) {
    try {
      if (read(words, "ConvFwd_eng38_k2=1").operands().empty()) std::abort();
    } catch (const UsageError& error) {
      if (*error.what() == '\0') std::abort();
    }
  }
}

class InputBytes {
 public:
  explicit InputBytes(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return at_ >= bytes_.size(); }
  std::uint8_t byte() { return empty() ? 0 : static_cast<std::uint8_t>(bytes_[at_++]); }
  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8U | byte();
    return value;
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

// Most values are such as programs make, so that there is something to analyse; the last few of a byte stand
// for any.
template <class Value>
Value value_of(InputBytes& bytes, std::string_view column, const std::vector<Value>& before) {
  constexpr std::uint8_t kAny = 250;
  const std::uint8_t control = bytes.byte();
  if constexpr (std::is_same_v<Value, std::string>) {
    return std::string(1 + control % 4, static_cast<char>(control));
  } else if constexpr (std::is_same_v<Value, std::uint8_t>) {
    return control >= kAny ? bytes.byte() : control % 4;
  } else if (control >= kAny) {
    return static_cast<Value>(bytes.word());
  } else if constexpr (!std::is_same_v<Value, std::int64_t>) {
    return control % 8;
  } else if (column == "duration") {
    return Value{control} * 100;
  } else {
    return static_cast<Value>(
        (before.empty() ? 1'700'000'000'000'000'000 : static_cast<std::uint64_t>(before.back())) +
        std::uint64_t{control} * 200);
  }
}

template <class Table>
void write_table(InputBytes& bytes, const std::string& folder) {
  constexpr std::size_t kMostRows = 500;
  const std::size_t rows = bytes.byte() % 32, repeats = 1 + bytes.byte();
  if (rows == 0) return;
  capture::TableWriter<Table> writer(folder);
  capture::describe(writer.rows, [&]<class Value>(const char* name, std::vector<Value>& column) {
    for (std::size_t i = 0; i < rows; ++i) column.push_back(value_of(bytes, name, column));
    // Steps: the same again, later.
    for (std::size_t i = rows; i < std::min(rows * repeats, kMostRows); ++i) {
      Value next = column[i - rows];
      if constexpr (std::is_same_v<Value, std::int64_t>) {
        if (std::string_view(name) != "duration")
          next = static_cast<Value>(static_cast<std::uint64_t>(next) + 1'000'000);
      }
      column.push_back(std::move(next));
    }
  });
  writer.write();
  writer.finish();
}

}  // namespace

// A table of a capture, of which whole batches are read; and any text in it is a call of a library that can
// be run again, or it is said why not.
void fuzz_capture(std::string_view input) {
  const int file = ::memfd_create("stream", MFD_CLOEXEC);
  if (file < 0 || ::write(file, input.data(), input.size()) != static_cast<ssize_t>(input.size()))
    std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  read_all(path);
  ::close(file);
  read_words(std::string(input));
}

// Tables with any values: times that go backwards, launches that are missing, numbers of devices that are not
// there.
void fuzz_capture_tables(std::string_view input) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path("/dev/shm") / ("capture_tables_" + std::to_string(::getpid()));
  const fs::path process = folder / "p1-1";
  fs::create_directories(process);
  std::ofstream(process / "process.json") << R"({"pid": 1, "begin": 1, "command": ["a"], "problem": ""})";
  InputBytes bytes(input);
  write_table<capture::Kernels>(bytes, process.string());
  write_table<capture::Launches>(bytes, process.string());
  capture::for_each_table([&]<class Table>(const Table&) {
    if constexpr (std::is_same_v<Table, capture::Sensors>) {
      write_table<Table>(bytes, folder.string());
    } else if constexpr (!std::is_same_v<Table, capture::Kernels> &&
                         !std::is_same_v<Table, capture::Launches>) {
      write_table<Table>(bytes, process.string());
    }
  });
  check_timeline(timeline::read_capture(folder.string()));
  fs::remove_all(folder);
}

void fuzz_nsight_systems(std::string_view input) {
  // SQLite opens no file without a name.
  const std::filesystem::path file = "/dev/shm/nsight_systems_" + std::to_string(::getpid());
  std::ofstream(file, std::ios::binary).write(input.data(), static_cast<std::streamsize>(input.size()));
  try {
    check_timeline(timeline::read_nsight_systems(file));
  } catch (const UsageError&) {
  }
  std::filesystem::remove(file);
}

}  // namespace jitterscope
