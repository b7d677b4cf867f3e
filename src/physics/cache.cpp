#include "physics/cache.hpp"

#include <algorithm>

namespace jitterscope::physics {
namespace {

constexpr Buffer kFilling = 0;

}  // namespace

Cache::Cache(const Parameters& parameters)
    : capacity_(parameters.memory.l2_capacity.value()),
      hits_always_(!parameters.has(Mechanism::cache)),
      writes_back_(parameters.has(Mechanism::dirty_lines)),
      lines_(1) {}

Buffer Cache::allocate(Bytes size) {
  Buffer buffer = static_cast<Buffer>(lines_.size());
  if (free_.empty()) {
    lines_.emplace_back();
  } else {
    buffer = free_.back();
    free_.pop_back();
  }
  lines_[buffer] = {.size = size.value()};
  return buffer;
}

void Cache::release(Buffer buffer) {
  remove(buffer);
  lines_[buffer] = {};
  free_.push_back(buffer);
}

/// All lines of a buffer; how many of them were modified.
std::int64_t Cache::remove(Buffer buffer) {
  Lines& lines = lines_[buffer];
  const std::int64_t modified = lines.modified;
  used_ -= lines.resident;
  lines.resident = lines.modified = 0;
  std::erase(in_cache_, buffer);
  return modified;
}

void Cache::fill(bool with_modified_lines) {
  for (const Buffer buffer : in_cache_) lines_[buffer].resident = lines_[buffer].modified = 0;
  in_cache_ = {kFilling};
  lines_[kFilling] = {.resident = capacity_,
                      .modified = with_modified_lines ? capacity_ : 0,
                      .size = capacity_,
                      .last_use = ++uses_};
  used_ = capacity_;
}

Traffic Cache::access(const std::vector<Access>& accesses) {
  Traffic traffic;
  for (const Access& access : accesses) {
    traffic.accessed += access.bytes;
    if (!hits_always_ && access.bytes.value() > 0) sweep(access, traffic);
  }
  if (!writes_back_) traffic.write_backs = Bytes(0);
  return traffic;
}

Cache::Lines& Cache::oldest() {
  return lines_[*std::min_element(in_cache_.begin(), in_cache_.end(), [&](Buffer a, Buffer b) {
    return lines_[a].last_use < lines_[b].last_use;
  })];
}

/// Evicts from the least recently used buffers; what was modified and must be written.
std::int64_t Cache::evict(std::int64_t bytes) {
  std::int64_t written = 0;
  while (bytes > 0 && !in_cache_.empty()) {
    Lines& lines = oldest();
    const std::int64_t out = std::min(bytes, lines.resident);
    // Which of a partly modified buffer's lines are modified is not known: evenly spread.
    const auto modified =
        out == lines.resident
            ? lines.modified
            : static_cast<std::int64_t>(static_cast<double>(lines.modified) *
                                        (static_cast<double>(out) / static_cast<double>(lines.resident)));
    lines.resident -= out;
    lines.modified -= modified;
    written += modified;
    used_ -= out;
    bytes -= out;
    if (lines.resident == 0) std::erase(in_cache_, static_cast<Buffer>(&lines - lines_.data()));
  }
  return written;
}

/// What can leave before a line of this buffer has to: the free room, and buffers used longer ago.
std::int64_t Cache::room_before(const Lines& lines) const {
  std::int64_t room = capacity_ - used_;
  for (const Buffer other : in_cache_) {
    if (lines_[other].last_use < lines.last_use) room += lines_[other].resident;
  }
  return room;
}

void Cache::sweep(const Access& access, Traffic& traffic) {
  Lines& lines = lines_[access.buffer];
  // A kernel may read its operand several times; only the first pass can miss.
  const std::int64_t bytes =
      lines.size > 0 ? std::min(access.bytes.value(), lines.size) : access.bytes.value();
  std::int64_t hits = std::min(bytes, lines.resident), written = 0;
  if (hits < bytes && bytes - hits > room_before(lines)) {
    // The first misses push out the very lines that come next, so that none is there when it is needed.
    hits = 0;
    written += remove(access.buffer);
  }
  if (const std::int64_t misses = bytes - hits; misses > 0) {
    const std::int64_t kept = std::min(misses, capacity_ - lines.resident);
    lines.last_use = ++uses_;
    written += evict(used_ + kept - capacity_);
    if (access.writes) written += misses - kept;
    if (lines.resident == 0) in_cache_.push_back(access.buffer);
    lines.resident += kept;
    used_ += kept;
  }
  lines.last_use = ++uses_;
  if (access.writes) lines.modified = std::min(lines.resident, std::max(lines.modified, bytes));
  if (!access.writes) traffic.read_misses += Bytes(bytes - hits);
  traffic.write_backs += Bytes(written);
}

}  // namespace jitterscope::physics
