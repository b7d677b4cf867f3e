#include "device/allocation/allocators.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/names.hpp"
#include "base/quantity_text.hpp"
#include "base/random.hpp"
#include "jitterscope/error.hpp"
#include "operation/kinds.hpp"
#include "operation/words.hpp"

namespace jitterscope {
namespace {

constexpr std::string_view kSequences = "@sequences";
constexpr std::size_t kMostEvents = 1'000'000;

class PatternBuilder {
 public:
  std::size_t allocate(Bytes size) {
    const std::size_t block = pattern_.blocks.size();
    pattern_.blocks.push_back(size);
    pattern_.events.push_back({false, block, size});
    return block;
  }
  void release(std::size_t block) { pattern_.events.push_back({true, block, pattern_.blocks[block]}); }
  const AllocationPattern& pattern() const { return pattern_; }

 private:
  AllocationPattern pattern_;
};

AllocationPattern uniform(const Allocation& allocation) {
  PatternBuilder builder;
  const auto count = static_cast<std::size_t>(allocation.count);
  for (std::size_t i = 0; i < count; ++i) builder.allocate(Bytes(allocation.bytes));
  for (std::size_t block = 0; block < count; ++block) builder.release(block);
  return builder.pattern();
}

// Training of a small transformer on batches of 8 sequences in f16, each batch of another length: blocks kept
// by the forward pass are freed layer by layer in the backward pass. Different lengths make blocks that fit
// no later request exactly.
AllocationPattern sequences() {
  constexpr int kSteps = 4, kLayers = 6;
  constexpr std::int64_t kShortest = 128, kLengths = 896, kBytesOfToken = std::int64_t{8} * 1024 * 2;
  PatternBuilder builder;
  Random random(1);
  for (int step = 0; step < kSteps; ++step) {
    const std::int64_t length = kShortest + static_cast<std::int64_t>(random.below(kLengths));
    const Bytes hidden(length * kBytesOfToken), wide(4 * length * kBytesOfToken);
    std::vector<std::vector<std::size_t>> kept;
    for (int layer = 0; layer < kLayers; ++layer) {
      const std::size_t queries_keys_values = builder.allocate(Bytes(3 * hidden.value()));
      const std::size_t attended = builder.allocate(hidden);
      const std::size_t projected = builder.allocate(hidden);
      const std::size_t widened = builder.allocate(wide);
      const std::size_t output = builder.allocate(hidden);
      builder.release(projected);
      kept.push_back({queries_keys_values, attended, widened, output});
    }
    for (auto layer = kept.rbegin(); layer != kept.rend(); ++layer) {
      const std::size_t wide_gradient = builder.allocate(wide);
      const std::size_t gradient = builder.allocate(hidden);
      for (const std::size_t block : *layer) builder.release(block);
      builder.release(wide_gradient);
      builder.release(gradient);
    }
  }
  return builder.pattern();
}

class PatternReader {
 public:
  explicit PatternReader(const std::string& file) : file_(file) {}

  void read(std::string_view line) {
    ++line_;
    const std::vector<std::string> words = split(line.substr(0, line.find('#')));
    if (words.empty()) return;
    if (words[0] == "alloc" && words.size() == 3) return allocate(words[1], words[2]);
    if (words[0] == "free" && words.size() == 2) return release(words[1]);
    fail(fmt::format("{} is neither 'alloc NAME BYTES' nor 'free NAME'", in_quotes(line)));
  }

  AllocationPattern finish() {
    if (builder_.pattern().events.empty()) {
      throw UsageError(printable(file_, 200) +
                       " holds no events: write lines such as 'alloc a 1Mi' and 'free a'");
    }
    if (!live_.empty()) {
      const auto first =
          std::ranges::min_element(live_, {}, [](const auto& entry) { return entry.second.line; });
      line_ = first->second.line;
      fail(fmt::format(
          "{} is never freed ({} of {} blocks are not): a pattern is replayed, so end it with 'free {}'",
          in_quotes(first->first), live_.size(), builder_.pattern().blocks.size(),
          printable(first->first, 60)));
    }
    return builder_.pattern();
  }

 private:
  struct Live {
    std::size_t block = 0, line = 0;
  };

  static std::vector<std::string> split(std::string_view line) {
    constexpr std::string_view kBlanks = " \t\r";
    std::vector<std::string> words;
    for (std::size_t at = line.find_first_not_of(kBlanks); at != std::string_view::npos;) {
      const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
      words.emplace_back(line.substr(at, end - at));
      at = line.find_first_not_of(kBlanks, end);
    }
    return words;
  }

