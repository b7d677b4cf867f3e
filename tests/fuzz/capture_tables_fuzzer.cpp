// Tables with any values are a capture that can be shown: times that go backwards, launches that are missing,
// numbers of devices that are not there.
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "capture/format/arrow_stream.hpp"
#include "capture/sample_tables.hpp"
#include "timeline_check.hpp"

using namespace jitterscope;

namespace {

class InputBytes {
 public:
  InputBytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  std::uint8_t byte() { return empty() ? 0 : data_[at_++]; }
  std::uint64_t word() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8U | byte();
    return value;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
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

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fs = std::filesystem;
  const fs::path capture = fs::path("/dev/shm") / ("capture_tables_" + std::to_string(::getpid()));
  const fs::path process = capture / "p1-1";
  fs::create_directories(process);
  std::ofstream(process / "process.json") << R"({"pid": 1, "begin": 1, "command": ["a"], "problem": ""})";
  InputBytes bytes(data, size);
  write_table<capture::Kernels>(bytes, process.string());
  write_table<capture::Launches>(bytes, process.string());
  capture::for_each_table([&]<class Table>(const Table&) {
    if constexpr (std::is_same_v<Table, capture::Sensors>) {
      write_table<Table>(bytes, capture.string());
    } else if constexpr (!std::is_same_v<Table, capture::Kernels> &&
                         !std::is_same_v<Table, capture::Launches>) {
      write_table<Table>(bytes, process.string());
    }
  });
  check_timeline(timeline::read_capture(capture.string()));
  fs::remove_all(capture);
  return 0;
}
