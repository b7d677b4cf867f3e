// Tables of a capture, filled by a rule that a reader in another language can follow.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "capture/format/tables.hpp"

namespace jitterscope::capture {

/// Calls `take(Table{})` for each table of the format.
template <class Take>
void for_each_table(Take&& take) {
  take(Launches{});
  take(Kernels{});
  take(GraphLaunches{});
  take(Copies{});
  take(Calls{});
  take(Operations{});
  take(OperationLaunches{});
  take(Operands{});
  take(Overheads{});
  take(Memory{});
  take(Ranges{});
  take(Texts{});
  take(Windows{});
  take(Losses{});
  take(Devices{});
  take(Sensors{});
  take(Clocks{});
  take(LaunchCounts{});
}

/// The value of a row in the column of that number: 64-bit ones need all their bits, and each third text is
/// empty.
template <class Value>
Value sample_value(std::size_t column, std::size_t row) {
  const std::uint64_t number = row * 11 + column;
  if constexpr (std::is_same_v<Value, std::string>) {
    return row % 3 == 0 ? "" : "name " + std::to_string(number) + " µs";
  } else if constexpr (std::is_same_v<Value, std::int64_t>) {
    return -static_cast<std::int64_t>(number) * 1'000'000'007;
  } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
    return ~std::uint64_t{0} - number;
  } else {
    return static_cast<Value>(number);
  }
}

/// Appends rows.
template <class Table>
void fill(Table& table, std::size_t rows) {
  std::size_t number = 0;
  describe(table, [&]<class Value>(const char*, std::vector<Value>& column) {
    for (std::size_t i = 0; i < rows; ++i) column.push_back(sample_value<Value>(number, column.size()));
    ++number;
  });
}

}  // namespace jitterscope::capture
