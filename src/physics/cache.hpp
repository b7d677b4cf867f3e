// The L2 cache: how much of each buffer it holds, and how much of that is modified.
#pragma once

#include <cstdint>
#include <vector>

#include "physics/machine.hpp"

namespace jitterscope::physics {

/// Least recently used first out, by buffers: each is swept from its beginning, so that what is left of a
/// buffer is its end, and a sweep of more than fits evicts what it is about to need.
class Cache {
 public:
  explicit Cache(const Parameters& parameters);

  Buffer allocate(Bytes size);
  void release(Buffer buffer);
  void fill(bool with_modified_lines);
  Traffic access(const std::vector<Access>& accesses);

  Bytes resident(Buffer buffer) const { return Bytes(lines_[buffer].resident); }
  Bytes modified(Buffer buffer) const { return Bytes(lines_[buffer].modified); }

 private:
  struct Lines {
    std::int64_t resident = 0, modified = 0, size = 0;
    std::uint64_t last_use = 0;
  };
  Lines& oldest();
  std::int64_t remove(Buffer buffer);
  std::int64_t evict(std::int64_t bytes);
  std::int64_t room_before(const Lines& lines) const;
  void sweep(const Access& access, Traffic& traffic);

  std::int64_t capacity_;
  bool hits_always_, writes_back_;
  std::vector<Lines> lines_;      ///< by buffer; the first holds what fill() brought
  std::vector<Buffer> free_;      ///< released numbers
  std::vector<Buffer> in_cache_;  ///< buffers with resident lines
  std::int64_t used_ = 0;
  std::uint64_t uses_ = 0;
};

}  // namespace jitterscope::physics
