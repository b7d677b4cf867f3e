// Where attention's rows, of dim elements each, lie in memory.
#pragma once

#include "jitterscope/operation.hpp"

namespace jitterscope {

/// Of a tensor of queries or keys. Rows are counted through batch, heads and sequence, whatever the layout.
struct AttentionRows {
  std::int64_t batch, heads, length;
  HeadLayout layout;

  /// How many rows lie before this one.
  std::int64_t place(std::int64_t row) const {
    const std::int64_t position = row % length, head = row / length % heads, item = row / length / heads;
    switch (layout) {
      case HeadLayout::bhsd: break;
      case HeadLayout::bshd: return (item * length + position) * heads + head;
      case HeadLayout::sbhd: return (position * batch + item) * heads + head;
    }
    return row;
  }
  /// The row with so many before it.
  std::int64_t row(std::int64_t place) const {
    const std::int64_t head = place % heads, outer = place / heads;
    switch (layout) {
      case HeadLayout::bhsd: break;
      case HeadLayout::bshd: return (outer / length * heads + head) * length + outer % length;
      case HeadLayout::sbhd: return (outer % batch * heads + head) * length + outer / batch;
    }
    return place;
  }
};

inline AttentionRows query_rows(const Attention& attention) {
  return {attention.batch, attention.heads, attention.queries, attention.layout};
}
inline AttentionRows key_rows(const Attention& attention) {
  return {attention.batch, attention.heads, attention.keys, attention.layout};
}

}  // namespace jitterscope
