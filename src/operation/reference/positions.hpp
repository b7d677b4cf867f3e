// Where elements lie in tensors of four dimensions.
#pragma once

#include <cstdint>
#include <vector>

#include "jitterscope/operation.hpp"

namespace jitterscope::reference {

/// Outer, channel, height, width (of a weight: k, c/groups, r, s).
struct Position {
  std::int64_t outer, channel, row, column;
};

struct Shape {
  std::int64_t channels, rows, columns;
  Layout layout;

  std::int64_t index(const Position& at) const {
    return layout == Layout::nchw
               ? ((at.outer * channels + at.channel) * rows + at.row) * columns + at.column
               : ((at.outer * rows + at.row) * columns + at.column) * channels + at.channel;
  }
  Position position(std::int64_t flat) const {
    const auto take = [&flat](std::int64_t size) {
      const std::int64_t digit = flat % size;
      flat /= size;
      return digit;
    };
    Position at{};
    if (layout == Layout::nhwc) at.channel = take(channels);
    at.column = take(columns);
    at.row = take(rows);
    if (layout == Layout::nchw) at.channel = take(channels);
    at.outer = flat;
    return at;
  }
};

inline bool inside(std::int64_t position, std::int64_t size) { return position >= 0 && position < size; }

/// values[index] by the signed numbers that shapes are counted in.
inline double at(const std::vector<double>& values, std::int64_t index) {
  return values[static_cast<std::size_t>(index)];
}

}  // namespace jitterscope::reference