  void allocate(const std::string& name, const std::string& size) {
    const std::optional<std::int64_t> bytes = read_count(size, Counted::bytes);
    if (!bytes || *bytes < 1 || *bytes > kLargestCount) {
      fail(fmt::format("{} is not a number of bytes from 1 to 1 TiB, such as 4096 or 1Mi", in_quotes(size)));
    }
    if (const auto live = live_.find(name); live != live_.end()) {
      fail(fmt::format("{} is allocated again and was not freed since line {}", in_quotes(name),
                       live->second.line));
    }
    if (builder_.pattern().events.size() >= kMostEvents)
      fail("these are more than a million events; take a part");
    live_[name] = {builder_.allocate(Bytes(*bytes)), line_};
  }

  void release(const std::string& name) {
    const auto live = live_.find(name);
    if (live == live_.end()) fail(fmt::format("{} is freed and was not allocated before", in_quotes(name)));
    builder_.release(live->second.block);
    live_.erase(live);
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw UsageError(fmt::format("{}, line {}: {}", printable(file_, 200), line_, problem));
  }

  const std::string& file_;
  std::size_t line_ = 0;
  PatternBuilder builder_;
  std::map<std::string, Live> live_;
};

}  // namespace

AllocationPattern read_pattern(std::string_view text, const std::string& file) {
  PatternReader reader(file);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.read(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return reader.finish();
}

AllocationPattern pattern_of(const Allocation& allocation) {
  if (allocation.pattern.empty()) return uniform(allocation);
  if (allocation.pattern == kSequences) return sequences();
  if (allocation.pattern.starts_with('@')) {
    const std::vector<std::string> known = {std::string(kSequences)};
    throw UsageError(fmt::format("no pattern {} is carried by the program{}; a file's name begins otherwise",
                                 in_quotes(allocation.pattern), suggestion(allocation.pattern, known)));
  }
  const auto [text, problem] = file_text(allocation.pattern);
  if (problem) {
    throw UsageError(fmt::format(
        "{} cannot be read: no pattern of allocations is there (the path is relative to the folder "
        "that jitterscope is called in)",
        printable(allocation.pattern, 200)));
  }
  return read_pattern(text, allocation.pattern);
}

Bytes most_at_once(const AllocationPattern& pattern) {
  std::int64_t now = 0, most = 0;
  for (const AllocationEvent& event : pattern.events) {
    now += event.is_release ? -event.size.value() : event.size.value();
    most = std::max(most, now);
  }
  return Bytes(most);
}

PlacedBlocks place_blocks(const AllocationPattern& pattern) {
  constexpr std::int64_t kAlignment = 512;
  PlacedBlocks placed{std::vector<Bytes>(pattern.blocks.size()), Bytes(0)};
  std::map<std::int64_t, std::int64_t> in_use;  // begin to end
  for (const AllocationEvent& event : pattern.events) {
    if (event.is_release) {
      in_use.erase(placed.offsets[event.block].value());
      continue;
    }
    const std::int64_t size = (event.size.value() + kAlignment - 1) / kAlignment * kAlignment;
    std::int64_t begin = 0;
    for (const auto& [other, end] : in_use) {
      if (other - begin >= size) break;
      begin = end;
    }
    in_use[begin] = begin + size;
    placed.offsets[event.block] = Bytes(begin);
    placed.size = std::max(placed.size, Bytes(begin + size));
  }
  return placed;
}

namespace {

// PyTorch's kMinBlockSize, kSmallSize, kMinLargeAlloc and kRoundLarge.
constexpr std::int64_t kGrain = 512, kLargestSmall = 1 << 20, kOwnSegment = 10 << 20, kOwnGrain = 2 << 20;

std::int64_t rounded(std::int64_t size, std::int64_t step) { return (size + step - 1) / step * step; }

}  // namespace

CachingAllocator::CachingAllocator(Growth growth, std::unique_ptr<SegmentSource> small,
                                   std::unique_ptr<SegmentSource> large)
    : growth_(growth), pools_{Pool{std::move(small)}, Pool{std::move(large)}} {}

CachingAllocator::~CachingAllocator() { give_back_free_segments(); }

bool CachingAllocator::splits(const Pool& pool, std::int64_t rest) const {
  if (is_small(pool) || growth_ == Growth::range) return rest >= kGrain;
  return rest > kLargestSmall;
}

std::int64_t CachingAllocator::segment_size(const Pool& pool, std::int64_t size) const {
  const std::int64_t usual = is_small(pool) ? kSmallSegment.value() : kLargeSegment.value();
  if (growth_ == Growth::range) return rounded(size, usual);
  return is_small(pool) || size < kOwnSegment ? usual : rounded(size, kOwnGrain);
}

CachingAllocator::Blocks::iterator CachingAllocator::grow(Pool& pool, std::int64_t size) {
  std::int64_t missing = size;
  if (growth_ == Growth::range && !pool.blocks.empty()) {
    const Block& last = std::prev(pool.blocks.end())->second;
    if (last.is_free) missing -= last.size;
  }
  const std::int64_t taken = segment_size(pool, missing);
  std::uintptr_t address = 0;
  try {
    address = pool.source->take(Bytes(taken));
  } catch (const FailedError&) {
    if (growth_ == Growth::range) throw;
    give_back_free_segments();
    address = pool.source->take(Bytes(taken));
  }
  held_ += taken;
  const bool continues = growth_ == Growth::range && !pool.blocks.empty();
  const std::uintptr_t segment = continues ? pool.blocks.begin()->second.segment : address;
  return make_free(pool, pool.blocks.emplace(address, Block{taken, segment, false}).first);
}

std::uintptr_t CachingAllocator::take(Pool& pool, std::int64_t size) {
  const auto found = pool.free.lower_bound({size, 0});
  const auto block = found != pool.free.end() ? pool.blocks.find(found->second) : grow(pool, size);
  pool.free.erase({block->second.size, block->first});
  block->second.is_free = false;
  const std::int64_t rest = block->second.size - size;
  if (splits(pool, rest)) {
    const std::uintptr_t address = block->first + static_cast<std::uintptr_t>(size);
    pool.blocks.emplace(address, Block{rest, block->second.segment, true});
    pool.free.emplace(rest, address);
    block->second.size = size;
  }
  return block->first;
}

std::uintptr_t CachingAllocator::allocate(Bytes size) {
  const std::int64_t whole = rounded(size.value(), kGrain);
  return take(whole <= kLargestSmall ? pools_[0] : pools_[1], whole);
}

void CachingAllocator::release(std::uintptr_t address) {
  for (Pool& pool : pools_) {
    const auto block = pool.blocks.find(address);
    if (block == pool.blocks.end()) continue;
    make_free(pool, block);
    return;
  }
  throw std::logic_error("a block is freed that was not allocated");
}

CachingAllocator::Blocks::iterator CachingAllocator::make_free(Pool& pool, Blocks::iterator block) {
  const auto joins = [](const Blocks::value_type& left, const Blocks::value_type& right) {
    return left.second.segment == right.second.segment &&
           left.first + static_cast<std::uintptr_t>(left.second.size) == right.first;
  };
  if (const auto next = std::next(block);
      next != pool.blocks.end() && next->second.is_free && joins(*block, *next)) {
    pool.free.erase({next->second.size, next->first});
    block->second.size += next->second.size;
    pool.blocks.erase(next);
  }
  if (block != pool.blocks.begin()) {
    const auto previous = std::prev(block);
    if (previous->second.is_free && joins(*previous, *block)) {
      pool.free.erase({previous->second.size, previous->first});
      previous->second.size += block->second.size;
      pool.blocks.erase(block);
      block = previous;
    }
  }
  block->second.is_free = true;
  pool.free.emplace(block->second.size, block->first);
  return block;
}

// A segment is free if its first block is, and the next block is another segment's: free neighbours are one
// block.
void CachingAllocator::give_back_free_segments() {
  for (Pool& pool : pools_) {
    for (auto block = pool.blocks.begin(); block != pool.blocks.end();) {
      const auto next = std::next(block);
      const bool is_first = block->first == block->second.segment;
      const bool is_last = next == pool.blocks.end() || next->second.segment != block->second.segment;
      if (block->second.is_free && is_first && is_last) {
        pool.source->give_back(block->first, Bytes(block->second.size));
        held_ -= block->second.size;
        pool.free.erase({block->second.size, block->first});
        pool.blocks.erase(block);
      }
      block = next;
    }
  }
}

std::optional<Bytes> CachingAllocator::largest_free() const {
  std::int64_t largest = 0;
  for (const Pool& pool : pools_) {
    if (!pool.free.empty()) largest = std::max(largest, pool.free.rbegin()->first);
  }
  return Bytes(largest);
}

HeldMemory PatternReplay::run_watched(MemoryAllocator& allocator) {
  HeldMemory most{most_at_once(pattern_), Bytes(0), std::nullopt};
  const auto watch = [&] {
    const Bytes held = allocator.held();
    if (held <= most.held) return;
    most.held = held;
    most.largest_free = allocator.largest_free();
  };
  run(
      allocator, [](std::uintptr_t, Bytes) {}, watch);
  return most;
}

}  // namespace jitterscope
